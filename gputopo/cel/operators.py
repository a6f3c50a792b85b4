"""Equality, order and arithmetic: cel-go common/types/{int,uint,double,string,list,map,duration,timestamp}.go.

>>> equal(1, 1.0), equal(1, "1"), not_equal([1], [2]), add(1, 2)
(True, False, True, 3)
>>> less(1, "1")
Traceback (most recent call last):
gputopo.cel.values.CelError: no such overload
"""

from __future__ import annotations

import math
from typing import Any

from gputopo.cel.bounds import MOST_ADDED, counted, measured
from gputopo.cel.values import (
    NO_OVERLOAD,
    CelError,
    CelMap,
    Duration,
    Optional_,
    Timestamp,
    TypeValue,
    Uint,
    is_number,
    type_name,
)

_EARLIEST, _LATEST = -62135596800, 253402300799
_BILLION = 10**9


def equal(one: Any, other: Any) -> bool:
    """`==`. A Quantity, Semver, URL, IP or CIDR on the left is not comparable with another type: CelError."""
    if one is None or other is None:
        return one is None and other is None
    if is_number(one):
        return is_number(other) and _order(*_alike(one, other)) == 0 and one == one and other == other
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_not_unequal, one, other))
    if isinstance(one, CelMap):
        return isinstance(other, CelMap) and _equal_maps(one, other)
    if isinstance(one, Optional_):
        if not isinstance(other, Optional_) or one.present != other.present:
            return False
        return not one.present or equal_method(one.value, other.value)
    if isinstance(one, Timestamp):
        return isinstance(other, Timestamp) and one.nanoseconds == other.nanoseconds
    if isinstance(one, (bool, str, bytes, Duration, TypeValue)):
        return type(one) is type(other) and bool(one == other)
    return bool(one.equals(other))


def equal_method(one: Any, other: Any) -> bool:
    """Equal as the left value's own method has it: null needs no special case on the right there."""
    if other is None and one is not None and hasattr(one, "equals"):
        raise CelError(NO_OVERLOAD)
    return equal(one, other)


def _not_unequal(one: Any, other: Any) -> bool:
    """Inside lists and maps cel-go only asks whether a pair is false: an error counts as equal there."""
    try:
        return equal(one, other)
    except CelError:
        return True


def _equal_maps(one: CelMap, other: CelMap) -> bool:
    if len(one) != len(other):
        return False
    for key, value in one.pairs():
        match, found = other.find(key)
        if not found or not _not_unequal(value, match):
            return False
    return True


def not_equal(one: Any, other: Any) -> bool:
    """`!=`: whatever is not true of `==`, an error too."""
    try:
        return not equal(one, other)
    except CelError:
        return True


