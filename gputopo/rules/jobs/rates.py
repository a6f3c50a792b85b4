"""Three numbers that are never mixed: what was measured, what is to be expected, what the wires can carry."""

from __future__ import annotations

from typing import NamedTuple


class Rates(NamedTuple):
    """All-reduce bus bandwidth in GB/s; `None`: not known. `basis`: what `expected` and `ceiling` rest on."""

    measured: float | None = None
    expected: float | None = None
    ceiling: float | None = None
    basis: str = ""
    ceiling_basis: str = ""
