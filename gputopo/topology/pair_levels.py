"""The PCIe level of every pair as far as the evidence decides it, and by what.

Best first: a printed letter, a PCI tree (one grain a pair), third devices, disjoint NUMA sets; each
only narrows the set the one before left. A set that becomes empty is a conflict, and no basis for
anything else. "Same NUMA node" does not exclude SYS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.topology import level_sets
from gputopo.topology.attributes import format_rank
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.level_sets import ANY, SYS_ONLY, is_single
from gputopo.topology.matrix_evidence import Cell, Where, read_matrix, read_pairs
from gputopo.topology.node import Observed, Source, pair_id
from gputopo.topology.tree_level import nccl_level, sysfs_level


class Place(NamedTuple):
    """A device as the pairs see it."""

    id: str
    is_gpu: bool
    numa: tuple[int, ...] | None  # None also where the sources dispute it: no basis
    records: Mapping[int, Any]  # by place of the source
    model: str | None = None
    vendor: str | None = None
    pci: str | None = None


class Levels(NamedTuple):
    """What is decided. Masks are level sets by positions; the tables are keyed by (smaller, larger)."""

    cells: dict[Where, list[Cell]]
    masks: list[list[int]]
    basis: dict[Where, str]  # "printed" | "tree" | "third-device" | "numa", for decided pairs
    contradictory: set[Where]  # no level fits
    conflicting: set[Where]  # a conflict is on record already
    observed: list[Observed]


def decide(sources: Sequence[Spoken], places: Sequence[Place], ledger: Ledger) -> Levels:
    """All pairs over the places. Conflicts go to the ledger, facts for rules into `observed`."""
    return _Decider(sources, places, ledger).run()


class _Decider:
    def __init__(self, sources: Sequence[Spoken], places: Sequence[Place], ledger: Ledger) -> None:
        self.sources = sources
        self.places = places
        self.ledger = ledger
        self.observed: list[Observed] = []
        self.size = len(places)
        self.cells: dict[Where, list[Cell]] = {}
        self.masks = [[ANY] * self.size for _ in places]
        self.basis: dict[Where, str] = {}
        self.conflicting: set[Where] = set()
        self.contradictory: set[Where] = set()

    def run(self) -> Levels:
        self._read()
        self._print_and_tree()
        self._third_devices_and_numa()
        return Levels(self.cells, self.masks, self.basis, self.contradictory, self.conflicting, self.observed)

    def _read(self) -> None:
        is_gpu = [place.is_gpu for place in self.places]
        for number, spoken in enumerate(self.sources):
            records = spoken.records
            if records.matrix is None and not records.pairs:
                continue
            position = {
                place.records[number].label: at for at, place in enumerate(self.places) if number in place.records
            }
            if records.matrix is not None:
                read_matrix(number, records.matrix, position, is_gpu, self.cells)
            read_pairs(number, records.pairs, position, self.cells)

    # Printed letters and trees

    def _print_and_tree(self) -> None:
        trees = self._trees()
        for a in range(self.size):
            for b in range(a + 1, self.size):
                where = (a, b)
                cells = self.cells.get(where)
                mask = ANY
                if cells is not None:
                    mask = self._printed(where, cells)
                    if is_single(mask):
                        self.basis[where] = "printed"
                if trees:
                    mask = self._with_tree(where, mask, cells or [], trees)
                self.masks[a][b] = self.masks[b][a] = mask

    def _printed(self, where: Where, cells: Sequence[Cell]) -> int:
        first = cells[0]
        for cell in cells:
            if cell.token != first.token or cell.mask != first.mask:
                return self._printed_differently(where, cells)
        return first.mask

    def _printed_differently(self, where: Where, cells: Sequence[Cell]) -> int:
        """Two halves of one matrix that differ convict it; two sources that differ are a conflict."""
        by_source: dict[int, list[Cell]] = {}
        for cell in cells:
            by_source.setdefault(cell.place, []).append(cell)
        masks = []
        for number, own in by_source.items():
            if len({cell.token for cell in own}) > 1:
                self._asymmetric(where, number, own)
                masks.append((own[0].mask | own[-1].mask, number))
            else:
                masks.append((own[0].mask, number))
        mask = ANY
        for one, _ in masks:
            mask &= one
        if mask:
            return mask
        if where not in self.conflicting:
            self.conflicting.add(where)
            used, _ = masks[0]
            claims = [Claim(spell(one), self.sources[number].source) for one, number in masks if one != ANY]
            self.ledger.conflict(self._ids(where), "pcie", spell(used), claims)
        return masks[0][0]

    def _asymmetric(self, where: Where, number: int, own: Sequence[Cell]) -> None:
        source = self.sources[number].source
        a, b = self._ids(where)
        said = [f"row {a if cell.forward else b} prints {cell.token}" for cell in own]
        lines = [cell.line for cell in own if cell.line is not None]
        text = ", ".join(said) + (f" (lines {', '.join(map(str, lines))})" if len(lines) > 1 else "")
        self.observed.append(Observed("matrix-not-symmetric", (a, b), text, source.id, lines[-1] if lines else None))
        self.conflicting.add(where)
        self.ledger.conflict((a, b), "level", None, [Claim(cell.token, source) for cell in own])

    def _trees(self) -> list[tuple[int, str]]:
        found = [
            (number, spoken.records.grain)
            for number, spoken in enumerate(self.sources)
            if spoken.records.grain is not None
        ]
        rank = {"sysfs": 0, "nccl": 1}
        return sorted(found, key=lambda one: (rank[one[1]], format_rank(self.sources[one[0]].source.format)))

    def _with_tree(self, where: Where, mask: int, cells: Sequence[Cell], trees: Sequence[tuple[int, str]]) -> int:
        first, second = self.places[where[0]], self.places[where[1]]
        for number, grain in trees:
            one, other = first.records.get(number), second.records.get(number)
            if one is None or other is None:
                continue
            chain, other_chain = one.chain, other.chain
            if not _is_chain(chain) or not _is_chain(other_chain):
                continue
            rule = sysfs_level if grain == "sysfs" else nccl_level
            allowed = rule(chain, other_chain, first.numa, second.numa)
            if grain == "nccl":
                allowed |= _folded(first, second, chain == other_chain, allowed)
            if mask & allowed:
                mask &= allowed
                if is_single(mask):
                    self.basis.setdefault(where, "tree")
            elif where not in self.conflicting:
                self.conflicting.add(where)
                claims = [Claim(spell(cell.mask), self.sources[cell.place].source) for cell in cells[:1]]
                claims = claims or [Claim(spell(mask), self.sources[trees[0][0]].source)]
                claims.append(Claim(spell(allowed), self.sources[number].source))
                self.ledger.conflict(self._ids(where), "pcie", spell(mask), claims)
        return mask

    # Third devices, then NUMA

    def _third_devices_and_numa(self) -> None:
        hidden = [(a, b) for a in range(self.size) for b in range(a + 1, self.size) if not is_single(self.masks[a][b])]
        for a, b, c in level_sets.violations(self.masks):
            self._contradiction((a, b), (a, b, c))
        if not hidden:
            return
        self._narrow(hidden)
        by_numa = False
        for a, b in hidden:
            first, second = self.places[a].numa, self.places[b].numa
            if first is None or second is None or set(first) & set(second) or not first or not second:
                continue
            if (a, b) in self.contradictory:
                continue
            if not self.masks[a][b] & SYS_ONLY:
                self._numa_against_level((a, b))
            elif self.masks[a][b] != SYS_ONLY:
                self.masks[a][b] = self.masks[b][a] = SYS_ONLY
                self.basis[a, b] = "numa"
                by_numa = True
        if by_numa:
            self._narrow([where for where in hidden if where not in self.basis])

    def _narrow(self, hidden: Sequence[Where]) -> None:
        narrowed, contradictions = level_sets.narrow(self.masks, hidden)
        for where, third in contradictions.items():
            # Of a pair that no row prints, a contradiction only says that nothing can be inferred.
            if where in self.cells and where not in self.contradictory:
                self._contradiction(where, (*where, third))
        for where, mask in narrowed.items():
            if is_single(mask) and where not in contradictions:
                self.basis.setdefault(where, "third-device")

    def _contradiction(self, where: Where, triple: tuple[int, int, int]) -> None:
        """No level fits: a printed letter is wrong, or the rows are of different machines."""
        first = where not in self.contradictory
        self.contradictory.add(where)
        a, b, c = triple
        ids = self._ids(where)
        source = self._witness(triple)
        if c < 0:
            text = f"no level fits {pair_id(*ids)} beside all the others"
            subjects: tuple[str, ...] = ids
        else:
            third = self.places[c].id
            subjects = (*ids, third)
            text = ", ".join(
                f"{pair_id(self.places[x].id, self.places[y].id)} {spell(self.masks[x][y])}"
                for x, y in ((a, c), (b, c), (a, b))
                if self.masks[x][y] != ANY
            )
        self.observed.append(Observed("matrix-contradicts-itself", subjects, text, source.id, None))
        if first and where not in self.conflicting:
            self.conflicting.add(where)
            self.ledger.conflict(ids, "pcie", None, self._third_words(where, source))

    def _third_words(self, where: Where, source: Source) -> list[Claim]:
        a, b = where
        words: dict[int, str] = {}
        if self.masks[a][b] != ANY:
            words[self.masks[a][b]] = spell(self.masks[a][b])
        for c in range(self.size):
            if c not in where:
                allowed = level_sets.support(self.masks[a][c], self.masks[b][c])
                if allowed != ANY:
                    words.setdefault(allowed, f"{spell(allowed)} by {self.places[c].id}")
        return [Claim(text, source) for text in words.values()]

    def _witness(self, triple: tuple[int, ...]) -> Source:
        for x in triple:
            for y in triple:
                cells = self.cells.get((x, y))
                if cells:
                    return self.sources[cells[0].place].source
        return self.sources[0].source

    def _numa_against_level(self, where: Where) -> None:
        if where in self.conflicting:
            return
        self.conflicting.add(where)
        source = self._witness(where)
        level = spell(self.masks[where[0]][where[1]])
        self.ledger.conflict(self._ids(where), "pcie", level, [Claim(level, source), Claim("SYS by NUMA", source)])

    def _ids(self, where: Where) -> tuple[str, str]:
        return self.places[where[0]].id, self.places[where[1]].id


def spell(mask: int) -> str:
    """One level by name, several as `PIX..NODE` or `NODE or SYS`."""
    names = level_sets.names(mask)
    if len(names) < 3:
        return " or ".join(names)
    return f"{names[0]}..{names[-1]}"


def _folded(first: Place, second: Place, same_chain: bool, allowed: int) -> int:
    """Levels that NCCL's grain does not show: functions of one card, PCI domains of their own."""
    one, other = (None if place.pci is None else place.pci[:-2] for place in (first, second))
    more = level_sets.NONE
    if same_chain and (one is None or other is None or one == other):
        more |= level_sets.of("PIX")
    if allowed & level_sets.of("NODE") and (one is None or other is None or one[:-6] != other[:-6]):
        more |= SYS_ONLY
    return more


def _is_chain(chain: object) -> bool:
    return type(chain) is tuple and len(chain) > 0
