"""The canonical form of a small coloured graph: equal exactly where two graphs are isomorphic.

Colours are refined until they are stable (1-dimensional Weisfeiler-Leman over the labels of edges). Where
vertices of one colour are left, each of them is told apart in turn and the least form that comes out
counts (individualisation and refinement; McKay and Piperno, "Practical graph isomorphism II", 2014). Two
short cuts keep regular machines cheap: vertices that any two of can be exchanged alone (twins) are told
apart at once, and a vertex that an automorphism maps to one that was tried is not tried again.

A form is a whole description, so equal forms are isomorphic graphs whatever happens. That isomorphic graphs
have equal forms is certain while `exact` is true, that is within MOST_LEAVES complete orders.

    >>> path = Graph(("a", "a", "a"), ((0, 1, "x"), (1, 0, "x"), (1, 2, "y"), (2, 1, "y")))
    >>> turned = Graph(("a", "a", "a"), ((2, 1, "x"), (1, 2, "x"), (1, 0, "y"), (0, 1, "y")))
    >>> canonical(path).form == canonical(turned).form
    True
    >>> canonical(path).form == canonical(path._replace(edges=path.edges[:2])).form
    False
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

MOST_LEAVES = 1_000
_REMEMBERED = 32  # graphs; machines of one model are mostly written down in one order

Colours = list[int]
Matrix = list[list[int]]
Form = tuple[object, ...]


class Graph(NamedTuple):
    """Vertices are 0 to n-1. `edges`: (from, to, label), each ordered pair at most once; no loops."""

    colours: tuple[str, ...]
    edges: tuple[tuple[int, int, str], ...]


class Canonical(NamedTuple):
    """`order`: the vertices in the order of the form. `exact`: False where the search was cut short."""

    form: Form
    order: tuple[int, ...]
    exact: bool = True


@lru_cache(maxsize=_REMEMBERED)
def canonical(graph: Graph) -> Canonical:
    search = _Search(graph)
    search.run(search.start, [])
    assert search.best is not None
    form, order = search.best
    return Canonical((search.words, *form), order, search.leaves <= MOST_LEAVES)


class _Search:
    def __init__(self, graph: Graph) -> None:
        size = len(graph.colours)
        colours = sorted(set(graph.colours))
        labels = {label: at + 1 for at, label in enumerate(sorted({label for _, _, label in graph.edges}))}
        one_way: Matrix = [[0] * size for _ in range(size)]
        for a, b, label in graph.edges:
            one_way[a][b] = labels[label]
        # An ordered pair as one number: its label and that of the way back.
        base = len(labels) + 1
        self.pairs: Matrix = [
            [one_way[a][b] * base + one_way[b][a] for b in range(size)] for a in range(size)
        ]
        self.words = (tuple(colours), tuple(labels))
        self.scale = base * base
        self.size = size
        self.start: Colours = [colours.index(colour) for colour in graph.colours]
        self.best: tuple[Form, tuple[int, ...]] | None = None
        self.leaves = 0
        self.generators: list[list[int]] = []

    def run(self, colours: Colours, prefix: list[int]) -> dict[Form, tuple[int, ...]]:
        """Every form that was met below here, with an order that has it; the least of all is in `best`."""
        colours = self._refined(colours)
        cell = self._cell(colours)
        if not cell:
            return self._leaf(colours)
        if self._twins(cell):
            return self.run(_apart(colours, cell), prefix)
        met = self.run(_apart(colours, cell[:1]), [*prefix, cell[0]])
        tried = [cell[0]]
        for vertex in cell[1:]:
            if self.leaves > MOST_LEAVES:
                break
            if self._orbit(vertex, tried, prefix):
                continue
            tried.append(vertex)
            form, order = self._first_leaf(_apart(colours, [vertex]))
            if form in met:
                self._automorphism(met[form], order)
                continue
            met.update(self.run(_apart(colours, [vertex]), [*prefix, vertex]))
        return met

    def _leaf(self, colours: Colours) -> dict[Form, tuple[int, ...]]:
        self.leaves += 1
        order = tuple(sorted(range(self.size), key=colours.__getitem__))
        form: Form = (tuple(self.start[at] for at in order), *self._rows(order))
        if self.best is None or form < self.best[0]:
            self.best = (form, order)
        return {form: order}

    def _rows(self, order: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Half of the matrix: a number holds both directions."""
        for at, vertex in enumerate(order):
            row = self.pairs[vertex]
            yield tuple([row[other] for other in order[at + 1 :]])

    def _first_leaf(self, colours: Colours) -> tuple[Form, tuple[int, ...]]:
        colours = self._refined(colours)
        cell = self._cell(colours)
        while cell:
            colours = self._refined(_apart(colours, cell if self._twins(cell) else cell[:1]))
            cell = self._cell(colours)
        [found] = self._leaf(colours).items()
        return found

    def _refined(self, colours: Colours) -> Colours:
        """The coarsest stable refinement; colours are numbered by what they mean, not by vertex."""
        count = len(set(colours))
        while True:
            marks = []
            for vertex, row in enumerate(self.pairs):
                seen = [self.scale * colour + label for colour, label in zip(colours, row)]
                seen[vertex] = -1
                seen.sort()
                marks.append((colours[vertex], seen))
            ranks = sorted(marks)
            number: dict[tuple[int, tuple[int, ...]], int] = {}
            for colour, seen in ranks:
                number.setdefault((colour, tuple(seen)), len(number))
            colours = [number[colour, tuple(seen)] for colour, seen in marks]
            if len(number) == count:
                return colours
            count = len(number)

    def _cell(self, colours: Colours) -> list[int]:
        """The vertices of the smallest colour that several have, of equally small ones the first; [] where none is."""
        cells: dict[int, list[int]] = {}
        for vertex, colour in enumerate(colours):
            cells.setdefault(colour, []).append(vertex)
        several = [(len(cell), colour) for colour, cell in cells.items() if len(cell) > 1]
        return cells[min(several)[1]] if several else []

    def _twins(self, cell: Sequence[int]) -> bool:
        """Whether the first can be exchanged with each other one, nothing else moved: then any two can."""
        first = cell[0]
        own = self.pairs[first]
        for vertex in cell[1:]:
            row = self.pairs[vertex]
            if own[vertex] != row[first]:
                return False
            if any(own[at] != row[at] for at in range(self.size) if at not in (first, vertex)):
                return False
        return True

    def _automorphism(self, one: Sequence[int], other: Sequence[int]) -> None:
        generator = [0] * self.size
        for a, b in zip(one, other):
            generator[a] = b
        self.generators.append(generator)

    def _orbit(self, vertex: int, tried: Sequence[int], prefix: Sequence[int]) -> bool:
        """Whether known automorphisms that leave the prefix where it is lead from a tried vertex to this one."""
        fixing = [one for one in self.generators if all(one[at] == at for at in prefix)]
        reached, pending = set(tried), list(tried)
        while pending and fixing:
            at = pending.pop()
            for generator in fixing:
                if generator[at] not in reached:
                    reached.add(generator[at])
                    pending.append(generator[at])
        return vertex in reached


def _apart(colours: Colours, cell: Sequence[int]) -> Colours:
    """The given vertices, one after another, before what else has their colour."""
    made = [2 * len(colours) * colour + len(colours) for colour in colours]
    for at, vertex in enumerate(cell):
        made[vertex] += at - len(colours)
    return made
