"""What is evaluated here at most. Kubernetes' cost limit counts calls, not memory: a selector of a few hundred bytes
can ask for lists and strings that no machine holds, and the real evaluator would try.

    >>> big = [1, 2]
    >>> for _ in range(40):
    ...     big = [big, big]
    >>> weighed(big)
    Traceback (most recent call last):
    gputopo.cel.values.Refused: a value of more than 2000000 elements is not evaluated here
"""

from __future__ import annotations

from typing import Any

from gputopo.cel.values import CelMap, Optional_, Refused

MOST_ELEMENTS = 2_000_000
MOST_CHARACTERS = 2_000_000
# Adding strings has a price of its own: the cost limit ends it before this does.
MOST_ADDED = 20_000_000
# Functions that look into every element of an element.
DEEP = frozenset(
    {"flatten", "format", "sum", "min", "max", "isSorted", "distinct", "indexOf", "lastIndexOf", "sets.contains",
     "sets.equivalent", "sets.intersects", "@in", "includes", "join", "unwrapOpt", "optional.unwrap"}
)  # fmt: skip


def counted(elements: int) -> None:
    """Raises Refused for a list that would be too long."""
    if elements > MOST_ELEMENTS:
        raise Refused(f"a value of more than {MOST_ELEMENTS} elements is not evaluated here")


def measured(characters: int, most: int = MOST_CHARACTERS) -> None:
    """Raises Refused for a string that would be too long."""
    if characters > most:
        raise Refused(f"a string of more than {most} characters is not evaluated here")


def weighed(value: Any) -> None:
    """Raises Refused where the elements of the elements, shared ones every time, are too many to look at."""
    if isinstance(value, (list, CelMap, Optional_)):
        _weight(value, {})


def _weight(value: Any, known: dict[int, int]) -> int:
    if isinstance(value, str):
        return 1 + len(value) // 8
    if not isinstance(value, (list, CelMap, Optional_)):
        return 1
    weight = known.get(id(value))
    if weight is None:
        weight = 1 + sum(_weight(part, known) for part in _parts(value))
        counted(weight)
        known[id(value)] = weight
    return weight


def _parts(value: Any) -> Any:
    if isinstance(value, Optional_):
        return [value.value]
    return value if isinstance(value, list) else [one for _, one in value.pairs()]
