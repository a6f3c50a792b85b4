"""PAIRS: the levels summed up in words, how hidden ones were decided, the nearest NICs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gputopo.reports.blocks import Block, Cell, KeyValue, Span, cell, level_role
from gputopo.reports.views.words import PairsOf, cut, one_domain, several, short_pci
from gputopo.rules.wording import listed
from gputopo.terms.path_level import LEVELS, PathLevel
from gputopo.topology.node import Gpu, NodeTopology, Pair, pair_id

_P2P_KINDS = ("read", "write", "nvlink", "atomics", "prop", "unstated")  # as in `topo -p2p r|w|n|a|p`
# The legend of `topo -p2p`, in full.
_P2P_WORDS = {
    "CNS": "chipset not supported", "GNS": "GPU not supported", "TNS": "topology not supported",
    "NS": "not supported", "DR": "disabled by a registry key", "U": "unknown",
}  # fmt: skip
_MOST_DENIED = 8
_NEAREST_FIRST = tuple(level.name for level in LEVELS)


def in_words(node: NodeTopology, pairs: PairsOf) -> tuple[Block, ...]:
    made: list[Block] = []
    gpus = {gpu.id for gpu in node.gpus}
    among = [pair for pair in node.pairs if pair.a in gpus and pair.b in gpus]
    if among:
        made.append(KeyValue("PAIRS", _gpu_gpu(node, among), "GPU-GPU"))
    if node.nics and node.gpus:
        made.append(KeyValue("" if made else "PAIRS", _gpu_nic(node, pairs), "GPU-NIC"))
    peer = _peer_access(among)
    if peer:
        made.append(KeyValue("" if made else "PAIRS", peer, "P2P"))
    return tuple(made)


def _peer_access(among: Sequence[Pair]) -> tuple[Cell, ...]:
    """What the driver says of peer-to-peer access: `all 10 pairs OK (read, write)`, or which pairs are not."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for kind in _P2P_KINDS:
        told = tuple((pair_id(pair.a, pair.b), pair.p2p[kind]) for pair in among if pair.p2p and kind in pair.p2p)
        if told:
            alike.setdefault(told, []).append("kind not stated" if kind == "unstated" else kind)
    return tuple(cell(_statuses(told, ", ".join(kinds), len(among))) for told, kinds in alike.items())


def _statuses(told: Iterable[tuple[str, str]], kinds: str, total: int) -> str:
    """One word for all, or the usual one counted and the pairs with another named."""
    words: dict[str, list[str]] = {}
    for pair, word in told:
        words.setdefault(word, []).append(pair)
    if len(words) == 1:
        ((word, some),) = words.items()
        which = "" if total == 1 else f"all {total} pairs " if len(some) == total else f"{len(some)} of {total} pairs "
        return f"{which}{_status(word)} ({kinds})"
    parts = []
    for word, some in sorted(words.items(), key=lambda item: (item[0] != "OK", item[0])):
        which = f": {listed(some)}" if word != "OK" and len(some) <= _MOST_DENIED else ""
        parts.append(f"{len(some)} {_status(word)}{which}")
    return f"{kinds}: {'; '.join(parts)}"


def _status(word: str) -> str:
    meaning = _P2P_WORDS.get(word)
    return f"{word} = {meaning}" if meaning else cut(word, 20)


def _gpu_gpu(node: NodeTopology, among: Sequence[Pair]) -> tuple[Cell, ...]:
    blind = [pair for pair in among if pair.level is None and pair.nvlinks is None]
    seen = [pair for pair in among if pair.level is not None or pair.nvlinks is not None]
    text = _levels(seen) if seen else ()
    linked = [pair for pair in seen if level_role(pair.level) == "NV"]
    if linked:
        text = (*text, Span("; PCIe underneath: "), *_underneath(linked))
    parts = [text] if text else []
    if blind:
        parts.append((Span(f"{len(blind)} of {len(among)} with NVLinks not known; PCIe: "), *_blind(blind)))
    narrowed = [pair for pair in among if pair.level is None and 1 < len(pair.pcie_candidates) < len(LEVELS)]
    if narrowed:
        parts.append(cell(_candidates(narrowed)))
    crossing = _crossing(node, among)
    if crossing:
        parts.append(cell(crossing))
    return tuple(parts)


def _blind(pairs: Sequence[Pair]) -> Cell:
    if all(pair.pcie is None for pair in pairs):
        return cell("undecided")
    return _counted(Counter(pair.pcie.name if pair.pcie is not None else None for pair in pairs))


def _levels(among: Sequence[Pair]) -> Cell:
    """`28 of 28 NV18`, `4 NV4, 24 SYS`."""
    counts = Counter(pair.level for pair in among)
    if len(counts) == 1 and None not in counts:
        level = among[0].level
        return (Span(f"{len(among)} of {len(among)} "), Span(level or "", level_role(level)))
    return _counted(counts)


def _counted(counts: Counter[str | None]) -> Cell:
    spans: list[Span] = []
    for level in sorted(counts, key=_near_first):
        spans.append(Span(f"{', ' if spans else ''}{counts[level]} "))
        spans.append(Span(level or "undecided", level_role(level)))
    return tuple(spans)


