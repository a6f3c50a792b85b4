"""Every pair over GPUs and NICs: its level, its NVLinks, whether it crosses a NUMA node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gputopo.records import GpuRecord, LinkRecord
from gputopo.terms.path_level import PathLevel
from gputopo.topology import level_sets, nvlinks
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.level_sets import ANY, SYS_ONLY, is_single
from gputopo.topology.matrix_evidence import Cell, Where
from gputopo.topology.node import Observed, Pair, PairLink, pair_id
from gputopo.topology.pair_levels import Place, decide

_SETTLE_PCIE = "nvidia-smi topo -mp, or sysfs"
_SETTLE_NVLINK = "nvidia-smi topo -m, or nvidia-smi nvlink -R"


class Found(NamedTuple):
    pairs: tuple[Pair, ...]
    observations: tuple[Observed, ...]
    via_switch: dict[int, bool | None]  # per GPU position
    fabric_counts: dict[int, int]  # NV# a switched GPU prints


def build_pairs(sources: Sequence[Spoken], places: Sequence[Place], ledger: Ledger) -> Found:
    """All pairs in matrix order. Conflicts and reasons go to the ledger."""
    return _Builder(sources, places, ledger).run()


class _Builder:
    def __init__(self, sources: Sequence[Spoken], places: Sequence[Place], ledger: Ledger) -> None:
        self.sources = sources
        self.places = places
        self.ledger = ledger
        self.size = len(places)
        levels = decide(sources, places, ledger)
        self.cells = levels.cells
        self.masks = levels.masks
        self.basis = levels.basis
        self.contradictory = levels.contradictory
        self.conflicting = levels.conflicting
        self.observed = levels.observed
        self.p2p = [_p2p_table(spoken) for spoken in sources]

    def run(self) -> Found:
        links = self._link_counts()
        counts = self._matrix_counts()
        by_count = nvlinks.via_switch_by_count(counts, [place.model for place in self.places])
        via_gpu: dict[int, bool | None] = {}
        fabric_counts: dict[int, int] = {}
        pairs = []
        for a in range(self.size):
            for b in range(a + 1, self.size):
                pair = self._pair((a, b), links, by_count)
                pairs.append(pair)
                if pair.nvlinks:
                    for gpu in (a, b):
                        known = via_gpu.get(gpu, pair.via_switch)
                        via_gpu[gpu] = known if known == pair.via_switch else None
                        if pair.via_switch and isinstance(pair.nvlinks, int):
                            fabric_counts[gpu] = max(fabric_counts.get(gpu, 0), pair.nvlinks)
        return Found(tuple(pairs), tuple(self.observed), via_gpu, fabric_counts)

    def _link_counts(self) -> dict[Where, list[tuple[int, nvlinks.PairLinks]]]:
        found: dict[Where, list[tuple[int, nvlinks.PairLinks]]] = {}
        gpus = [at for at, place in enumerate(self.places) if place.is_gpu]
        for number in range(len(self.sources)):
            own = [(at, self.places[at].records[number]) for at in gpus if number in self.places[at].records]
            if all(_links(record) is None for _, record in own):
                continue
            for index, (a, first) in enumerate(own):
                for b, second in own[index + 1 :]:
                    said = nvlinks.between(_links(first), _links(second), self.places[a].pci, self.places[b].pci)
                    found.setdefault((a, b), []).append((number, said))
        return found

    def _matrix_counts(self) -> dict[int, dict[int, int]]:
        counts: dict[int, dict[int, int]] = {}
        for (a, b), cells in self.cells.items():
            if self.places[a].is_gpu and self.places[b].is_gpu:
                said = {cell.nvlinks for cell in cells if cell.nvlinks is not None}
                if len(said) == 1:
                    count = said.pop()
                    counts.setdefault(a, {})[b] = count
                    counts.setdefault(b, {})[a] = count
        return counts

    def _pair(
        self, where: Where, links: Mapping[Where, list[tuple[int, nvlinks.PairLinks]]], by_count: Mapping[int, bool]
    ) -> Pair:  # fmt: skip
        a, b = where
        first, second = self.places[a], self.places[b]
        both_gpus = first.is_gpu and second.is_gpu
        mask = self.masks[a][b]
        empty = where in self.contradictory
        pcie = level_sets.levels(mask)[0] if is_single(mask) and not empty else None
        cells = self.cells.get(where, [])
        count, via = (self._nvlinks(where, cells, links.get(where, []))) if both_gpus else (None, None)
        if count and via is None:
            decided = {by_count[gpu] for gpu in where if gpu in by_count}
            via = decided.pop() if len(decided) == 1 else None
        links_between = self._pair_links(where, count, via)
        if both_gpus and (_is_other(first.vendor) or _is_other(second.vendor)):
            count, via = 0, None  # only NVIDIA's have NVLink; xGMI is listed as such
        level = self._level(cells, both_gpus, count, pcie)
        if pcie is None and not empty:
            self.ledger.unknown((pair_id(first.id, second.id),), "pcie", self._why_hidden(cells, mask), _SETTLE_PCIE)
        if both_gpus and count is None:
            self.ledger.unknown(
                (pair_id(first.id, second.id),), "nvlinks", self._why_no_nvlinks(cells, via), _SETTLE_NVLINK
            )
        return Pair(
            a=first.id,
            b=second.id,
            level=level,
            pcie=pcie,
            pcie_candidates=() if empty else level_sets.levels(mask),
            pcie_basis=self.basis.get(where) if pcie is not None else None,
            nvlinks=count,
            via_switch=via if count or via is not None else None,
            links=links_between,
            p2p=self._p2p(first, second),
            cross_numa=_cross_numa(first.numa, second.numa, mask),
        )

    def _nvlinks(
        self, where: Where, cells: Sequence[Cell], links: Sequence[tuple[int, nvlinks.PairLinks]]
    ) -> tuple[int | None, bool | None]:  # fmt: skip
        """The count all witnesses agree on, or the best one's beside a conflict."""
        claims: list[Claim] = []
        via: bool | None = None
        one_sided = False
        for number, said in links:
            source = self.sources[number].source
            if via is None:
                via = said.via_switch
            if said.forward is not None and said.backward is not None and said.forward != said.backward:
                one_sided = True
                text = f"{said.forward} links one way, {said.backward} the other"
                self.observed.append(Observed("one-sided-nvlink", self._ids(where), text, source.id, None))
                claims += [Claim(said.forward, source), Claim(said.backward, source)]
            elif said.forward is not None:
                claims.append(Claim(said.forward, source))
        printed: dict[tuple[int, int], Cell] = {}
        for cell in cells:
            if cell.nvlinks is not None:
                printed.setdefault((cell.place, cell.nvlinks), cell)
        claims += [Claim(count, self.sources[number].source) for number, count in printed]
        values = {claim.value for claim in claims}
        if not values:
            return None, via
        if len(values) > 1 and where not in self.conflicting:
            self.conflicting.add(where)
            self.ledger.conflict(self._ids(where), "nvlinks", None if one_sided else claims[0].value, claims)
        disputed = one_sided or len({claim.value for claim in claims if claim.source == claims[0].source}) > 1
        return (None if disputed else claims[0].value), via

    def _level(self, cells: Sequence[Cell], both_gpus: bool, count: int | None, pcie: PathLevel | None) -> str | None:
        for cell in cells:
            command = self.sources[cell.place].records
            prints_all = command.matrix is not None and command.matrix.command != "mp"
            if cell.token == "Unknown" or (both_gpus and not prints_all):
                continue
            halves = {other.token for other in cells if other.place == cell.place}
            return cell.token if len(halves) == 1 else None
        if both_gpus and count is None:
            return None
        if count:
            return f"NV{count}"
        return pcie.name if pcie is not None else None

    def _pair_links(self, where: Where, count: int | None, via: bool | None) -> tuple[PairLink, ...]:
        if not count:
            return ()
        speed = None
        for number in range(len(self.sources)):
            record = self.places[where[0]].records.get(number)
            rates = {link.gbps for link in _links(record) or () if link.gbps} if record is not None else set()
            if len(rates) == 1:
                speed = rates.pop()
                break
        kind = {True: "switch", False: "direct", None: None}[via]
        name = "xgmi" if self.places[where[0]].vendor == "amd" else "nvlink"
        return (PairLink(name, count, kind, speed),)

    def _p2p(self, first: Place, second: Place) -> dict[str, str] | None:
        for number, table in enumerate(self.p2p):
            if table and number in first.records and number in second.records:
                said = table.get(frozenset((first.records[number].label, second.records[number].label)))
                if said:
                    return said
        return None

    def _why_hidden(self, cells: Sequence[Cell], mask: int) -> str:
        if any(cell.token.startswith("NV") for cell in cells):
            return "topo -m hides the PCIe level behind NV#, and no third device decides it"
        if any(cell.token == "Unknown" for cell in cells):
            return "the driver printed Unknown"
        if mask != ANY:
            return "the evidence leaves several levels: " + " or ".join(level_sets.names(mask))
        return "no source says how these two are connected"

    def _why_no_nvlinks(self, cells: Sequence[Cell], via: bool | None) -> str:
        if via:
            return "both have links into a switch fabric whose far ends are not visible"
        if any(len({c.token for c in cells if c.place == cell.place}) > 1 for cell in cells):
            return "the two halves of the matrix disagree"
        if cells:
            return "this matrix prints PCIe levels only (topo -mp or NVML's ancestors)"
        return "no source lists the NVLinks of this pair"

    def _ids(self, where: Where) -> tuple[str, str]:
        return self.places[where[0]].id, self.places[where[1]].id


def _is_other(vendor: str | None) -> bool:
    return vendor is not None and vendor != "nvidia"


def _p2p_table(spoken: Spoken) -> dict[frozenset[str], dict[str, str]]:
    return {
        frozenset((pair.a, pair.b)): pair.p2p
        for pair in spoken.records.pairs
        if isinstance(pair.p2p, dict) and pair.p2p
    }


def _links(record: GpuRecord | None) -> tuple[LinkRecord, ...] | None:
    links = getattr(record, "links", None)
    return links if type(links) is tuple else None


def _cross_numa(first: tuple[int, ...] | None, second: tuple[int, ...] | None, mask: int) -> bool | None:
    """NODE and nearer lie within one NUMA node by their meaning; SYS proves nothing."""
    if first and second:
        return not set(first) & set(second)
    return False if mask and not mask & SYS_ONLY else None
