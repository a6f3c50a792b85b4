"""Values at run time: Python's own where they fit (bool, int, float, str, bytes, list, None) and these.

A map is `CelMap`. An error is an exception: CelError may be absorbed by && and ||, Cancelled ends the evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.terms.go_text import go_float, go_quoted


class CelError(Exception):
    """A runtime error with Kubernetes' words."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Cancelled(Exception):
    """The whole evaluation ended: the cost limit, or what is a panic in Go."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Refused(Cancelled):
    """What is not evaluated here although Kubernetes would try: its answer is not known."""


NO_OVERLOAD = "no such overload"


class Uint(int):
    """An unsigned 64-bit integer."""

    __slots__ = ()


class TypeValue(NamedTuple):
    """A type as a value, by its name at run time."""

    type_name: str


class Duration(NamedTuple):
    nanoseconds: int


class Timestamp(NamedTuple):
    """An instant, and the offset of the zone it was written in (for printing)."""

    nanoseconds: int
    offset_seconds: int = 0


class Optional_:
    """An optional value; `NONE` is the empty one."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, present: bool = True) -> None:
        self.value, self.present = value, present


NONE = Optional_(present=False)


class CelMap:
    """A map. A missing key of `device.attributes` reads as an empty map: that is `default`. A map that Kubernetes
    made (`of_strings`) does not hash a key that is no string."""

    __slots__ = ("default", "items", "of_strings")

    def __init__(self, items: dict[Any, Any], default: CelMap | None = None, of_strings: bool = False) -> None:
        self.items = {map_key(key): (key, value) for key, value in items.items()}
        self.default, self.of_strings = default, of_strings

    @classmethod
    def of_pairs(cls, pairs: list[tuple[Any, Any]]) -> CelMap:
        made = cls({})
        for key, value in pairs:
            made.items[map_key(key)] = (key, value)
        return made

    def contains(self, key: Any) -> bool:
        return self._stored(key) is not None

    def find(self, key: Any) -> tuple[Any, bool]:
        stored = self._stored(key)
        if stored is not None:
            return stored[1], True
        return (self.default, True) if self.default is not None else (None, False)

    def _stored(self, key: Any) -> tuple[Any, Any] | None:
        """Numbers of different types find each other when they are equal: 1, 1u and 1.0."""
        if not self.items or (self.of_strings and not isinstance(key, str)):
            return None
        found = self.items.get(map_key(key))
        if found is None and isinstance(key, (int, float)) and not isinstance(key, bool) and key == key:
            for kind in ("int", "uint", "double"):
                found = found or self.items.get((kind, key))
        return found

    def pairs(self) -> Iterator[tuple[Any, Any]]:
        return iter(self.items.values())

    def __len__(self) -> int:
        return len(self.items)


# What Go compares by where it lies.
_POINTERS = frozenset({"list", "map", "optional_type", "kubernetes.Quantity", "kubernetes.URL"})


class Unhashable(Exception):
    """A key Go cannot hash."""


_UNHASHABLE = {
    "bytes": "types.Bytes",
    "kubernetes.Semver": "cel.Semver",
    "kubernetes.NamedFormat": "cel.Format",
}


def unhashable(error: Unhashable) -> Cancelled:
    """Go panics where a key cannot be hashed, and the evaluation ends with this text."""
    return Cancelled(f"internal error: runtime error: hash of unhashable type {_UNHASHABLE[str(error)]}")


def map_key(key: Any) -> tuple[str, Any]:
    name = type_name(key)
    if name in _UNHASHABLE:
        raise Unhashable(name)
    if name in ("net.IP", "net.CIDR"):
        return name, str(key)
    return (name, id(key)) if name in _POINTERS else (name, key)


_NAMES: dict[type, str] = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes", type(None): "null_type",
    list: "list", CelMap: "map", TypeValue: "type", Duration: "google.protobuf.Duration",
    Timestamp: "google.protobuf.Timestamp", Optional_: "optional_type",
}  # fmt: skip
# What Go's %T prints.
_GO_TYPES = {
    "bool": "types.Bool", "int": "types.Int", "uint": "types.Uint", "double": "types.Double", "string": "types.String",
    "bytes": "types.Bytes", "null_type": "types.Null", "list": "*types.baseList", "map": "*types.baseMap",
    "type": "*types.Type", "google.protobuf.Duration": "types.Duration", "google.protobuf.Timestamp": "types.Timestamp",
    "optional_type": "*types.Optional", "kubernetes.Quantity": "cel.Quantity", "kubernetes.Semver": "cel.Semver",
    "net.IP": "cel.IP", "net.CIDR": "cel.CIDR", "kubernetes.URL": "cel.URL", "kubernetes.NamedFormat": "*cel.Format",
}  # fmt: skip


def register(kind: type, name: str) -> None:
    """Names the type of values that another file of this room defines."""
    _NAMES[kind] = name


def type_name(value: Any) -> str:
    return _NAMES[type(value)]


def go_type(value: Any) -> str:
    return _GO_TYPES[type_name(value)]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def size(value: Any) -> int:
    """What costs count: the length of what has one, else 1."""
    if isinstance(value, (str, bytes, list, CelMap)):
        return len(value)
    if isinstance(value, Optional_) and value.present:
        return size(value.value)
    measured = getattr(value, "byte_size", None)
    return int(measured) if measured is not None else 1


def shown(value: Any) -> str:
    """As Go's %v prints a value inside an error text."""
    if value is None:
        return "NULL_VALUE"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, bytes):
        return "[" + " ".join(map(str, value)) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, CelMap):
        return "{" + ", ".join(f"{shown(key)}: {shown(one)}" for key, one in value.pairs()) + "}"
    if isinstance(value, Optional_):
        return f"optional({shown(value.value)})" if value.present else "optional.none()"
    if isinstance(value, TypeValue):
        return value.type_name
    return str(value)


def literal(value: Any) -> str:
    """A value for people: strings in quotes, everything else as an expression would write it."""
    if isinstance(value, str):
        return go_quoted(value)
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, CelMap):
        return "{" + ", ".join(f"{literal(key)}: {literal(one)}" for key, one in value.pairs()) + "}"
    return shown(value)
