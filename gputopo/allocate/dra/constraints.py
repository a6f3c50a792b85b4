"""matchAttribute and distinctAttribute, with what they remember while a claim is being allocated.

Source: structured/internal/{incubating,experimental}/{allocator_*,constraint}.go. The memory is part of upstream's
behaviour: `DistinctAttribute` keeps one value a request up to 1.36, and forgets it when a device is taken back;
the running intersection of list attributes is not widened again when a device is taken back.

    >>> a, b = (Device(n, {"x": Attribute("int", v)}) for n, v in (("a", 0), ("b", 1)))
    >>> same = MatchAttribute("drv/x", frozenset(), False)
    >>> same.add("r", "", a, DeviceId("drv", "p", "a")), same.add("r", "", b, DeviceId("drv", "p", "b"))
    (True, False)
"""

from __future__ import annotations

from typing import Any

from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.features import LIST_TYPES
from gputopo.allocate.dra.objects import Attribute, Claim, Device, DeviceId

Values = tuple[str, frozenset[Any]]


def lookup(device: Device, driver: str, name: str) -> Attribute | None:
    """By the full name; else by the bare name, where the domain is the driver's."""
    found = device.attributes.get(name)
    if found is not None:
        return found
    domain, slash, bare = name.partition("/")
    return device.attributes.get(bare) if slash and domain == driver else None


def values(attribute: Attribute) -> Values | None:
    """As a set, a scalar being a set of one; `None` for a type of the future or an empty list."""
    if not attribute.kind:
        return None
    if isinstance(attribute.value, tuple):
        return (attribute.kind.removesuffix("s"), frozenset(attribute.value)) if attribute.value else None
    return attribute.kind, frozenset((attribute.value,))


class _OfAttribute:
    def __init__(self, attribute: str, requests: frozenset[str]) -> None:
        self.attribute = attribute
        self.requests = requests
        self.count = 0

    def covers(self, request: str, subrequest: str) -> bool:
        return not self.requests or request in self.requests or bool(
            subrequest and f"{request}/{subrequest}" in self.requests
        )


class MatchAttribute(_OfAttribute):
    def __init__(self, attribute: str, requests: frozenset[str], list_types: bool) -> None:
        super().__init__(attribute, requests)
        self._list_types = list_types
        self.value: Attribute | None = None
        self.common: Values | None = None

    def add(self, request: str, subrequest: str, device: Device, id: DeviceId) -> bool:
        if not self.covers(request, subrequest):
            return True
        found = lookup(device, id.driver, self.attribute)
        if found is None:
            return False
        if self._list_types:
            own = values(found)
            if own is None or (self.count and not self._narrows(own)):
                return False
            if not self.count:
                self.common = own
        elif self.count:
            if found.kind not in ("string", "int", "bool", "version") or found != self.value:
                return False
        else:
            self.value = found
        self.count += 1
        return True

    def _narrows(self, own: Values) -> bool:
        assert self.common is not None
        both = own[1] & self.common[1] if own[0] == self.common[0] else frozenset()
        if both:
            self.common = (own[0], both)
        return bool(both)

    def remove(self, request: str, subrequest: str, device: Device, id: DeviceId) -> None:
        if self.covers(request, subrequest):
            self.count -= 1

    def met(self) -> str:
        """The value that further devices must have."""
        if not self.count:
            return ""
        return shown(self.value) if self.common is None else ", ".join(sorted(map(str, self.common[1])))


class DistinctAttribute(_OfAttribute):
    def __init__(self, attribute: str, requests: frozenset[str], memory: str, list_types: bool) -> None:
        super().__init__(attribute, requests)
        self.memory = memory
        self._list_types = list_types
        self.seen: dict[Any, tuple[DeviceId, Attribute]] = {}

    def add(self, request: str, subrequest: str, device: Device, id: DeviceId) -> bool:
        if not self.covers(request, subrequest):
            return True
        found = lookup(device, id.driver, self.attribute)
        if found is None:
            return False
        if self.count and not all(self._differs(found, id, *other) for other in self.seen.values()):
            return False
        self.seen[self._key(request, id)] = (id, found)
        self.count += 1
        return True

    def _key(self, request: str, id: DeviceId) -> Any:
        return (id, self.count) if self.memory == "all" else request

    def _differs(self, own: Attribute, id: DeviceId, other_id: DeviceId, other: Attribute) -> bool:
        if self.memory == "identity":  # pointers: only the very same (shared) device is equal
            return id != other_id
        if self._list_types:
            first, second = values(own), values(other)
            if first is None:
                return False
            return second is None or first[0] != second[0] or not first[1] & second[1]
        if own.kind not in ("string", "int", "bool", "version"):
            return False
        return own != other

    def remove(self, request: str, subrequest: str, device: Device, id: DeviceId) -> None:
        if not self.covers(request, subrequest):
            return
        self.count -= 1
        self.seen.pop(self._key(request, id), None)

    def met(self) -> str:
        return ", ".join(dict.fromkeys(shown(one) for _, one in self.seen.values()))


AnyConstraint = MatchAttribute | DistinctAttribute


def of_claim(claim: Claim, how: Behaviour) -> list[AnyConstraint]:
    made: list[AnyConstraint] = []
    lists = how.on(LIST_TYPES) and how.channel == "experimental"
    for place, one in enumerate(claim.constraints):
        requests = frozenset(one.requests)
        if one.match_attribute is not None:
            made.append(MatchAttribute(one.match_attribute, requests, lists))
        elif one.distinct_attribute is not None and how.distinct != "none":
            made.append(DistinctAttribute(one.distinct_attribute, requests, how.distinct, lists))
        else:
            raise Failure("unsupported", "constraint", str(place), claim=str(claim))
    return made


def shown(attribute: Attribute | None) -> str:
    if attribute is None:
        return ""
    if isinstance(attribute.value, tuple):
        return "[" + ", ".join(map(str, attribute.value)) + "]"
    if isinstance(attribute.value, bool):
        return "true" if attribute.value else "false"
    return str(attribute.value)
