"""What differs between two nodes, device by device, once it is known which is which.

A difference is said once: pairs that all have one device in common are one difference of that device, a socket that
follows from the NUMA node is not repeated, and of a device that only one node has nothing else is said. What only one
of the two knows is no difference; it is counted as not compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.checks import facets
from gputopo.checks.align import Alignment
from gputopo.checks.edges import levels_of
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair

# What tells devices apart is compared of one machine at two times; of two machines it always differs.
_IDENTITY = {"uuid": ("uuid", "pci"), "pci": ()}


class Difference(NamedTuple):
    """`field` is that of the document of `a` (of `b` for what only `b` has). Values are plain data; None: absent."""

    field: str
    subjects: tuple[str, ...]  # ids in a; in b for what only b has
    a: Any
    b: Any


class Compared(NamedTuple):
    """`not_compared`: field without its place → how many values only one of the two knows, or knows well enough;
    `missing`: those of them that `a` knows."""

    differences: tuple[Difference, ...]
    not_compared: dict[str, int]
    missing: dict[str, int]
    fields: int  # values that both know


class _Cell(NamedTuple):
    """One value of a pair, in ids of `a`."""

    ends: tuple[str, str]
    attribute: str
    a: str
    b: str


class _Comparison:
    def __init__(self, a: NodeTopology, b: NodeTopology, alignment: Alignment) -> None:
        self.a, self.b = a, b
        self.by, self.mapping = alignment
        self.found: list[Difference] = []
        self.not_compared: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.fields = 0

    def run(self) -> Compared:
        self._facets("", (), facets.of_system(self.a), facets.of_system(self.b))
        self._tables("packages", self.a.packages, self.b.packages, facets.of_package)
        self._tables("numaNodes", self.a.numa_nodes, self.b.numa_nodes, facets.of_numa_node)
        self._distances()
        self._devices("gpus", facets.listed_gpus(self.a), facets.listed_gpus(self.b), facets.of_gpu)
        self._devices("nics", self.a.nics, self.b.nics, facets.of_nic)
        self.found += [*_gathered(self._cells())]
        return Compared(tuple(self.found), dict(sorted(self.not_compared.items())), dict(self.missing), self.fields)

    def _missed(self, field: str, in_a: bool, in_b: bool) -> bool:
        """Whether one of the two does not know it, which is counted where the other one does."""
        if in_a != in_b:
            self.not_compared[field] += 1
            if in_a:
                self.missing[field] += 1
        return not (in_a and in_b)

    def _facets(self, place: str, subjects: tuple[str, ...], a: facets.Facets, b: facets.Facets) -> None:
        bare = place.partition("[")[0]
        for field in {**a, **b}:
            name = f"{bare}.{field}" if bare else field
            self.fields += not self._missed(name, a.get(field) is not None, b.get(field) is not None)
        name = f"{place}." if place else ""
        differ = facets.unlike(a, b)
        for field in differ:
            self.found.append(Difference(name + field, subjects, _plain(a[field]), _plain(b[field])))

    def _tables(self, name: str, a: Sequence[Any] | None, b: Sequence[Any] | None, of: Any) -> None:
        if self._missed(name, a is not None, b is not None) or a is None or b is None:
            return
        others = {one.id: one for one in b}
        partners = {one.id: self.mapping[one.id] for one in a if self.mapping.get(one.id) in others}
        for place, one in enumerate(a):
            if one.id in partners:
                self._facets(f"{name}[{place}]", (one.id,), of(one), of(others[partners[one.id]]))
        self._only(name, a, b, partners)

    def _only(self, name: str, a: Sequence[Any], b: Sequence[Any], partners: Mapping[str, str]) -> None:
        for place, one in enumerate(a):
            if one.id not in partners:
                self.found.append(Difference(f"{name}[{place}]", (one.id,), _called(one), None))
        there = set(partners.values())
        for place, one in enumerate(b):
            if one.id not in there:
                self.found.append(Difference(f"{name}[{place}]", (one.id,), None, _called(one)))

    def _devices(self, name: str, a: Sequence[Any] | None, b: Sequence[Any] | None, of: Any) -> None:
        self._tables(name, a, b, of)
        others = {one.id: one for one in b or ()}
        for place, one in enumerate(a or ()):
            other = others.get(self.mapping.get(one.id, ""))
            if other is not None:
                self._identity(f"{name}[{place}]", one, other)
                self._home(f"{name}[{place}]", one, other)

    def _identity(self, place: str, one: Gpu | Nic, other: Gpu | Nic) -> None:
        for field in _IDENTITY.get(self.by, ()):
            said = getattr(one, field, None), getattr(other, field, None)
            if None not in said and said[0] != said[1]:
                self.found.append(Difference(f"{place}.{field}", (one.id,), *said))
        names = [each.device if isinstance(each, Nic) else None for each in (one, other)]
        if self.by in _IDENTITY and all(names) and names[0] != names[1]:
            self.found.append(Difference(f"{place}.device", (one.id,), *names))

    def _home(self, place: str, one: Gpu | Nic, other: Gpu | Nic) -> None:
        """NUMA node, else package, in the numbers of the other node."""
        for field, a, b in (
            ("numaNodes", _numa_ids(one.numa_nodes), _numa_ids(other.numa_nodes)),
            ("packages", one.packages, other.packages),
        ):
            bare = f"{place.partition('[')[0]}.{field}"
            if self._missed(bare, a is not None, b is not None) or a is None or b is None:
                continue
            self.fields += 1
            if {self.mapping.get(id, f"{id} of the first") for id in a} != set(b):
                back = {theirs: ours for ours, theirs in self.mapping.items()}
                found = [back.get(id, f"{id} of the second") for id in b]
                self.found.append(Difference(f"{place}.{field}", (one.id,), list(a), sorted(found)))
                return

    def _distances(self) -> None:
        others = {f"NUMA{one.number}": one for one in self.b.numa_nodes or ()}
        for place, one in enumerate(self.a.numa_nodes or ()):
            other = others.get(self.mapping.get(one.id, ""))
            if other is None or one.distances is None or other.distances is None:
                continue
            theirs = {f"NUMA{number}": far for number, far in other.distances.items()}
            for number, far in one.distances.items():
                found = theirs.get(self.mapping.get(f"NUMA{number}", ""))
                if found is not None and found != far:
                    field = f"numaNodes[{place}].distances.{number}"
                    self.found.append(Difference(field, (one.id,), far, found))

    def _cells(self) -> Iterator[_Cell]:
        theirs = {frozenset((pair.a, pair.b)): pair for pair in self.b.pairs}
        nvlinks = {gpu.id: gpu.nvlinks.active if gpu.nvlinks else None for gpu in (*self.a.gpus,)}
        for pair in self.a.pairs:
            ends = self.mapping.get(pair.a), self.mapping.get(pair.b)
            other = theirs.get(frozenset(end for end in ends if end is not None)) if None not in ends else None
            if other is None:
                continue
            yield from self._levels(pair, other)
            yield from self._nvlinks(pair, other, nvlinks)

    def _levels(self, pair: Pair, other: Pair) -> Iterator[_Cell]:
        a, b = levels_of(pair), levels_of(other)
        if self._missed("pairs.pcie", a is not None, b is not None) or a is None or b is None:
            return
        if a != b and a & b:
            self.not_compared["pairs.pcie"] += 1
            self.missing["pairs.pcie"] += not b <= a
            return
        self.fields += 1
        if a != b:
            yield _Cell((pair.a, pair.b), "pcie", _either(a), _either(b))

    def _nvlinks(self, pair: Pair, other: Pair, active: Mapping[str, int | None]) -> Iterator[_Cell]:
        if pair.nvlinks is None and other.nvlinks is None:
            return
        by_switch = pair.via_switch and other.via_switch
        if by_switch and active.get(pair.a) is not None and active.get(pair.b) is not None:
            return  # each GPU's own links into the switch, and compared there
        if self._missed("pairs.nvlinks", pair.nvlinks is not None, other.nvlinks is not None):
            return
        self.fields += 1
        if pair.nvlinks != other.nvlinks:
            yield _Cell((pair.a, pair.b), "nvlinks", str(pair.nvlinks), str(other.nvlinks))


def compare(a: NodeTopology, b: NodeTopology, alignment: Alignment) -> Compared:
    return _Comparison(a, b, alignment).run()


def _gathered(cells: Iterable[_Cell]) -> Iterator[Difference]:
    """Cells of one attribute that share a device become one difference of it, the device with most cells first."""
    left = list(cells)
    while left:
        counts = Counter((end, cell.attribute) for cell in left for end in cell.ends)
        (device, attribute), most = max(counts.items(), key=lambda one: (one[1], one[0][0].startswith("NIC")))
        if most == 1:
            for cell in left:
                yield Difference(f"pairs[{cell.ends[0]}-{cell.ends[1]}].{cell.attribute}", cell.ends, cell.a, cell.b)
            return
        own = [cell for cell in left if device in cell.ends and cell.attribute == attribute]
        left = [cell for cell in left if cell not in own]
        ends = {_other(cell.ends, device): cell for cell in own}
        yield Difference(
            f"pairs[{device}-*].{attribute}", (device,),
            {end: cell.a for end, cell in ends.items()}, {end: cell.b for end, cell in ends.items()},
        )  # fmt: skip


def _other(ends: tuple[str, str], device: str) -> str:
    return ends[1] if ends[0] == device else ends[0]


def _numa_ids(numbers: tuple[int, ...] | None) -> tuple[str, ...] | None:
    return None if numbers is None else tuple(f"NUMA{number}" for number in numbers)


def _either(levels: frozenset[str]) -> str:
    return " or ".join(sorted(levels))


def _called(one: Any) -> str:
    """A device in words: its id, and what else tells a person which one it is."""
    more = [getattr(one, name, None) for name in ("name", "device", "pci")]
    said = [str(word) for word in dict.fromkeys(more) if word and word != one.id]
    return f"{one.id} ({', '.join(said)})" if said else str(one.id)


def _plain(value: Any) -> Any:
    return [list(one) if isinstance(one, tuple) else one for one in value] if isinstance(value, tuple) else value
