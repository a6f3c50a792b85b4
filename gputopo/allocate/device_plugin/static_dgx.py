"""go-gpuallocator's StaticDGX policies: fixed tables of good sets. No plugin uses them.

Upstream: NVIDIA/go-gpuallocator v0.6.0 gpuallocator/staticdgx_policies.go; up to v0.5.0 NewStaticDGX2Policy
answered from the DGX-1 Volta table.

    >>> static_dgx("dgx1v", available=[1, 2, 4, 7, 5, 6], required=[7], size=2)
    [7, 4]
    >>> static_dgx("dgx1p", available=[0, 1, 2], required=[], size=3)      # no table for 3
    []
"""

from __future__ import annotations

from collections.abc import Sequence

_EIGHT = tuple(range(8))
_HALVES = ((0, 1, 2, 3), (4, 5, 6, 7))


def _singles(count: int) -> tuple[tuple[int, ...], ...]:
    return tuple((one,) for one in range(count))


def _runs(count: int, size: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, start + size)) for start in range(0, count, size))


# policy → size → its sets, in the order they are tried
TABLES: dict[str, dict[int, tuple[tuple[int, ...], ...]]] = {
    "dgx1p": {1: _singles(8), 2: ((0, 2), (1, 3), (4, 6), (5, 7)), 4: _HALVES, 8: (_EIGHT,)},
    "dgx1v": {1: _singles(8), 2: ((0, 3), (1, 2), (4, 7), (5, 6)), 4: _HALVES, 8: (_EIGHT,)},
    "dgx2": {1: _singles(16), 2: _runs(16, 2), 4: _runs(16, 4), 8: _runs(16, 8), 16: _runs(16, 16)},
}


def static_dgx(table: str, available: Sequence[int], required: Sequence[int], size: int) -> list[int]:
    """The first set of the table that is free and holds all that is required; [] where there is none.

    table: a key of TABLES. Devices are places in NVML's order; the required ones come first.
    """
    if size <= 0 or size > len(available) or len(required) > size or not set(required) <= set(available):
        return []
    free = set(available) - set(required)
    for one in TABLES[table].get(size, ()):
        wanted = [device for device in one if device in required]
        rest = [device for device in one if device in free]
        # A device required twice counts twice in upstream's comparison, so no set matches then.
        if len(wanted) == len(required) and len(wanted) + len(rest) == size:
            return wanted + rest
    return []
