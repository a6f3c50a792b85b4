"""The devices of the pools in the order of the search, and whether a request can select one.

Source: isSelectable and selectorsMatch of structured/internal/*/allocator_*.go. A match is remembered per device and
(sub)request; a selector that fails ends the attempt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.node_selector import node_matches
from gputopo.allocate.dra.objects import Ask, Claim, Device, DeviceClass, DeviceId, KubeNode, Selector, Slice
from gputopo.allocate.dra.pools import Pool
from gputopo.allocate.dra.selectors import Selectors

RequestKey = tuple[int, int, int]  # claim, request, subrequest


class Candidate:
    __slots__ = ("device", "id", "place", "pool", "slice")

    def __init__(self, id: DeviceId, device: Device, own: Slice, pool: Pool, place: int) -> None:
        self.id, self.device, self.slice, self.pool, self.place = id, device, own, pool, place


class Miss(NamedTuple):
    """Why a device is not selectable."""

    test: str  # binding-conditions, class, selector, node
    selector: int | None = None
    expression: str | None = None


def lined_up(pools: Sequence[Pool]) -> list[Candidate]:
    """Every device of the pools that ExactCount looks at, in its order."""
    found: list[Candidate] = []
    for pool in pools:
        for own in pool.slices:
            for device in own.devices:
                found.append(Candidate(DeviceId(pool.driver, pool.name, device.name), device, own, pool, len(found)))
    return found


class Selectable:
    """Answers for one attempt: upstream forgets its matches between attempts."""

    def __init__(self, node: KubeNode, claims: Sequence[Claim], selectors: Selectors, how: Behaviour) -> None:
        self._node = node
        self._claims = claims
        self._selectors = selectors
        self._how = how
        self._known: dict[tuple[DeviceId, RequestKey], bool] = {}

    def matches(self, key: RequestKey, ask: Ask, of_class: DeviceClass | None, one: Candidate) -> bool:
        """Raises Failure where a selector does not compile or fails on the device."""
        if not self._how.binding and one.device.binding_conditions:
            return False
        remembered = self._known.get((one.id, key))
        if remembered is None:
            remembered = self._known[one.id, key] = self.miss(key, ask, of_class, one) is None
        return remembered

    def miss(self, key: RequestKey, ask: Ask, of_class: DeviceClass | None, one: Candidate) -> Miss | None:
        """The first test that the device fails; `None`: it can be selected."""
        if not self._how.binding and one.device.binding_conditions:
            return Miss("binding-conditions")
        if of_class is not None:
            place = self._first_false(of_class.selectors, one, key, of_class.name)
            if place is not None:
                return Miss("class", place, of_class.selectors[place].expression)
        place = self._first_false(ask.selectors, one, key, "")
        if place is not None:
            return Miss("selector", place, ask.selectors[place].expression)
        device = one.device
        if one.slice.per_device and not node_matches(
            self._node, device.node_name, device.all_nodes, device.node_selector
        ):
            return Miss("node")
        return None

    def _first_false(
        self, selectors: Sequence[Selector], one: Candidate, key: RequestKey, of_class: str
    ) -> int | None:
        for place, selector in enumerate(selectors):
            verdict = self._selectors.verdict(selector.expression or "", one.id, one.device)
            if verdict.failed:
                raise Failure(
                    f"cel-{verdict.failed}", detail=verdict.text, claim=str(self._claims[key[0]]),
                    device_class=of_class, selector=place,
                    device=str(one.id) if self._how.names_device and verdict.failed == "runtime" else "",
                )  # fmt: skip
            if not verdict.matches:
                return place
        return None
