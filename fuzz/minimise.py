"""A failing case made small, so that it can be read and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any


def minimise(case: Any, fails: Callable[[Any], bool], seconds: float) -> Any:
    """The smallest case found in that time for which `fails` holds: parts are left out, halves first."""
    end = monotonic() + seconds
    parts = _parts_of(case)
    for split, join in parts:
        pieces = split(case)
        size = len(pieces) // 2
        while size and monotonic() < end:
            for start in _starts(len(pieces), size):
                shorter = pieces[:start] + pieces[start + size :]
                if monotonic() > end:
                    break
                if start < len(pieces) and fails(join(shorter)):
                    pieces = shorter
            size //= 2
        case = join(pieces)
    return case


def _starts(count: int, size: int) -> Iterator[int]:
    """From the end on, so that what was left out moves nothing that is still to come."""
    return iter(range((count - 1) // size * size, -1, -size))


def _parts_of(case: Any) -> list[tuple[Callable[[Any], list[Any]], Callable[[list[Any]], Any]]]:
    if isinstance(case, dict):
        return [(lambda members: list(members.items()), dict)]
    return [
        (lambda data: data.split(b"\n"), b"\n".join),
        (lambda data: [data[at : at + 1] for at in range(len(data))], b"".join),
    ]
