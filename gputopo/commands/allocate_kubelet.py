"""`gputopo allocate kubelet [SOURCE]... -c N`: would the kubelet admit this, and with which GPUs, CPUs, memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.commands.allocate_holdings import holding
from gputopo.commands.allocate_kubelet_options import (
    GPU,
    Asked,
    Assumed,
    Given,
    amount,
    config_text,
    is_asked,
    plugin_configs,
    pod_of,
    request_of,
    settings_of,
)
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.device_plugin.config import PluginConfig
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.startup import Settings
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State
    from gputopo.commands.allocate_sources import Named
    from gputopo.parsers.kubelet_state import KubeletState
    from gputopo.topology.node import NodeTopology

Text = Optional[str]  # noqa: UP045


Cpus = Annotated[Text, typer.Option("--cpus", metavar="N", help="CPUs of a Guaranteed pod; whole ones: exclusive.")]
Memory = Annotated[Text, typer.Option("--memory", metavar="SIZE", help="Memory of a Guaranteed pod, e.g. 64Gi.")]
PodFile = Annotated[Text, typer.Option("--pod", metavar="FILE", help="The Pod, or a workload with its template.")]
Config = Annotated[Text, typer.Option("--kubelet-config", metavar="FILE", help="Its file, a ConfigMap, or /configz.")]
Policy = Annotated[Text, typer.Option(metavar="POLICY", help="none, best-effort, restricted or single-numa-node.")]
Scope = Annotated[Text, typer.Option(metavar="SCOPE", help="container or pod.")]
PolicyOptions = Annotated[Text, typer.Option(metavar="KEY=VALUE,...", help="As the kubelet's own.")]
CpuPolicy = Annotated[Text, typer.Option(metavar="POLICY", help="none or static.")]
MemoryPolicy = Annotated[Text, typer.Option(metavar="POLICY", help="None or Static.")]
Reserved = Annotated[Text, typer.Option("--reserved-cpus", metavar="SET", help="CPUs kept for the system, e.g. 0,112.")]
PluginConfigFile = Annotated[
    Text, typer.Option("--plugin-config", metavar="FILE", help="The device plugin's config.yaml or ConfigMap.")
]
ResourceName = Annotated[Text, typer.Option("--resource", metavar="NAME", help=f"Default {GPU}.")]
Version = Annotated[Text, typer.Option("--k8s-version", metavar="V", help="Of the kubelet, e.g. 1.36.")]


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    cpus: Cpus = None,
    memory: Memory = None,
    pod: PodFile = None,
    kubelet_config: Config = None,
    topology_manager_policy: Policy = None,
    topology_manager_scope: Scope = None,
    topology_manager_policy_options: PolicyOptions = None,
    cpu_manager_policy: CpuPolicy = None,
    cpu_manager_policy_options: PolicyOptions = None,
    memory_manager_policy: MemoryPolicy = None,
    reserved_cpus: Reserved = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    plugin_config: PluginConfigFile = None,
    resource: ResourceName = None,
    k8s_version: Version = None,
    as_format: options.As = None,
    form: options.Output = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Would the kubelet admit this request on this node, and with which GPUs, exclusive CPUs and pinned memory.

    Hints of the device, CPU and Memory manager, the Topology Manager's merge, and what is then handed out.
    """
    if count is not None or pod is None:
        shared.checked_count(count)
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    given = Given(
        topology_manager_policy, topology_manager_scope, topology_manager_policy_options, cpu_manager_policy,
        cpu_manager_policy_options, memory_manager_policy, reserved_cpus,
    )  # fmt: skip
    notes: list[Assumed] = []
    if pod is not None and (cpus is not None or memory is not None):
        raise GputopoError("--pod says CPUs and memory itself", "--cpus" if cpus is not None else "--memory")
    asked = Asked(count, amount(cpus, "--cpus", "16"), amount(memory, "--memory", "64Gi"), pod, resource)
    beside = shared.sources_of(sources, timeout, quiet)
    config = config_text(kubelet_config, beside)
    settings = settings_of(config, k8s_version, given, asked, notes)
    nodes = (
        shared.nodes_of(beside.node, as_format=as_format, assume=assumed, merge=merge, each=each)
        if sources
        else shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    )
    plugins = plugin_configs(plugin_config, beside)
    asks_plugin = is_asked(k8s_version, notes)
    reports = [
        _ask(node, settings, asked, _Free(available, in_use, beside.states), plugins, notes, asks_plugin=asks_plugin)
        for node in nodes
    ]
    _print(reports, notes, form, color, output_file, verbose=verbose, quiet=quiet)
    return max(_exit(one.answer) for one in reports)


class _Report(NamedTuple):
    answer: Answer
    state: State
    largest: int | None
    others: tuple[tuple[str, Answer], ...]


