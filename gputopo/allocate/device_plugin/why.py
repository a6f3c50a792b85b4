"""The reasons of an answer in sentences that a person can check by hand; printed as text and as JSON's `why`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gputopo.allocate.device_plugin.aligned import Variant, padded, points_of, refuses
from gputopo.allocate.device_plugin.answers import pair_points
from gputopo.allocate.device_plugin.assignments import Table, Where
from gputopo.allocate.device_plugin.one_order import kept_sets
from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.device_plugin.scores import Points
from gputopo.terms.path_level import PathLevel

_WORDS = {
    PathLevel.PIX: "one switch PIX", PathLevel.PXB: "several switches PXB", PathLevel.PHB: "host bridge PHB",
    PathLevel.NODE: "same NUMA node NODE", PathLevel.SYS: "across SYS",
}  # fmt: skip
GOAL = (
    "the plugin maximises the sum over ALL sets it can cut the free GPUs into, not the set you get; "
    "of the best cut it returns the set with the highest score"
)
UNSEEN = "NVLinks into NVSwitches count 0: the plugin (go-gpuallocator) does not see NVSwitch links"
RANDOM = "the kubelet hands the free list over in random order"


def sentences(report: Report) -> tuple[str, ...]:
    """Every reason, in the order of a report."""
    made = [*report.answer.why, *_one_way(report)]
    if report.answer.admitted is False and not report.answer.outcomes:
        return tuple(made)
    if not report.plugin.is_aligned(report.state):
        made += _shared(report)
    elif report.plugin.policy != "best-effort":
        made.append(f"{report.plugin.policy} goes by NVML's numbers; no released plugin uses it")
    elif report.request.size == 1:
        made.append(f"a request of 1 ignores topology: no link is looked at, {RANDOM}")
        made += _breaks(report)
    elif report.request.size == len(report.state.free):
        made.append("every free GPU is taken: there is nothing to choose")
        made += pair_points_said(report)
    elif report.found is not None:
        made += [GOAL, *pair_points_said(report), *variants_said(report), *_defects(report)]
    return tuple(made)


def pair_points_said(report: Report) -> list[str]:
    """What a pair of the free GPUs scores, kind by kind."""
    if report.found is None:
        return []
    options = {one for points in pair_points(report.found).values() for one in points}
    levels = sorted({one.level for one in options})
    said = [f"{_WORDS[level]} {Points(level, 0).score}" for level in levels]
    counts = sorted({one.nvlinks for one in options if one.nvlinks})
    said += [f"{count} direct NVLink{'s' if count > 1 else ''} +{100 * count}" for count in counts]
    made = ["pair scores: " + ", ".join(said)] if said else []
    if set(report.switched) & set(report.found.available):
        made.append(UNSEEN)
    elif not counts and made and not report.found.no_nvlinks_assumed:
        partners = _bridged(report)
        made[0] += "; no direct NVLink joins two of the free GPUs"
        made += [f"NVLink partners of free GPUs are in use: {partners}"] if partners else []
    return made


def _bridged(report: Report) -> str:
    free, units = set(report.state.free), set(report.state.units)
    pairs = [
        f"{pair.a}-{pair.b}"
        for pair in report.state.node.pairs
        if pair.nvlinks and pair.via_switch is not True and {pair.a, pair.b} <= units
        and len({pair.a, pair.b} & free) == 1
    ]  # fmt: skip
    return _some(pairs, 6)


def variants_said(report: Report) -> list[str]:
    """What the open evidence decides: nothing, or which sets."""
    found = report.found
    if found is None or not found.undecided:
        return []
    pairs = [f"{found.gpus[a]}-{found.gpus[b]}" for a, b in found.undecided]
    options = pair_points(found)
    kinds = sorted({_options(options[found.gpus[a], found.gpus[b]]) for a, b in found.undecided})
    head = f"not decided by the evidence: {_some(pairs, 6)} ({'; '.join(kinds[:3])})"
    count = sum(len(variant.tables) for variant in found.variants)
    if len(found.variants) == 1:
        return [f"{head}: all {count} possibilities give the same sets"]
    made = [f"{head}: {count} possibilities give {len(found.variants)} different answers; all their sets are listed"]
    is_alike = _is_alike(report)
    alike = [variant for variant in found.variants if any(map(is_alike, variant.tables))]
    if len(alike) == 1 and alike[0].outcomes == found.outcomes:
        made.append("where these pairs are alike, all of these sets are possible; else some of them")
    when = [_when(report, variant) for variant in found.variants[:5]]
    if len(when) <= 4 and len(set(when)) == len(when):
        made += [f"{one}: {_sets(report, variant)}" for one, variant in zip(when, found.variants)]
    made += [f"settle it: {_settle(report)}"]
    return made


def _is_alike(report: Report) -> Callable[[Table], bool]:
    """Whether a table gives pairs with the same possibilities the same points."""
    assert report.found is not None
    found = report.found
    options = pair_points(found)
    groups: dict[tuple[Points, ...], list[Where]] = {}
    for a, b in found.undecided:
        groups.setdefault(tuple(sorted(options[found.gpus[a], found.gpus[b]])), []).append((a, b))
    return lambda table: all(len({table.points[where] for where in pairs}) == 1 for pairs in groups.values())


def _options(points: Iterable[Points]) -> str:
    levels = sorted({one.level for one in points})
    counts = sorted({one.nvlinks for one in points})
    text = " or ".join(level.name for level in levels)
    return text + (f", {' or '.join(map(str, counts))} NVLinks that count" if len(counts) > 1 else "")


def _when(report: Report, variant: Variant) -> str:
    assert report.found is not None
    own = points_of(report.found, variant)
    undecided = {(report.found.gpus[a], report.found.gpus[b]) for a, b in report.found.undecided}
    said: dict[str, list[str]] = {}
    for pair in sorted(undecided & own.keys()):
        said.setdefault(_options(own[pair]), []).append(f"{pair[0]}-{pair[1]}")
    return "with " + ", ".join(f"{_some(pairs, 3)} {options}" for options, pairs in said.items())


def _sets(report: Report, variant: Variant) -> str:
    assert report.found is not None
    free = report.found.available
    named = [
        set_name([free[at] for at in one if at is not None])
        for one in sorted(variant.outcomes, key=str)
        if not refuses(one)
    ]
    return _some(named, 6)


def _settle(report: Report) -> str:
    assert report.found is not None
    wanted = {frozenset((report.found.gpus[a], report.found.gpus[b])) for a, b in report.found.undecided}
    pairs = [pair for pair in report.state.node.pairs if frozenset((pair.a, pair.b)) in wanted]
    made = []
    if any(pair.pcie is None for pair in pairs):
        made.append("nvidia-smi topo -mp, or a folder with the node's /sys")
    if any(pair.nvlinks and pair.via_switch is None for pair in pairs):
        made.append("nvidia-smi nvlink -R")
    return " and ".join(made)


def _defects(report: Report) -> list[str]:
    """What upstream does wrong in this answer."""
    assert report.found is not None
    made = []
    outcomes = report.found.outcomes
    if any(padded(one) for one in outcomes):
        made.append(
            "in some orders the plugin returns its own padding and dies (nil device, fixed by go-gpuallocator PR 80): "
            "the pod is not admitted then"
        )
    if any(refuses(one) for one in outcomes):
        made.append("in some orders the plugin returns nothing, and the kubelet picks at random")
    sets = -(-len(report.found.available) // report.request.size)
    if sets - kept_sets(sets) > 1:
        made.append(
            f"with {sets} sets a cut the plugin overwrites parts of its best one (slice aliasing): "
            "sets that are in no best cut can be returned"
        )
    return made


def _one_way(report: Report) -> list[str]:
    return [
        f"{one.a}-{one.b}: the evidence prints {' one way and '.join(one.said[:2])} the other. Where NVML says so too, "
        "the plugin panics (all P2PLinks between 2 GPUs should be bidirectional) and the pod is not admitted"
        for one in report.one_way
    ]


def _breaks(report: Report) -> list[str]:
    """Direct NVLink pairs of which a single GPU would be taken."""
    free = set(report.state.free)
    pairs = [pair for pair in report.state.node.pairs if pair.nvlinks and pair.via_switch is False]
    whole = [f"{pair.a}-{pair.b}" for pair in pairs if {pair.a, pair.b} <= free]
    return [f"it may break an NVLink pair: {_some(whole, 6)}"] if whole else []


def _shared(report: Report) -> list[str]:
    plugin, unit = report.plugin, report.answer.unit
    packed = plugin.behaviour.packed and plugin.config.shared_policy == "packed" and not plugin.platform
    rule = "most allocated first (packed)" if packed else "fewest allocated first (distributed)"
    what = {"mig": "MIG devices", "replica": "replicas of shared GPUs"}.get(unit, "GPUs of this platform")
    made = [f"{what} are picked one by one, {rule}; NVLink, PCIe topology and NUMA are not looked at"]
    if unit == "mig":
        made.append("each MIG device counts as a GPU of its own, so the picks are random: two may lie on two GPUs")
        made.append("NVLink and peer-to-peer access do not work between MIG devices")
    if unit == "replica":
        made.append("which replica of a GPU it is is random and changes nothing: memory and time are shared by all")
    return made


def set_name(gpus: Sequence[str]) -> str:
    """`{1,2,3}` of GPU1, GPU2 and GPU3; other names as they are."""
    return "{" + ",".join(gpu[3:] if gpu.startswith("GPU") and gpu[3:].isdigit() else gpu for gpu in gpus) + "}"


def _some(parts: Sequence[str], most: int) -> str:
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
