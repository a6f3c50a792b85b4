"""WIRING: by socket and NUMA node, then host bridge and switch; one line a GPU, with its near NICs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gputopo.reports.blocks import Block, Cell, Column, Row, Span, Table, Title, cell, level_role
from gputopo.reports.views.bridges import Above, Bridges
from gputopo.reports.views.inspect_groups import Group, group_of, idle_numa_nodes, title
from gputopo.reports.views.words import PairsOf, cut, one_domain, rate, several, short_pci
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, Nic, NodeTopology, Nvme, Pcie

_LAYERS = {"infiniband": "IB", "ethernet": "Eth"}


class _Line(NamedTuple):
    group: Group
    order: tuple[str, str, int]  # host bridge, switch, place in its table; what has none comes last
    cells: tuple[Cell, ...]


def wiring(node: NodeTopology, pairs: PairsOf, narrow: frozenset[str]) -> tuple[Block, ...]:
    """`narrow`: GPUs whose link width a finding names; their width gets a mark."""
    if not node.gpus and not node.nics and not node.nvme and not node.numa_nodes:
        return ()
    view = _View(node, pairs, narrow)
    near = {gpu.id: view.near_nics(gpu) for gpu in node.gpus}
    beside = {nic.id for nics, _ in near.values() for nic in nics}
    lines = [view.gpu(place, gpu, *near[gpu.id]) for place, gpu in enumerate(node.gpus)]
    lone = [(place, nic) for place, nic in enumerate(node.nics or ()) if nic.id not in beside]
    lines += [view.nic(place, nic) for place, nic in lone if view.is_placed(nic)]
    lines += view.nvme()
    loose = [nic for _, nic in lone if not view.is_placed(nic)]
    rows = _rows(node, lines, loose)
    return (Table("WIRING", tuple(_unknown(node)), _columns(node, lines), tuple(rows)),)


def _rows(node: NodeTopology, lines: Iterable[_Line], loose: Sequence[Nic]) -> list[Row | Title]:
    groups: dict[Group, list[_Line]] = {}
    for line in lines:
        groups.setdefault(line.group, []).append(line)
    others: dict[Group, list[Nic]] = {}
    for nic in loose:
        others.setdefault(group_of(nic), []).append(nic)
    rows: list[Row | Title] = []
    short = one_domain(node)
    for group in sorted({*groups, *others}):
        told = cell(", ".join(_nic_name(nic, short) for nic in others.get(group, ())))
        head = title(node, group)
        if group not in groups:
            rows.append(Title((*head.parts, told)))
            continue
        rows.append(head)
        rows += [Row(line.cells) for line in sorted(groups[group], key=lambda line: line.order)]
        if told:
            rows.append(Title((cell("  other NICs"), told)))
    return rows + idle_numa_nodes(node, {*groups, *others})


class _View:
    """What the lines have in common: the bridges, how addresses are written, who is near whom."""

    def __init__(self, node: NodeTopology, pairs: PairsOf, narrow: frozenset[str]) -> None:
        self.node = node
        self.pairs = pairs
        self.narrow = narrow
        self.bridges = Bridges(node)
        self.short = one_domain(node)
        self.linked = any(gpu.nvlinks is not None and gpu.nvlinks.active for gpu in node.gpus)
        self.mixed = len({gpu.name for gpu in node.gpus}) > 1

    def gpu(self, place: int, gpu: Gpu, nics: Sequence[Nic], level: PathLevel | None) -> _Line:
        above = self.bridges.above(gpu.parent)
        cells = (
            *self._place(above),
            (Span(gpu.id, "strong"), Span(f" {self._pci(gpu.pci)}" if gpu.pci else "")),
            cell(cut(gpu.name or "model unknown", 40)) if self.mixed else (),
            self._link(gpu),
            _nvlinks(gpu, self.pairs, self.linked),
            cell(_partition(gpu)),
            cell(_nic_names(nics, self.short)),
            _nic_state(nics, level, self.short),
        )
        return _Line(group_of(gpu), (above.root or "~", above.switch or "~", place), cells)

    def nic(self, place: int, nic: Nic) -> _Line:
        above = self.bridges.above(nic.parent)
        cells = (*self._place(above), *[()] * 5, cell(_nic_name(nic, self.short)), _nic_state([nic], None, self.short))
        return _Line(group_of(nic), (above.root or "~", above.switch or "~", 1000 + place), cells)

    def nvme(self) -> list[_Line]:
        """A line for each switch or host bridge that has some."""
        alike: dict[tuple[Group, Above], list[Nvme]] = {}
        for one in self.node.nvme or ():
            alike.setdefault((group_of(one), self.bridges.above(one.parent)), []).append(one)
        lines = []
        for (group, above), some in alike.items():
            where = [self._pci(one.pci) or one.id for one in some]
            told = " ".join(where[:3]) + (f" and {len(where) - 3} more" if len(where) > 3 else "")
            cells = (*self._place(above), *[()] * 5, cell(f"{len(some)} NVMe"), cell(told))
            lines.append(_Line(group, (above.root or "~", above.switch or "~", 2000), cells))
        return lines

    def near_nics(self, gpu: Gpu) -> tuple[list[Nic], PathLevel | None]:
        """The NICs below the GPU's own switch, or switches: the nearest level of PIX and PXB."""
        mine = self.pairs.get(gpu.id, {})
        levels = [(pair.pcie, nic) for nic in self.node.nics or () if (pair := mine.get(nic.id)) is not None]
        for level in (PathLevel.PIX, PathLevel.PXB):
            found = [nic for one, nic in levels if one is level]
            if found:
                return found, level
        return [], None

    def is_placed(self, nic: Nic) -> bool:
        """Whether there is more to say of it than its name."""
        return bool(self.bridges.above(nic.parent).root or _nic_state([nic], None, self.short))

    def _place(self, above: Above) -> tuple[Cell, Cell]:
        switch = f"switch {short_pci(above.switch, one_domain=self.short)}" if above.switch else ""
        return cell(above.root or "", "dim"), cell(switch, "dim")

    def _pci(self, address: str | None) -> str:
        return short_pci(address, one_domain=self.short)

    def _link(self, gpu: Gpu) -> Cell:
        text = _gen_and_width(gpu.pcie)
        return (Span(text), Span(" !", "error")) if text and gpu.id in self.narrow else cell(text)


