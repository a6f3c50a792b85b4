"""What stands beside an answer of the device plugin: cost, what is better, Fabric Manager, what a container sees."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.best import islands
from gputopo.allocate.device_plugin.report import Remedy, Report
from gputopo.allocate.device_plugin.units import label
from gputopo.allocate.device_plugin.why import set_name
from gputopo.reports.blocks import Block, Cell, KeyValue, cell
from gputopo.rules.wording import counted, names

_CONFIG = "--kubelet-config FILE with gputopo allocate kubelet"
_SHOWN = 6


def cost(report: Report) -> list[Block]:
    """What the sets mean for traffic between GPUs and with the host."""
    outcomes = report.answer.outcomes
    if not report.plugin.is_aligned(report.state) or report.request.size < 2 or not outcomes:
        return []
    made: list[Block] = []
    if all(set(one.gpus) <= set(report.switched) for one in outcomes):
        text = "none: one NVSwitch fabric joins any of these GPUs"
    else:
        weakest = {one.weakest.level if one.weakest is not None else None for one in outcomes}
        if None in weakest:
            text = "the weakest pair is not decided by the evidence"
        else:
            levels = sorted(str(level) for level in weakest)
            text = f"weakest pair {' or '.join(levels)}"
        broken = {island for one in outcomes for island in islands(report.state.node, one.gpus)[1]}
        if broken:
            text += f"; may break {counted(len(broken), 'NVLink island')}"
    made.append(KeyValue("COST", (cell(text),), key="GPU-GPU"))
    shape = _lone(report)
    if shape:
        made.append(KeyValue("", (cell(shape),), key="host"))
    return made


def _lone(report: Report) -> str:
    outcomes = report.answer.outcomes
    if not all(one.cross_package or one.cross_numa for one in outcomes):
        return ""
    place = "socket" if all(one.cross_package for one in outcomes) else "NUMA node"
    return f"each GPU's pinned memory and threads should sit on its own {place}"


def better(report: Report) -> list[Block]:
    found = report.best
    if found is None or not report.answer.outcomes:
        return []
    if report.better_than_some is None and not report.better:
        text = "not decided: the levels that are open decide which set is best"
    elif report.better:
        text = f"the best set now is {_sets(found.sets)}: the plugin never returns it"
    elif report.better_than_some:
        text = f"the best now: {_sets(found.sets)}; some of the answers are worse"
    else:
        text = "nothing now" if report.remedies or len(report.state.free) < len(report.state.units) else "nothing: "
        text = text if text == "nothing now" else "nothing: no free set has a nearer weakest pair or fewer sockets"
    made: list[Block] = [KeyValue("BETTER", (cell(text), *_remedies(report.remedies)))]
    return made


def _sets(sets: Sequence[tuple[str, ...]]) -> str:
    shown = " ".join(set_name(one) for one in sets[:_SHOWN])
    return shown + (f" and {len(sets) - _SHOWN} more as good" if len(sets) > _SHOWN else "")


def _remedies(remedies: Sequence[Remedy]) -> list[Cell]:
    made = []
    for remedy in remedies[:_SHOWN]:
        only = "only " if len(remedy.sets) == 1 else ""
        score = f", score {remedy.scores[0]}" if len(remedy.scores) == 1 else ""
        made.append(cell(f"{remedy.unit} freed: {only}{_sets(remedy.sets)}{score}"))
    return made


def fabric(report: Report, *, verbose: bool) -> list[Block]:
    """Fabric Manager: is each outcome one of its partitions, and which are free afterwards."""
    if report.modules_unknown:
        text = "module ids are not in this evidence, so sets and partitions cannot be joined"
        return [KeyValue("PARTITION", (cell(text), cell("settle it: nvidia-smi -q (GPU Module Id)")))]
    if report.fits is None:
        return []
    made: list[Block] = []
    title = "PARTITION"
    pairs = list(zip(report.answer.outcomes, report.fits))
    for outcome, fit in pairs if verbose else pairs[: 2 * _SHOWN]:
        free = ", ".join(map(str, fit.free_after)) or "none"
        if fit.partition is None:
            said = f"{set_name(outcome.gpus)} is no Fabric Manager partition: no NVLink in shared NVSwitch mode"
        else:
            said = f"{set_name(outcome.gpus)} is partition {fit.partition}"
        role = "" if fit.partition is not None else "warning"
        made.append(KeyValue(title, (cell(said, role), cell(f"free after: {free}"))))
        title = ""
    if len(pairs) > len(made):
        made.append(KeyValue("", (cell(f"and {len(pairs) - len(made)} sets more (-v)"),)))
    return made


def seen(report: Report, *, verbose: bool) -> list[Block]:
    """What a container with the first outcome sees."""
    look = report.visible
    if look is None:
        return []
    parts = [f"{name}={value}" for name, value in look.env]
    parts += [f"CDI {name}" for name in look.cdi_devices]
    parts += [f"annotation {name}: {value}" for name, value in look.annotations]
    parts += [f"mount {host} at {inside}" for host, inside in look.mounts]
    parts += [f"device {path}" for path in look.devices]
    if look.unset:
        parts.append("NVIDIA_VISIBLE_DEVICES is not set: the image's own value, often all, is seen but means nothing")
    if any(id is None for id in look.ids) and not verbose:
        what = "UUIDs" if report.plugin.config.device_id_strategy == "uuid" else "indices"
        kinds = dict.fromkeys(part.split("=")[0].split(" ")[0] for part in parts)
        return [KeyValue("SEES", (cell(f"{', '.join(kinds)}; the {what} are not in this evidence (nvidia-smi -L)"),))]
    units = [label(report.state.node, unit) for unit in report.answer.outcomes[0].devices]
    first = "" if len(report.answer.outcomes) == 1 else f"(with {set_name(units)})"
    return [KeyValue("SEES", (*(cell(part) for part in parts), cell(first)))]


def after(report: Report) -> list[Block]:
    if report.left is None:
        return []
    units = {"gpu": "GPU", "mig": "MIG device", "replica": "replica"}[report.answer.unit]
    return [KeyValue("AFTER", (cell(f"{counted(report.left, units)} left: the largest request that fits"),))]


def assumed(report: Report, notes: Sequence[str]) -> list[tuple[str, str]]:
    """Every assumption with what would settle it."""
    plugin, config = report.plugin, report.plugin.config
    made = [(_version(report), "--plugin-version")]
    sharing = "no replicas" if config.sharing is None else f"{config.sharing.kind}"
    mig = "no MIG" if config.mig_strategy == "none" else f"MIG strategy {config.mig_strategy}"
    made.append((f"{sharing}, {mig}, Topology Manager policy none", f"--plugin-config FILE, {_CONFIG}"))
    if plugin.config.shared_policy == "packed" and not plugin.behaviour.packed:
        made.append((f"{plugin.behaviour.version} does not know sharedDevicesAllocationPolicy: distributed", ""))
    made += [(text, "") for text in notes]
    made += [(one.text, _settle(one.text)) for one in report.answer.assumptions]
    if report.state.node.view == "container":
        made.append(("the evidence is a container's view: the node may have more GPUs", "the host's evidence"))
    ids = [gpu.id for gpu in report.state.node.gpus if gpu.nvml_index is None]
    if ids:
        made.append((f"NVML's order of {names(ids)} is that of their ids", "nvidia-smi -L"))
    return made


def _version(report: Report) -> str:
    own = report.plugin.behaviour
    if own.known:
        return f"plugin {own.version}"
    return f"plugin {own.version} was not read: it is answered as the nearest release that was"


def _settle(text: str) -> str:
    if "NVLinks: answered" in text:
        return "nvidia-smi topo -m"
    return "nvidia-smi topo -mp, or /sys" if "PCIe level" in text else ""
