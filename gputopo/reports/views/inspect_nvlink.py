"""NVLink in words, under the wiring: islands, links into a fabric, direct links, none, unknown."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import Block, KeyValue, cell
from gputopo.reports.views.words import PairsOf, cut
from gputopo.rules.wording import counted, names
from gputopo.topology.node import Gpu, NodeTopology, Pair


def nvlink(node: NodeTopology, pairs: PairsOf) -> tuple[Block, ...]:
    gpus = {gpu.id: gpu for gpu in node.gpus}
    if not gpus or all(gpu.vendor not in (None, "nvidia") for gpu in node.gpus):
        return ()
    lines: list[str] = []
    for island in _merged(node.islands.nvlink, pairs):
        lines += _island(node, [gpus[id] for id in island if id in gpus], pairs)
    lines += _without(node, pairs)
    lines += _cliques(node)
    title = "NVLink"
    made: list[Block] = []
    for line in lines:
        made.append(KeyValue(title, (cell(line),), role="dim"))
        title = ""
    c2c = _c2c(node)
    if c2c:
        made.append(KeyValue("C2C", (cell(c2c),), role="dim"))
    return tuple(made)


def _merged(islands: Sequence[Sequence[str]], pairs: PairsOf) -> list[Sequence[str]]:
    """Islands of direct links together: one line tells them all; each switched island on its own."""
    direct: list[str] = []
    others: list[Sequence[str]] = []
    for island in islands:
        if any(pair.nvlinks and pair.via_switch is not False for pair in _among(island, pairs)):
            others.append(island)
        else:
            direct += island
    return [direct, *others] if direct else others


def _island(node: NodeTopology, island: Sequence[Gpu], pairs: PairsOf) -> list[str]:
    ids = [gpu.id for gpu in island]
    inside = [pair for pair in _among(ids, pairs) if pair.nvlinks]
    through = {pair.via_switch for pair in inside}
    if through == {True}:
        return _fabric(node, island, inside)
    counts: dict[int, list[str]] = {}
    for pair in inside:
        counts.setdefault(pair.nvlinks or 0, []).append(f"{pair.a}-{pair.b}")
    groups = [f"NV{count} {' '.join(some)}" for count, some in sorted(counts.items(), reverse=True)]
    uniform = len(counts) == 1 and len(inside) > 3 and len(inside) == len(ids) * (len(ids) - 1) // 2
    text = f"{names(ids)}: every pair NV{next(iter(counts))}" if uniform else "; ".join(groups)
    if through == {False}:
        return [f"direct links: {text}"]
    if None in through and True not in through:
        return [f"{text}. Direct, or through NVSwitches: not in this evidence."]
    return [f"partly direct, partly through NVSwitches: {text}"]


def _fabric(node: NodeTopology, island: Sequence[Gpu], inside: Sequence[Pair]) -> list[str]:
    counts = sorted({pair.nvlinks for pair in inside if pair.nvlinks}, reverse=True)
    if node.nvswitches:
        into = "the NVSwitch" if len(node.nvswitches) == 1 else f"{len(node.nvswitches)} NVSwitches"
    else:
        into = "the NVSwitch fabric"
    links = _links_each(island) or " or ".join(str(count) for count in counts)
    text = f"{names([gpu.id for gpu in island])} are one island: {links} links each into {into}"
    state = _fabric_state(island)
    text += f", fabric state {state}." if state else "."
    example = f"NV{counts[0]}" if counts else "NV#"
    return [text, f"{example} counts a GPU's links into the switch, not a cable between the two GPUs."]


def _links_each(island: Sequence[Gpu]) -> str:
    """`18`, or `18 (GPU5: 17)` where a few have another number; "" where it is not known of all."""
    active = {gpu.id: gpu.nvlinks.active for gpu in island if gpu.nvlinks is not None}
    counts = [count for count in active.values() if count is not None]
    if len(counts) < len(island):
        return ""
    usual = max(sorted(set(counts), reverse=True), key=counts.count)
    odd = [f"{id}: {count}" for id, count in active.items() if count != usual]
    return f"{usual} ({', '.join(odd)})" if odd else str(usual)


def _fabric_state(island: Sequence[Gpu]) -> str:
    states: dict[str, list[str]] = {}
    for gpu in island:
        if gpu.fabric is not None and gpu.fabric.state:
            states.setdefault(gpu.fabric.state, []).append(gpu.id)
    if len(states) == 1 and len(next(iter(states.values()))) == len(island):
        return cut(next(iter(states)), 40)
    return ", ".join(f"{cut(state, 40)} ({names(ids)})" for state, ids in states.items())


def _without(node: NodeTopology, pairs: PairsOf) -> list[str]:
    """GPUs in no island: none, or not known, or links whose far ends nobody names."""
    inside = {id for island in node.islands.nvlink for id in island}
    rest = [gpu for gpu in node.gpus if gpu.id not in inside]
    others = [gpu.id for gpu in node.gpus]
    lines = []
    blind: dict[int, list[str]] = {}
    none, unknown = [], []
    for gpu in rest:
        mine = [pairs.get(gpu.id, {}).get(id) for id in others if id != gpu.id]
        counts = [pair.nvlinks if pair is not None else None for pair in mine]
        active = gpu.nvlinks.active if gpu.nvlinks is not None else None
        if active:
            blind.setdefault(active, []).append(gpu.id)
        elif active == 0 or (counts and all(count == 0 for count in counts)):
            none.append(gpu.id)
        elif counts:
            unknown.append(gpu.id)
    for active, ids in blind.items():
        far = "" if len(node.gpus) == 1 else ", far ends not in this evidence"
        lines.append(f"{names(ids)}: {counted(active, 'active link')}{' each' if len(ids) > 1 else ''}{far}")
    if none:
        lines.append("none between these GPUs" if len(none) == len(others) > 1 else f"none on {names(none)}")
    if unknown:
        lines.append("not in this evidence" if len(unknown) == len(others) else f"{names(unknown)}: unknown")
    return lines


def _cliques(node: NodeTopology) -> list[str]:
    """A clique is said where it is more than this node's own island: it reaches other nodes."""
    return [
        f"fabric clique {island.clique_id if island.clique_id is not None else '?'}"
        f" of cluster {cut(island.cluster_uuid or '?', 40)}: {names(island.gpus)}"
        for island in node.islands.fabric
    ]


def _c2c(node: NodeTopology) -> str:
    """Links between a GPU and its CPU (Grace)."""
    kinds: dict[str, list[str]] = {}
    for gpu in node.gpus:
        if gpu.c2c:
            count, each = gpu.c2c.get("count"), gpu.c2c.get("gbpsPerLink")
            text = counted(int(count), "link") if count else "links"
            kinds.setdefault(f"{text} of {each:g} GB/s" if each else text, []).append(gpu.id)
    return "; ".join(f"{names(ids)} to the CPU: {text}" for text, ids in kinds.items())


def _among(ids: Sequence[str], pairs: PairsOf) -> list[Pair]:
    return [
        pair for at, a in enumerate(ids) for b in ids[at + 1 :] if (pair := pairs.get(a, {}).get(b)) is not None
    ]