def contained(element: Any, values: list[Any]) -> bool:
    """`in` a list: a value that cannot be compared is not the element."""
    for value in values:
        try:
            if equal_method(element, value):
                return True
        except CelError:
            continue
    return False


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1; CelError where there is no order."""
    if is_number(one) and is_number(other):
        if one != one or other != other:
            raise CelError("NaN values cannot be ordered")
        return _order(*_alike(one, other))
    if isinstance(one, float) and one != one:
        raise CelError("NaN values cannot be ordered")
    if type(one) is not type(other):
        raise CelError(NO_OVERLOAD)
    if isinstance(one, str):
        left, right = one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
        return _order(left, right)
    if isinstance(one, (bool, bytes, Duration)):
        return _order(one, other)
    if isinstance(one, Timestamp):
        return _order(one.nanoseconds, other.nanoseconds)
    raise CelError(NO_OVERLOAD)


def _alike(one: Any, other: Any) -> tuple[Any, Any]:
    """A double and an integer are compared as doubles, in which great integers are the same."""
    return (float(one), float(other)) if isinstance(one, float) or isinstance(other, float) else (one, other)


def _order(one: Any, other: Any) -> int:
    return int(one > other) - int(one < other)


def less(one: Any, other: Any) -> bool:
    return compare(one, other) < 0


def less_equal(one: Any, other: Any) -> bool:
    return compare(one, other) <= 0


def greater(one: Any, other: Any) -> bool:
    return compare(one, other) > 0


def greater_equal(one: Any, other: Any) -> bool:
    return compare(one, other) >= 0


def _ranged(number: int, like: Any) -> Any:
    """The number in the type of `like`, where it fits."""
    if isinstance(like, Uint):
        if not 0 <= number < 2**64:
            raise CelError("unsigned integer overflow")
        return Uint(number)
    if not -(2**63) <= number < 2**63:
        raise CelError("integer overflow")
    return number


def _same(one: Any, other: Any) -> None:
    if type(one) is not type(other):
        raise CelError(NO_OVERLOAD)


def duration(nanoseconds: int) -> Duration:
    if not -(2**63) <= nanoseconds < 2**63:
        raise CelError("duration overflow")
    return Duration(nanoseconds)


def timestamp(nanoseconds: int, offset_seconds: int = 0) -> Timestamp:
    if not _EARLIEST <= nanoseconds // _BILLION <= _LATEST:
        raise CelError("timestamp overflow")
    return Timestamp(nanoseconds, offset_seconds)


def add(one: Any, other: Any) -> Any:
    if isinstance(one, Timestamp) or (isinstance(one, Duration) and isinstance(other, Timestamp)):
        moment, length = (one, other) if isinstance(one, Timestamp) else (other, one)
        if not isinstance(length, Duration):
            raise CelError(NO_OVERLOAD)
        return timestamp(moment.nanoseconds + length.nanoseconds, moment.offset_seconds)
    _same(one, other)
    if isinstance(one, Duration):
        return duration(one.nanoseconds + other.nanoseconds)
    if isinstance(one, int):
        return _ranged(int(one) + int(other), one)
    if isinstance(one, (str, bytes)):
        measured(len(one) + len(other), MOST_ADDED)
    elif isinstance(one, list):
        counted(len(one) + len(other))
    return one + other


def subtract(one: Any, other: Any) -> Any:
    if isinstance(one, Timestamp) and isinstance(other, Duration):
        return timestamp(one.nanoseconds - other.nanoseconds, one.offset_seconds)
    _same(one, other)
    if isinstance(one, (Timestamp, Duration)):
        return duration(one.nanoseconds - other.nanoseconds)
    if isinstance(one, int):
        return _ranged(int(one) - int(other), one)
    return one - other


def multiply(one: Any, other: Any) -> Any:
    _same(one, other)
    return _ranged(int(one) * int(other), one) if isinstance(one, int) else one * other


def _truncated(one: int, other: int) -> int:
    """Go divides toward zero."""
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def divide(one: Any, other: Any) -> Any:
    _same(one, other)
    if isinstance(one, int):
        if other == 0:
            raise CelError("division by zero")
        return _ranged(_truncated(int(one), int(other)), one)
    if other == 0:
        negative = math.copysign(1, one) * math.copysign(1, other) < 0
        return math.nan if one == 0 or one != one else (-math.inf if negative else math.inf)
    return one / other


def modulo(one: Any, other: Any) -> Any:
    _same(one, other)
    if other == 0:
        raise CelError("modulus by zero")
    if not isinstance(one, Uint) and one == -(2**63) and other == -1:
        raise CelError("integer overflow")
    return _ranged(int(one) - int(other) * _truncated(int(one), int(other)), one)


def negate(one: Any) -> Any:
    if isinstance(one, Duration):
        return duration(-one.nanoseconds)
    return -one if isinstance(one, float) else _ranged(-int(one), one)


def negated(one: Any) -> bool:
    """`!`."""
    if not isinstance(one, bool):
        raise CelError(NO_OVERLOAD)
    return not one


# What Go's types can do, by the name of the type: an operator asks before it calls.
TRAITS: dict[str, frozenset[str]] = {
    "add": frozenset({"bytes", "double", "google.protobuf.Duration", "int", "list", "string", "uint",
                      "google.protobuf.Timestamp"}),
    "subtract": frozenset({"double", "google.protobuf.Duration", "int", "uint", "google.protobuf.Timestamp"}),
    "multiply": frozenset({"double", "int", "uint"}),
    "divide": frozenset({"double", "int", "uint"}),
    "modulo": frozenset({"int", "uint"}),
    "negate": frozenset({"bool", "double", "google.protobuf.Duration", "int"}),
    "compare": frozenset({"bool", "bytes", "double", "google.protobuf.Duration", "int", "string", "uint",
                          "google.protobuf.Timestamp"}),
    "size": frozenset({"bytes", "list", "map", "string"}),
    "match": frozenset({"string"}),
    "list": frozenset({"list"}),
}  # fmt: skip
RECEIVERS = frozenset({"string", "google.protobuf.Duration", "google.protobuf.Timestamp"})


def without(trait: str, value: Any, function: str) -> CelError | None:
    """The error of an operator that this value's type does not have."""
    name = type_name(value)
    if name in TRAITS[trait]:
        return None
    return CelError(NO_OVERLOAD if name in RECEIVERS else f"{NO_OVERLOAD}: {function}")
