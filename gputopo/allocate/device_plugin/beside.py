"""What stands beside an answer of the device plugin: what it takes for granted, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.aftermath import After, aftermath
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.request import Request
from gputopo.allocate.state import State

_NO_POLICY = "Topology Manager policy none"


def after(report: Report) -> After:
    """Every set leaves as many units, and the plugin never refuses for which ones they are."""
    answer, state, request, plugin = report.answer, report.state, report.request, report.plugin

    def step(outcome: Outcome) -> State:
        return plugin.step(state, request, outcome)

    def admits(free: State, size: int) -> bool | None:
        return plugin.answer(free, Request(size, (), request.resource)).admitted

    if answer.admitted is False:
        return aftermath(answer, state, step, admits)
    if report.left is None:
        return After(None, None)
    sharing = plugin.config.sharing
    one_at_a_time = answer.unit == "replica" and sharing is not None and sharing.fail_requests_above_one
    sets = {frozenset(one.devices) for one in answer.outcomes}
    same = len(sets) == 1 and answer.outcomes_complete and answer.unit != "replica"
    free = tuple(unit for unit in state.free if unit not in next(iter(sets))) if same else None
    return After(free, min(report.left, 1) if one_at_a_time else report.left, report.left)


def assumed(report: Report, notes: Sequence[Assumed] = (), *, alone: bool = True) -> tuple[Assumed, ...]:
    """Each with what would settle it. `notes`: the verb's own. `alone`: nothing is known of the kubelet."""
    plugin, config, node = report.plugin, report.plugin.config, report.state.node
    own = plugin.behaviour
    version = f"device plugin {own.version}"
    known = version if own.known else f"{version} was not read: it is answered as the nearest release that was"
    made = [Assumed(known, "--plugin-version")]
    sharing = "no replicas" if config.sharing is None else config.sharing.kind
    mig = "no MIG" if config.mig_strategy == "none" else f"MIG strategy {config.mig_strategy}"
    made.append(Assumed(f"{sharing}, {mig}", "--plugin-config FILE"))
    if alone:
        made.append(Assumed(_NO_POLICY, "--kubelet-config FILE"))
    if config.shared_policy == "packed" and not own.packed:
        made.append(Assumed(f"{own.version} does not know sharedDevicesAllocationPolicy: distributed"))
    made += notes
    for note in report.answer.assumptions:
        one = Assumed.of(note)
        made.append(one._replace(settle=one.settle or _settle(one.text)))
    if node.view == "container":
        made.append(Assumed("the evidence is a container's view: the node may have more GPUs", "the host's evidence"))
    ids = [gpu.id for gpu in node.gpus if gpu.nvml_index is None]
    if ids:
        said = ", ".join(ids) if len(ids) < 4 else f"{ids[0]} to {ids[-1]}"
        made.append(Assumed(f"NVML's order of {said} is that of their ids", "nvidia-smi -L"))
    return tuple(made)


def _settle(text: str) -> str:
    if "NVLinks: answered" in text:
        return "nvidia-smi topo -m"
    return "nvidia-smi topo -mp, or /sys" if "PCIe level" in text else ""