def _near_first(level: str | None) -> tuple[int, int, str]:
    if level is None:
        return (3, 0, "")
    if level.startswith("NV"):
        count = level[2:]
        return (0, -int(count) if count.isascii() and count.isdigit() else 0, level)
    return (1, _NEAREST_FIRST.index(level), level) if level in _NEAREST_FIRST else (2, 0, level)


def _underneath(linked: Sequence[Pair]) -> Cell:
    """The PCIe levels that NVLink hides, and by what they were decided."""
    known = [pair for pair in linked if pair.pcie is not None]
    if not known:
        return cell(_candidates(linked) or "unknown")
    spans = list(_counted(Counter(pair.pcie.name for pair in known if pair.pcie is not None)))
    spans.append(Span(f" ({_basis(known)})"))
    hidden = [pair for pair in linked if pair.pcie is None]
    if hidden:
        spans.append(Span(f", {_candidates(hidden)}"))
    return tuple(spans)


def _basis(known: Iterable[Pair]) -> str:
    counts = Counter(pair.pcie_basis for pair in known)
    if set(counts) == {"printed"}:
        return "printed by topo -mp"
    if set(counts) == {"tree"}:
        return "from the PCI tree; topo -m hides it"
    words = {"printed": "print", "tree": "the PCI tree", "third-device": "third devices", "numa": "NUMA"}
    told = [f"{words[basis]} {counts[basis]}" for basis in words if counts[basis]]
    if len(told) == 1:
        told = [told[0].rpartition(" ")[0]]
    return f"decided by {', '.join(told)}; topo -m hides it" if told else "topo -m hides it"


def _candidates(pairs: Sequence[Pair]) -> str:
    """`4 undecided: PIX or PXB`; few pairs are named."""
    groups: dict[tuple[PathLevel, ...], list[str]] = {}
    for pair in pairs:
        groups.setdefault(pair.pcie_candidates, []).append(f"{pair.a}-{pair.b}")
    told = []
    for levels, some in groups.items():
        which = listed(some) if len(some) < 4 else str(len(some))
        may_be = " or ".join(level.name for level in levels)
        if levels == LEVELS:
            may_be = "any level"
        told.append(f"{which} undecided: {may_be}" if may_be else f"{which} undecided: the evidence contradicts itself")
    return "; ".join(told)


def _crossing(node: NodeTopology, among: Sequence[Pair]) -> str:
    """Sockets where they are known, else NUMA nodes; SYS alone does not say it."""
    for what, known, number in (
        ("sockets", [pair.cross_package for pair in among], len(node.packages or ())),
        ("NUMA nodes", [pair.cross_numa for pair in among], 2),
    ):
        if None not in known and number > 1:
            crossing = sum(1 for one in known if one)
            return f"{crossing or 'none'} cross {what}" if number > 1 and (crossing or what == "sockets") else ""
    return ""


def _gpu_nic(node: NodeTopology, pairs: PairsOf) -> tuple[Cell, ...]:
    nearest = [(gpu, _level(gpu, pairs)) for gpu in node.gpus]
    levels = {level for _, level in nearest}
    single = [gpu.nearest_nics[0] for gpu, _ in nearest if len(gpu.nearest_nics) == 1]
    if len(levels) == 1 and len(set(single)) == len(node.gpus) > 1 and None not in levels:
        (level,) = levels
        short = one_domain(node)
        couples = [f"{gpu.id}-{short_pci(gpu.nearest_nics[0], one_domain=short)}" for gpu, _ in nearest]
        same = level == "PIX"
        how = "one NIC under each GPU's own switch (" if same else "one nearest NIC a GPU, at "
        head = (Span(how), Span(level or "", level_role(level)), Span("): " if same else ": "))
        return ((*head, Span(_run(couples))),)
    groups: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    for gpu, level in nearest:
        groups.setdefault((gpu.nearest_nics, level), []).append(gpu.id)
    if len(groups) == 1 and len(node.gpus) > 1:
        ((nics, level),) = groups
        return (_nearest("every GPU", nics, level, node),)
    return tuple(_nearest(several(ids), nics, level, node) for (nics, level), ids in groups.items())


def _level(gpu: Gpu, pairs: PairsOf) -> str | None:
    if not gpu.nearest_nics:
        return None
    pair = pairs.get(gpu.id, {}).get(gpu.nearest_nics[0])
    return pair.level if pair is not None else None


def _run(couples: Sequence[str]) -> str:
    """`GPU0-NIC0 ... GPU7-NIC7` where both count up together, else all of them."""
    steps = [couple.replace("GPU", "", 1).split("-NIC") for couple in couples]
    regular = all(len(step) == 2 and step[0] == step[1] for step in steps)
    return f"{couples[0]} ... {couples[-1]}" if regular and len(couples) > 3 else " ".join(couples)


def _nearest(who: str, nics: Sequence[str], level: str | None, node: NodeTopology) -> Cell:
    if not nics:
        return (Span(f"{who}: nearest undecided"),)
    short = one_domain(node)
    which = several(short_pci(nic, one_domain=short) for nic in nics)
    if len(nics) == len(node.nics or ()) > 2:
        which = f"all {len(nics)} NICs alike"
    return (Span(f"{who}: {which} ("), Span(level or "?", level_role(level)), Span(")"))