def _gen_and_width(pcie: Pcie | None) -> str:
    """`gen5 x16`. The generation is the card's highest: an idle link runs slower to save power."""
    if pcie is None:
        return ""
    generation = pcie.max_generation or pcie.generation
    parts = [f"gen{generation}" if generation else "", f"x{pcie.width}" if pcie.width else ""]
    return " ".join(part for part in parts if part)


def _nvlinks(gpu: Gpu, pairs: PairsOf, some: bool) -> Cell:
    """`NVLink 18/18`; without the GPU's own count, the NV# its pairs have in common.

    `some`: a GPU of the node has NVLinks, so that having none is worth a word.
    """
    if gpu.nvlinks is not None and gpu.nvlinks.active is not None:
        active, total = gpu.nvlinks.active, gpu.nvlinks.total
        if not active and not total and not some:
            return ()
        text = f"NVLink {active}" if total is None else f"NVLink {active}/{total}"
        return cell(text, "warning" if total is not None and active < total else "")
    counts = {pair.nvlinks for pair in pairs.get(gpu.id, {}).values() if pair.nvlinks}
    return cell(f"NV{counts.pop()}", "NV") if len(counts) == 1 else ()


def _partition(gpu: Gpu) -> str:
    parts = []
    if gpu.memory_numa_node is not None:
        parts.append(f"memory NUMA {gpu.memory_numa_node}")
    if gpu.mig:
        profiles = [mig.profile or "MIG device" for mig in gpu.mig]
        parts.append("MIG " + ", ".join(f"{profiles.count(one)}x {one}" for one in dict.fromkeys(profiles)))
    return "  ".join(parts)


def _nic_name(nic: Nic, short: bool) -> str:
    """`NIC0 mlx5_0`; one without a name is called by its address."""
    if nic.device and nic.device != nic.id:
        return f"{nic.id} {nic.device}"
    return f"NIC {short_pci(nic.id, one_domain=short)}" if nic.device is None else nic.id


def _nic_names(nics: Sequence[Nic], short: bool) -> str:
    """One with its device name, several by id."""
    if len(nics) == 1:
        return _nic_name(nics[0], short)
    return several((short_pci(nic.id, one_domain=short) for nic in nics), 4)


def _nic_state(nics: Sequence[Nic], level: PathLevel | None, short: bool) -> Cell:
    """`400G IB up`; of several NICs what they have in common, and the level where it is not PIX."""
    told = list(dict.fromkeys(_state(nic, short) for nic in nics))
    spans = [Span(told[0])] if len(told) == 1 and told[0] else []
    functions = sum(nic.virtual_function_of is not None for nic in nics)
    if functions and not spans:
        spans.append(Span(f"{functions} VF"))
    if level is not None and level is not PathLevel.PIX:
        spans.append(Span(" " if spans else ""))
        spans.append(Span(level.name, level_role(level.name)))
    return tuple(spans)


def _state(nic: Nic, short: bool) -> str:
    layer = nic.link_layer or ""
    parts = [
        rate(nic.rate_gbps) if nic.rate_gbps else "",
        _LAYERS.get(layer.lower(), cut(layer, 16)),
        nic.state or "",
        f"bond of {len(nic.members)}" if len(nic.members) > 1 else "",
    ]
    if nic.virtual_function_of:
        parts.append(f"VF of {short_pci(nic.virtual_function_of, one_domain=short)}")
    return " ".join(part for part in parts if part)


def _unknown(node: NodeTopology) -> list[Cell]:
    """What the picture cannot show, said once."""
    missing = []
    if node.packages is None:
        missing.append("sockets")
    if node.gpus and all(gpu.parent is None for gpu in node.gpus):
        missing.append("PCIe bridges")
    return [cell(f"not in this evidence: {', '.join(missing)}", "dim")] if missing else []


def _columns(node: NodeTopology, lines: Sequence[_Line]) -> tuple[Column, ...]:
    several = len(node.gpus) > 1

    def alike(place: int) -> str:
        told = {line.cells[place] for line in lines[: len(node.gpus)]}
        text = "".join(span.text for span in told.pop()) if several and len(told) == 1 else ""
        return f"every GPU {text}" if text else ""

    return (
        Column(), Column(), Column(), Column(), Column(alike(4)), Column(alike(5)), Column(alike(6)),
        Column(fold=True), Column(),
    )  # fmt: skip
