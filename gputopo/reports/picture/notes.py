"""What is inferred, undecided or not in the evidence: said under the picture, since a drawing looks like a fact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gputopo.reports.picture.parts import Box, Bundle, Fabric, boxes
from gputopo.reports.views.words import Device, cut
from gputopo.rules.wording import counted, listed, names, one_line, pairs
from gputopo.topology.node import Gpu, NodeTopology, Pair

_MOST_ASSUMED, _LONGEST = 4, 240


def notes(
    node: NodeTopology, devices: Sequence[Device], rooms: tuple[Box, ...], among: Sequence[Pair], only: Sequence[str],
    bundles: Sequence[Bundle], fabrics: Sequence[Fabric],
) -> tuple[str, ...]:  # fmt: skip
    gpus = [device for device in devices if isinstance(device, Gpu)]
    found = [*_missing(node, gpus, only), *_inferred(rooms, devices), *_hidden(among, gpus)]
    found += _undecided(among)
    found += _links(node, gpus, bundles, fabrics)
    assumed = [cut(one_line(note.text), _LONGEST) for note in node.assumptions]
    found += [f"assumed: {text}" for text in assumed[:_MOST_ASSUMED]]
    if len(assumed) > _MOST_ASSUMED:
        found.append(f"assumed: {len(assumed) - _MOST_ASSUMED} more (gputopo inspect)")
    return tuple(dict.fromkeys(found))


def _missing(node: NodeTopology, gpus: Sequence[Gpu], only: Sequence[str]) -> list[str]:
    missing = []
    if node.packages is None:
        missing.append("sockets")
    if not node.bridges:
        missing.append("PCIe bridges")
    if "nics" in only and node.nics is None:
        missing.append("NICs")
    if "nvme" in only and node.nvme is None:
        missing.append("NVMe drives")
    kinds = (("GPUs", "gpus"), ("NICs", "nics"), ("NVMe drives", "nvme"))
    left_out = [kind for kind, word in kinds if word not in only]
    found = [f"not in this evidence: {', '.join(missing)}"] if missing else []
    return [*found, f"left out (--only): {listed(left_out)}"] if left_out else found


def _inferred(rooms: tuple[Box, ...], devices: Sequence[Device]) -> list[str]:
    found = []
    if any(box.kind == "level" for box in boxes(rooms)):
        found.append("groups without a name are told by levels of pairs: their bridges are not in this evidence")
    placeless = [one.id for one in devices if one.numa_nodes is None]
    if placeless:
        found.append(f"NUMA node unknown: {names(placeless)}")
    return found


def _hidden(among: Sequence[Pair], gpus: Sequence[Gpu]) -> list[str]:
    """Levels that no source prints, and what decides them."""
    ids = {gpu.id for gpu in gpus}
    basis = Counter(
        pair.pcie_basis for pair in among if pair.a in ids and pair.b in ids and (pair.nvlinks or 0) > 0
        if pair.pcie_basis in ("third-device", "numa")
    )  # fmt: skip
    words = {"third-device": "by third devices", "numa": "by NUMA nodes"}
    told = [f"{count} {words[str(kind)]}" for kind, count in sorted(basis.items(), key=str)]
    return [f"PCIe levels hidden behind NV# are decided: {listed(told)}"] if told else []


def _undecided(among: Sequence[Pair]) -> list[str]:
    open_ = [pair for pair in among if pair.pcie is None]
    kinds: dict[str, list[tuple[str, str]]] = {}
    for pair in open_:
        text = " or ".join(level.name for level in pair.pcie_candidates)
        kinds.setdefault(text if 0 < len(pair.pcie_candidates) < 5 else "any level", []).append((pair.a, pair.b))
    return [
        f"? {text}: {pairs(some) if len(some) < 4 else counted(len(some), 'pair')}" for text, some in kinds.items()
    ]


def _links(node: NodeTopology, gpus: Sequence[Gpu], bundles: Sequence[Bundle], fabrics: Sequence[Fabric]) -> list[str]:
    found = []
    if any(not bundle.seen for bundle in bundles):
        found.append("an NVLink drawn dashed may be a cable or a way through NVSwitches: not in this evidence")
    known = {gpu.id for gpu in gpus}
    unknown = [pair for pair in node.pairs if pair.a in known and pair.b in known and pair.nvlinks is None
               and not pair.via_switch]  # fmt: skip
    if unknown and all(gpu.vendor in (None, "nvidia") for gpu in gpus):
        everything = len(unknown) == len(known) * (len(known) - 1) // 2
        what = "of these GPUs" if everything else f"of {counted(len(unknown), 'pair')}"
        found.append(f"not in this evidence: NVLinks {what}")
    if any(fabric.kind == "switch" for fabric in fabrics):
        found.append("links into NVSwitches are no cables between two GPUs: NV# counts a GPU's own")
    return found
