"""What printed matrices and NVML's common ancestors say of each pair, both halves, all sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gputopo.records import MatrixRecord, PairRecord
from gputopo.terms.path_level import BY_NAME, PathLevel
from gputopo.topology.level_sets import ANY, of

Where = tuple[int, int]  # positions of two devices, the smaller first


class Cell(NamedTuple):
    """One direction of one pair in one source."""

    place: int  # of the source
    token: str
    mask: int  # levels the token leaves open
    nvlinks: int | None  # None: the token does not tell
    line: int | None
    forward: bool  # printed in the row of the first device


_MASK = {name: of(level) for name, level in BY_NAME.items()}
# The SOC generation had no NODE: its PHB covers what is NODE today.
_OLD_MASK = _MASK | {"PHB": of("PHB", "NODE")}


def read_matrix(
    place: int, matrix: MatrixRecord, position: Mapping[str, int], is_gpu: list[bool], into: dict[Where, list[Cell]]
) -> None:  # fmt: skip
    """Add the cells of a matrix. Tokens outside the vocabulary say nothing."""
    masks = _OLD_MASK if matrix.old_letters else _MASK
    tells_nvlink = matrix.command != "mp"
    meaning: dict[str, tuple[int, int | None]] = {}
    for row in matrix.rows:
        here = position.get(row.label)
        if here is None:
            continue
        for column, token in row.cells.items():
            there = position.get(column)
            if there is None or there == here:
                continue
            said = meaning.get(token)
            if said is None:
                said = meaning[token] = _meaning(token, masks)
            mask, nvlinks = said
            if nvlinks == 0 and not (tells_nvlink and is_gpu[here] and is_gpu[there]):
                nvlinks = None
            forward = here < there
            where = (here, there) if forward else (there, here)
            cell = Cell(place, token, mask, nvlinks, row.line, forward)
            found = into.get(where)
            if found is None:
                into[where] = [cell]
            else:
                found.append(cell)


def read_pairs(
    place: int, pairs: Iterable[PairRecord], position: Mapping[str, int], into: dict[Where, list[Cell]]
) -> None:
    """Add NVML's common-ancestor levels."""
    for pair in pairs:
        here, there = position.get(pair.a), position.get(pair.b)
        if here is None or there is None or here == there:
            continue
        if isinstance(pair.level, PathLevel):
            nvlinks = pair.nvlinks if isinstance(pair.nvlinks, int) else None
            where = (here, there) if here < there else (there, here)
            cell = Cell(place, pair.level.name, _MASK[pair.level.name], nvlinks, pair.line, here < there)
            into.setdefault(where, []).append(cell)


def _meaning(token: str, masks: Mapping[str, int]) -> tuple[int, int | None]:
    mask = masks.get(token)
    if mask is not None:
        return mask, 0
    if token.startswith("NV") and token[2:].isdigit():
        return ANY, int(token[2:])
    return ANY, None
