"""The list libraries: Kubernetes' own (k8s.io/apiserver/pkg/cel/library/lists.go), cel-go ext/lists.go version 3,
ext/sets.go, and the list functions of the optional types.

    >>> smallest([3, 1, 2]), flatten([[1, [2]], [3]]), sort_by(["a", "b", "c"], [3, 1, 2])
    (1, [1, [2], 3], ['b', 'c', 'a'])
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from gputopo.cel import operators
from gputopo.cel.bounds import counted
from gputopo.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    CelMap,
    Duration,
    Optional_,
    Uint,
    go_type,
    map_key,
    register,
    shown,
    type_name,
)

# A list that includes() looks through up to 1.36: ResourceSliceMaxAttributeValuesPerDevice.
MOST_INCLUDED = 48
_SUMS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "google.protobuf.Duration": Duration(0)}


def is_sorted(values: list[Any]) -> bool:
    for value in values:
        if type_name(value) not in operators.TRAITS["compare"]:
            raise CelError(NO_OVERLOAD)
    for one, other in pairwise(values):
        try:
            if operators.compare(one, other) > 0:
                return False
        except CelError:
            continue
    return True


def total(values: list[Any]) -> Any:
    """sum() of an empty list is the int 0: its static type says which zero it is."""
    result = _SUMS[type_name(values[0])] if values else 0
    for value in values:
        result = operators.add(result, value)
    return result


def smallest(values: list[Any]) -> Any:
    return _extreme(values, "min", 1)


def largest(values: list[Any]) -> Any:
    return _extreme(values, "max", -1)


def _extreme(values: list[Any], name: str, worse: int) -> Any:
    if not values:
        raise CelError(f"{name} called on empty list")
    best = values[0]
    for value in values:
        if type_name(value) not in operators.TRAITS["compare"]:
            raise CelError(NO_OVERLOAD)
        try:
            if operators.compare(best, value) == worse:
                best = value
        except CelError:
            continue
    return best


def _same(one: Any, other: Any) -> bool:
    try:
        return operators.equal_method(one, other)
    except CelError:
        return False


def index_of(values: list[Any], item: Any) -> int:
    return next((place for place, value in enumerate(values) if _same(value, item)), -1)


def last_index_of(values: list[Any], item: Any) -> int:
    return next((place for place in range(len(values) - 1, -1, -1) if _same(values[place], item)), -1)


def includes(target: Any, item: Any, most: int | None) -> bool:
    if not isinstance(target, list):
        return _same(target, item)
    for place, value in enumerate(target):
        if most is not None and place >= most:
            raise CelError(f"'includes' function cannot be applied to lists longer than {most} values")
        if _same(value, item):
            return True
    return False


def slice_of(values: list[Any], start: int, end: int) -> list[Any]:
    words = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise CelError(f"{words}negative indexes not supported")
    if start > end:
        raise CelError(f"{words}start index must be less than or equal to end index")
    if len(values) < end:
        raise CelError(f"{words}list is length {len(values)}")
    return values[start:end]


def flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        flat += flatten(value, depth - 1) if isinstance(value, list) and depth > 0 else [value]
        counted(len(flat))
    return flat


def sort(values: list[Any]) -> list[Any]:
    return sort_by(values, values)


def sort_by(values: list[Any], keys: list[Any]) -> list[Any]:
    if not values:
        return values
    if type_name(keys[0]) not in operators.TRAITS["compare"]:
        raise CelError("list elements must be comparable")
    if any(type_name(key) != type_name(keys[0]) for key in keys):
        raise CelError("list elements must have the same type")
    from functools import cmp_to_key

    def compared(one: int, two: int) -> int:
        return _order(keys[one], keys[two])

    order: list[int] = sorted(range(len(values)), key=cmp_to_key(compared))
    return [values[place] for place in order]


def _order(one: Any, other: Any) -> int:
    try:
        return operators.compare(one, other)
    except CelError:
        return 0


def count_to(count: int) -> list[Any]:
    """lists.range()."""
    counted(count)
    return list(range(max(0, count)))


def reverse(values: list[Any]) -> list[Any]:
    return values[::-1]


def distinct(values: list[Any]) -> list[Any]:
    unique: list[Any] = []
    for value in values:
        if not any(_same(value, other) for other in unique):
            unique.append(value)
    return unique


def contains_all(values: list[Any], wanted: list[Any]) -> bool:
    return all(operators.contained(one, values) for one in wanted)


def intersects(ones: list[Any], others: list[Any]) -> bool:
    return any(operators.contained(one, others) for one in ones)


def equivalent(ones: list[Any], others: list[Any]) -> bool:
    return contains_all(ones, others) and contains_all(others, ones)


def first(values: list[Any]) -> Optional_:
    return Optional_(values[0]) if values else NONE


def last(values: list[Any]) -> Optional_:
    return Optional_(values[-1]) if values else NONE


def unwrap(values: list[Any]) -> list[Any]:
    kept = []
    for value in values:
        if not isinstance(value, Optional_):
            raise CelError(f"value {shown(value)} is not optional")
        if value.present:
            kept.append(value.value)
    return kept


class GrowingMap(CelMap):
    """The map that a comprehension gathers: its own, so that adding to it copies nothing."""

    __slots__ = ()


register(GrowingMap, "map")


def inserted(target: CelMap, *added: Any) -> CelMap:
    """cel.@mapInsert: one key and value, or all of another map; a key twice is an error."""
    grown = target if isinstance(target, GrowingMap) else GrowingMap.of_pairs(list(target.pairs()))
    pairs = list(added[0].pairs()) if len(added) == 1 else [(added[0], added[1])]
    for key, value in pairs:
        if grown.contains(key):
            raise CelError(f"insert failed: key {shown(key)} already exists")
        grown.items[map_key(key)] = (key, value)
    return grown


def unsupported_range(value: Any) -> CelError:
    return CelError(f"unsupported comprehension range type: {go_type(value)}")
