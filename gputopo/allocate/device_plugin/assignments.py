"""Every way in which what the evidence leaves open can be decided: one table of scores each.

PCIe levels are an ultrametric (of the levels of any three devices the two largest are equal), so not
every mixture of candidates can be. The links of one NVLink island are all cables or all into switches:
no machine mixes them. Beyond `MOST` tables, pairs with the same candidates are taken to be alike, which
is an assumption and is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gputopo.allocate.device_plugin.scores import OneSided, Points, options
from gputopo.topology.node import Pair

MOST = 5000  # tables for up to 8 devices; fewer for more of them

Where = tuple[int, int]


class Table(NamedTuple):
    """A consistent choice: the points of every pair of positions."""

    points: dict[Where, Points]

    def scores(self, count: int) -> list[list[int]]:
        rows = [[0] * count for _ in range(count)]
        for (a, b), one in self.points.items():
            rows[a][b] = rows[b][a] = one.score
        return rows


class Open(NamedTuple):
    """Pairs that are decided together: positions and the possibilities of each, in step."""

    pairs: tuple[Where, ...]
    choices: tuple[tuple[Points, ...], ...]  # choice → the points of each of `pairs`


class Tables(NamedTuple):
    tables: tuple[Table, ...]
    alike: bool  # pairs with the same candidates were taken to be alike, since there were too many tables
    undecided: tuple[Where, ...]


def tables(pairs: Mapping[Where, Pair], limit: int, listed: Mapping[frozenset[str], OneSided]) -> Tables:
    """All consistent tables, or, where they are too many, those in which alike pairs are alike."""
    possible = {
        where: options(pair, limit, listed.get(frozenset((pair.a, pair.b)))) for where, pair in pairs.items()
    }
    undecided = tuple(where for where, points in possible.items() if len(points) > 1)
    if not undecided:
        return Tables((Table({where: points[0] for where, points in possible.items()}),), False, ())
    count = 1 + max(high for _, high in pairs)
    most = MOST // 5 ** max(0, (count - 7) // 2)
    every = _bounded(_consistent(possible, count, _separate(possible)), most)
    if every is not None:
        return Tables(tuple(every), False, undecided)
    some = _bounded(_consistent(possible, count, _together(possible)), most)
    return Tables(tuple(some or ()), True, undecided)


def _separate(possible: Mapping[Where, tuple[Points, ...]]) -> list[Open]:
    """Each pair on its own, but islands whose kind of links is open: those have cables all or none."""
    return [Open((where,), tuple((one,) for one in points)) for where, points in possible.items()]


def _together(possible: Mapping[Where, tuple[Points, ...]]) -> list[Open]:
    groups: dict[tuple[Points, ...], list[Where]] = {}
    for where, points in possible.items():
        groups.setdefault(points, []).append(where)
    return [
        Open(tuple(members), tuple((one,) * len(members) for one in points)) for points, members in groups.items()
    ]


def _bounded(found: Iterator[Table], most: int) -> list[Table] | None:
    made: list[Table] = []
    for table in found:
        if len(made) == most:
            return None
        made.append(table)
    return made


def _consistent(
    possible: Mapping[Where, tuple[Points, ...]], count: int, groups: Sequence[Open]
) -> Iterator[Table]:  # fmt: skip
    """Tables that are an ultrametric in their levels and of one kind of links in each island."""
    # Device after device, so that a choice which no third device allows is found at once.
    ordered = sorted(groups, key=lambda group: (len(group.choices) > 1, [where[::-1] for where in group.pairs]))
    islands = _islands(possible, count)
    chosen: dict[Where, Points] = {}
    kinds: dict[int, bool] = {}

    def extend(at: int) -> Iterator[Table]:
        if at == len(ordered):
            yield Table(dict(chosen))
            return
        group = ordered[at]
        for points in group.choices:
            before = dict(kinds)
            fits = True
            for where, one in zip(group.pairs, points):
                chosen[where] = one
                if len({two.nvlinks for two in possible[where]}) > 1:
                    kind = kinds.setdefault(islands[where[0]], one.nvlinks > 0)
                    fits = fits and kind == (one.nvlinks > 0)
                fits = fits and _is_ultrametric(chosen, where, count)
            if fits:
                yield from extend(at + 1)
            for where in group.pairs:
                del chosen[where]
            kinds.clear()
            kinds.update(before)

    return extend(0)


def _is_ultrametric(chosen: Mapping[Where, Points], where: Where, count: int) -> bool:
    """Whether the levels chosen so far allow this one: with every third device the two largest are equal."""
    a, b = where
    level = chosen[where].level
    for c in range(count):
        if c in where:
            continue
        first = chosen.get((a, c) if a < c else (c, a))
        second = chosen.get((b, c) if b < c else (c, b))
        if first is None or second is None:
            continue
        _, middle, high = sorted((level, first.level, second.level))
        if middle != high:
            return False
    return True


def _islands(possible: Mapping[Where, tuple[Points, ...]], count: int) -> list[int]:
    """Position → the lowest position that open NVLinks join it to."""
    label = list(range(count))
    for (a, b), points in possible.items():
        if any(one.nvlinks for one in points) and label[a] != label[b]:
            old, new = max(label[a], label[b]), min(label[a], label[b])
            label = [new if one == old else one for one in label]
    return label