class _Free(NamedTuple):
    """What is free: the options, else what the kubelet's state files hold."""

    available: str | None
    in_use: str | None
    states: tuple[KubeletState, ...]


def _ask(
    node: NodeTopology, settings: Settings, asked: Asked, free: _Free, plugin_configs: Sequence[Named],
    notes: list[Assumed], *, asks_plugin: bool,
) -> _Report:  # fmt: skip
    from gputopo.allocate.device_plugin.config import Refused
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.state import State

    try:
        plugin = DevicePlugin(_plugin_config(plugin_configs, notes))
        units = offered(node, plugin.config)
    except Refused as error:
        raise GputopoError(f"the device plugin does not start: {error}", "--plugin-config", "", 1) from error
    resource = asked.resource or GPU
    if resource not in units:
        hint = f"it offers {', '.join(units)}" if units else ""
        raise GputopoError(f"the plugin does not offer {resource} here", "--resource", hint, 1)
    own = units[resource]
    units_free, _ = shared.free_units(node, own, free.available, free.in_use, None)
    state = holding(State(node, own, units_free), resource, free.states, given=free.available or free.in_use)
    pod = pod_of(asked, resource)
    request = request_of(pod, resource)
    mechanism = KubeletNode(settings, plugin if asks_plugin else None, pod)
    answer = mechanism.answer(state, request)
    if answer.admitted is False and answer.reason is None:
        return _Report(answer, state, None, ())  # it does not start
    largest = mechanism.largest(state, request) if answer.admitted is False else None
    return _Report(answer, state, largest, tuple(_others(mechanism, state, request)))


def _others(mechanism: KubeletNode, state: State, request: Request) -> Iterator[tuple[str, Answer]]:
    """The same under the other policies."""
    from gputopo.allocate.kubelet.merge import POLICIES

    for policy in POLICIES:
        if policy != mechanism.settings.policy:
            settings = mechanism.settings._replace(policy=policy)
            yield policy, mechanism._replace(settings=settings).answer(state, request)


def _plugin_config(found: Sequence[Named], notes: list[Assumed]) -> PluginConfig:
    from gputopo.allocate.device_plugin.config import PluginConfig

    if not found:
        return PluginConfig()
    from gputopo.commands.allocate_plugin_config import choose, read_configs

    read = [one for config in found for one in read_configs(config.text, config.name)]
    chosen = choose(read, None, None, None)
    notes += [Assumed(text, "") for text in chosen.notes]
    return chosen.config


def _print(
    reports: Sequence[_Report], notes: Sequence[Assumed], form: str, color: str, file: str | None, *,
    verbose: bool, quiet: bool,
) -> None:  # fmt: skip
    said = tuple(dict.fromkeys(notes))
    if form == "text":
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.allocate_kubelet import blocks

        style = Style(*output.place(color, file))
        texts = [
            render(blocks(one.answer, one.state, one.largest, said, one.others, verbose=verbose, quiet=quiet), style)
            for one in reports
        ]
        output.write("\n".join(texts), file)
        return
    from gputopo.documents.allocation import encode_list

    documents = [_document(one, said) for one in reports]
    document = documents[0] if len(documents) == 1 else encode_list(documents)
    if form == "json":
        from gputopo.reports.json import render as write
    else:
        from gputopo.reports.yaml import render as write
    output.write(write(document), file)


def _document(report: _Report, notes: Sequence[Assumed]) -> dict[str, object]:
    from gputopo.allocate.best import Judge, best
    from gputopo.documents.allocation import After, encode
    from gputopo.topology.node import NoteAssumption

    answer, state = report.answer, report.state
    own = tuple(NoteAssumption(("node",), str(one), None) for one in notes)
    left = {tuple(unit for unit in state.free if unit not in one.devices) for one in answer.outcomes}
    free = next(iter(left)) if len(left) == 1 and answer.outcomes_complete else None
    after = After(free if answer.outcomes else state.free, report.largest)
    found = best(state.node, state.free, answer.request.size) if answer.unit == "gpu" else None
    better = None
    if found is not None and answer.outcomes:
        judge = Judge(state.node)
        verdicts = [judge.better(found.sets[0], one.gpus) for one in answer.outcomes]
        better = None if None in verdicts else all(verdicts)
    return encode(
        answer, node=state.node.name, best=found, better=better, after=after,
        assumptions=(*own, *answer.assumptions),
    )  # fmt: skip


def _exit(answer: Answer) -> int:
    """1: refused, or the kubelet would not start. 3: the evidence leaves it open; what chance decides is an answer."""
    if answer.admitted is False:
        return 1
    return 3 if answer.admitted is None and not answer.outcomes else 0
