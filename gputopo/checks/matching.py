"""Pairs the vertices of two small graphs off so that little contradicts, also where the graphs differ.

Exact isomorphism is fleet/canonical.py's; here something differs already, and the wanted answer is the one that
changes least. From a few first pairs (a GPU, and each it may be), the pairing grows: next comes the vertex whose best
partner is ahead of its second best by most, since it has the least choice. Then partners are exchanged while that
takes contradictions away. The result is a good pairing, not a proven best one; `cost` says how good.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gputopo.checks.edges import NOTHING, Label, Outlined, disagreement
from gputopo.checks.facets import unlike

_WORK = 4_000_000  # looks at a pair, some seconds; beyond it fewer first pairs are tried, and nothing is exchanged
_OWN = 4  # what is known of a device itself weighs more than one of its pairs
_ROUNDS = 20


class Matched(NamedTuple):
    mapping: dict[str, str]
    cost: int


def matched(left: Outlined, right: Outlined) -> Matched:
    """Ids of `left` → ids of `right`; who has no partner is left out."""
    return _Matcher(left, right).best()


class _Matcher:
    def __init__(self, left: Outlined, right: Outlined) -> None:
        self.left, self.right = left, right
        self.known: dict[tuple[Label, Label], int] = {}
        self.work = 0
        a, b = left.vertices, right.vertices
        self.mates = [[j for j, other in enumerate(b) if other.kind == one.kind] for one in a]
        self.own = {
            (i, j): _OWN * len(unlike(a[i].facets, b[j].facets)) for i, mates in enumerate(self.mates) for j in mates
        }
        self.rows_left = _rows(left)
        self.rows_right = _rows(right)
        around_left, around_right = _around(left), _around(right)
        # Among partners that contradict equally: the one whose surroundings as a whole are most alike.
        self.prior = {
            (i, j): sum(((around_left[i] - around_right[j]) + (around_right[j] - around_left[i])).values())
            for i, j in self.own
        }

    def best(self) -> Matched:
        starts = self._starts()
        found: list[dict[int, int]] = []
        for start in starts:
            if found and (self.work > _WORK or not self._cost(found[-1])):
                break
            found.append(self._improved(self._grown(start)))
        mapping = min(found, key=self._cost)
        ids = {self.left.vertices[i].id: self.right.vertices[j].id for i, j in mapping.items()}
        return Matched(ids, self._cost(mapping))

    def _starts(self) -> list[tuple[int, int] | None]:
        size = len(self.left.vertices)
        most = max(1, _WORK // max(1, size * size * max(1, max(map(len, self.mates), default=1))))
        first = [i for i, one in enumerate(self.left.vertices) if one.kind == "gpu" and self.mates[i]]
        first = first or [i for i in range(size) if self.mates[i]]
        if not first:
            return [None]
        ranked = sorted(first, key=lambda i: min(self.own[i, j] * 1000 + self.prior[i, j] for j in self.mates[i]))
        pairs = [
            (i, j)
            for i in ranked[:2]
            for j in sorted(self.mates[i], key=lambda j: (self.own[i, j], self.prior[i, j], j))
        ]
        return list(pairs[:most])

    def _grown(self, start: tuple[int, int] | None) -> dict[int, int]:
        mapping: dict[int, int] = {}
        taken: set[int] = set()
        cost = dict(self.own)
        waiting = {i for i, mates in enumerate(self.mates) if mates}
        following = start
        while following is not None:
            i, j = following
            mapping[i] = j
            taken.add(j)
            waiting.discard(i)
            row_i, row_j = self.rows_left[i], self.rows_right[j]
            for a in waiting:
                label = row_i.get(a, NOTHING)
                for b in self.mates[a]:
                    if b not in taken:
                        cost[a, b] += self._apart(label, row_j.get(b, NOTHING))
            following = self._next(waiting, taken, cost)
        return mapping

    def _next(self, waiting: set[int], taken: set[int], cost: dict[tuple[int, int], int]) -> tuple[int, int] | None:
        chosen: tuple[tuple[int, int, int], int, int] | None = None
        for i in waiting:
            ranked = sorted((cost[i, j], self.prior[i, j], j) for j in self.mates[i] if j not in taken)
            if not ranked:
                continue
            lead = ranked[1][0] - ranked[0][0] if len(ranked) > 1 else 1_000_000
            key = (ranked[0][0] - lead, ranked[0][1], i)
            if chosen is None or key < chosen[0]:
                chosen = (key, i, ranked[0][2])
        return None if chosen is None else (chosen[1], chosen[2])

    def _improved(self, mapping: dict[int, int]) -> dict[int, int]:
        """Two exchange their partners, or one takes a partner that is free, as long as it helps."""
        for _ in range(_ROUNDS):
            better = False
            free = set(range(len(self.right.vertices))) - set(mapping.values())
            for i in [one for one in mapping if self._at(mapping, one, mapping[one])]:
                if self.work > _WORK:
                    return mapping
                for j in [one for one in self.mates[i] if one in free]:
                    if self._at(mapping, i, j) < self._at(mapping, i, mapping[i]):
                        free.add(mapping[i])
                        free.discard(j)
                        mapping[i] = j
                        better = True
                for other in [one for one in mapping if one != i and mapping[one] in self.mates[i]]:
                    better |= self._exchanged(mapping, i, other)
            if not better:
                break
        return mapping

    def _exchanged(self, mapping: dict[int, int], one: int, other: int) -> bool:
        before = self._at(mapping, one, mapping[one]) + self._at(mapping, other, mapping[other])
        if not before:
            return False
        mapping[one], mapping[other] = mapping[other], mapping[one]
        if self._at(mapping, one, mapping[one]) + self._at(mapping, other, mapping[other]) < before:
            return True
        mapping[one], mapping[other] = mapping[other], mapping[one]
        return False

    def _at(self, mapping: dict[int, int], i: int, j: int) -> int:
        """What contradicts if `i` is `j` and the others are what they are."""
        self.work += len(mapping)
        row_i, row_j = self.rows_left[i], self.rows_right[j]
        return self.own[i, j] + sum(
            self._apart(row_i.get(a, NOTHING), row_j.get(b, NOTHING)) for a, b in mapping.items() if a != i
        )

    def _cost(self, mapping: dict[int, int]) -> int:
        return sum(self._at(mapping, i, j) + self.own[i, j] for i, j in mapping.items())

    def _apart(self, a: Label, b: Label) -> int:
        if a is b:
            return 0
        found = self.known.get((a, b))
        if found is None:
            found = self.known[a, b] = disagreement(a, b)
        return found


def _rows(graph: Outlined) -> list[dict[int, Label]]:
    rows: list[dict[int, Label]] = [{} for _ in graph.vertices]
    same: dict[Label, Label] = {}
    for (a, b), label in graph.labels.items():
        rows[a][b] = same.setdefault(label, label)
    return rows


def _around(graph: Outlined) -> list[Counter[tuple[str, Label]]]:
    found: list[Counter[tuple[str, Label]]] = [Counter() for _ in graph.vertices]
    for (a, b), label in graph.labels.items():
        found[a][graph.vertices[b].kind, label] += 1
    return found
