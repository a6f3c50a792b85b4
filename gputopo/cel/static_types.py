"""The static types of CEL as the checker compares and prints them: cel-go common/types/types.go, checker/format.go.

>>> formatted(map_of(STRING, ANY)), formatted(optional_of(list_of(QUANTITY)))
('map(string, any)', 'optional_type(list(kubernetes.Quantity))')
"""

from __future__ import annotations

from typing import NamedTuple


class Type(NamedTuple):
    """`kind` decides how a type unifies; `name` is what Go's TypeName() gives; equal tuples are exactly equal types."""

    kind: str
    name: str
    parameters: tuple[Type, ...] = ()


BOOL = Type("bool", "bool")
BYTES = Type("bytes", "bytes")
DOUBLE = Type("double", "double")
INT = Type("int", "int")
STRING = Type("string", "string")
UINT = Type("uint", "uint")
NULL = Type("null", "null_type")
DYN = Type("dyn", "dyn")
ANY = Type("any", "google.protobuf.Any")
ERROR = Type("error", "error")
DURATION = Type("duration", "google.protobuf.Duration")
TIMESTAMP = Type("timestamp", "google.protobuf.Timestamp")
TYPE = Type("type", "type")
QUANTITY = Type("struct", "kubernetes.Quantity")
SEMVER = Type("struct", "kubernetes.Semver")
URL = Type("struct", "kubernetes.URL")
DEVICE = Type("struct", "kubernetes.DRADevice")
FORMAT = Type("struct", "kubernetes.NamedFormat")
IP = Type("opaque", "net.IP")
CIDR = Type("opaque", "net.CIDR")

# Names that the printed form of a type shortens.
_SHORT = {
    "any": "any", "duration": "duration", "error": "!error!", "null": "null", "timestamp": "timestamp",
}  # fmt: skip


def list_of(element: Type) -> Type:
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type("type", "type", (value,))


def parameter(name: str) -> Type:
    return Type("param", name)


def is_dyn(one: Type) -> bool:
    return one.kind in ("dyn", "any")


def is_dyn_or_error(one: Type) -> bool:
    return one.kind in ("dyn", "any", "error")


def is_optional(one: Type) -> bool:
    return one.kind == "opaque" and one.name == "optional_type"


def unwrapped(one: Type) -> tuple[Type, bool]:
    """The type inside an optional, and whether it was one."""
    return (one.parameters[0], True) if is_optional(one) else (one, False)


def formatted(one: Type) -> str:
    """As compile errors print a type."""
    if one.kind in _SHORT:
        return _SHORT[one.kind]
    if not one.parameters:
        return one.name
    return f"{one.name}({', '.join(map(formatted, one.parameters))})"


def go_name(one: Type) -> str:
    """As Go's Type.String() prints it: the wording of `must evaluate to bool or the unknown type, not …`."""
    if not one.parameters:
        return one.name
    return f"{one.name}({', '.join(map(go_name, one.parameters))})"


def signature(arguments: list[Type], member: bool) -> str:
    """`(int, string)` or `kubernetes.Quantity.(int)`: what a missing overload was applied to."""
    target = f"{formatted(arguments[0])}." if member else ""
    rest = arguments[1:] if member else arguments
    return f"{target}({', '.join(map(formatted, rest))})"
