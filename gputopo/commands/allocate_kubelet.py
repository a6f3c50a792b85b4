"""`gputopo allocate kubelet [SOURCE]... -c N`: would the kubelet admit this, and with which GPUs, CPUs, memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from gputopo.allocate.assumed import Assumed
from gputopo.commands import allocate_objects as given_objects
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_fleet_options import Fleet, fleet_of
from gputopo.commands.allocate_kubelet_options import GPU, Asked, Given, amount, pod_of
from gputopo.commands.allocate_kubelet_question import Question, prepared
from gputopo.commands.allocate_options import Text
from gputopo.commands.allocate_place import Place, exit_code, is_better, picture_of
from gputopo.commands.allocate_plugin_config import plugin_release
from gputopo.commands.allocate_reading import Files, How, Reading, read
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.aftermath import After
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.best import Best
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.otherwise import Otherwise
    from gputopo.allocate.outcome import Outcome
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State
    from gputopo.topology.node import NodeTopology

Cpus = Annotated[Text, typer.Option("--cpus", metavar="N", help="CPUs of a Guaranteed pod; whole ones: exclusive.")]
Memory = Annotated[Text, typer.Option("--memory", metavar="SIZE", help="Memory of a Guaranteed pod, e.g. 64Gi.")]
Policy = Annotated[Text, typer.Option(metavar="POLICY", help="none, best-effort, restricted or single-numa-node.")]
Scope = Annotated[Text, typer.Option(metavar="SCOPE", help="container or pod.")]
PolicyOptions = Annotated[Text, typer.Option(metavar="KEY=VALUE,...", help="As the kubelet's own.")]
CpuPolicy = Annotated[Text, typer.Option(metavar="POLICY", help="none or static.")]
MemoryPolicy = Annotated[Text, typer.Option(metavar="POLICY", help="None or Static.")]
Reserved = Annotated[Text, typer.Option("--reserved-cpus", metavar="SET", help="CPUs kept for the system, e.g. 0,112.")]
ResourceName = Annotated[Text, typer.Option("--resource", metavar="NAME", help=f"Default {GPU}.")]


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    cpus: Cpus = None,
    memory: Memory = None,
    pod: shared.PodFile = None,
    node: shared.NodeFile = None,
    classes: shared.Classes = None,
    kubelet_config: shared.KubeletConfig = None,
    topology_manager_policy: Policy = None,
    topology_manager_scope: Scope = None,
    topology_manager_policy_options: PolicyOptions = None,
    cpu_manager_policy: CpuPolicy = None,
    cpu_manager_policy_options: PolicyOptions = None,
    memory_manager_policy: MemoryPolicy = None,
    reserved_cpus: Reserved = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    plugin_config: shared.PluginConfigFile = None,
    config_key: shared.ConfigKey = None,
    plugin_version: shared.PluginVersion = None,
    resource: ResourceName = None,
    k8s_version: shared.K8sVersion = None,
    fleet: shared.FleetPaths = None,
    fail_on: shared.FleetFailOn = None,
    as_format: options.As = None,
    form: shared.AnyOutput = "text",
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
    if count is not None or not (pod or sources):
        shared.checked_count(count)
    given = Given(
        topology_manager_policy, topology_manager_scope, topology_manager_policy_options, cpu_manager_policy,
        cpu_manager_policy_options, memory_manager_policy, reserved_cpus,
    )  # fmt: skip
    if pod is not None and (cpus is not None or memory is not None):
        raise GputopoError("--pod says CPUs and memory itself", "--cpus" if cpus is not None else "--memory")
    sizes = amount(cpus, "--cpus", "16"), amount(memory, "--memory", "64Gi")
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    place = Place(form, output_file, color, verbose, quiet)
    alone = (
        ("--available", available), ("--in-use", in_use), ("--node", node), ("--merge", merge), ("--each", each),
        ("--root", root), ("--driver-root", driver_root),
    )  # fmt: skip
    many = fleet_of(fleet, fail_on, place, timeout, as_format, assume, alone)
    files = Files(pod, node, None, classes, k8s_version)
    found = read(sources, files, how, counted=count is not None, speaks=lambda *_: many is not None)
    asking = found.objects.pod if sizes == (None, None) else None
    if asking is None:
        shared.checked_count(count)
    question = Question(
        Asked(count, *sizes, asking), given, resource or GPU, available, in_use, kubelet_config, plugin_config,
        config_key, plugin_release(plugin_version), k8s_version,
    )  # fmt: skip
    try:
        if many is not None:
            return _of_fleet(many, question, found)
        reports = [_ask(one, question, found) for one in found.nodes]
    except WrongShape as error:
        raise given_objects.shaped(error, found.where) from None
    _print(reports, place)
    return max(exit_code(one.answer, by_chance=True) for one in reports)


def _of_fleet(fleet: Fleet, question: Question, found: Reading) -> int:
    from gputopo.commands.allocate_fleet import run
    from gputopo.commands.allocate_fleet_askers import OfKubelet

    pod_of(question.asked, question.resource)  # a pod that cannot be asked is no matter of a node
    decides = found.objects.decision(found.version, None, question.resource)
    return run(fleet, OfKubelet(question), found, question.asked.pod, decides)


class _Report(NamedTuple):
    answer: Answer
    state: State
    decision: Decision
    assumed: tuple[Assumed, ...]
    best: Best | None = None
    after: After | None = None
    others: tuple[Otherwise, ...] = ()


def _ask(node: NodeTopology, question: Question, found: Reading) -> _Report:
    from gputopo.allocate.best import best
    from gputopo.allocate.kubelet.merge import POLICIES
    from gputopo.allocate.kubelet.otherwise import otherwise

    mechanism, plugin, state, request, notes = prepared(node, question, found)
    settings, sharing = mechanism.settings, plugin.config.sharing
    answer = mechanism.answer(state, request)
    decision = found.objects.decision(found.version, node.name, question.resource)
    assumed = tuple(dict.fromkeys((*notes, *map(Assumed.of, answer.assumptions))))
    others = otherwise(mechanism, state, request, [policy for policy in POLICIES if policy != settings.policy])
    report = _Report(answer, state, decision, assumed, others=others)
    if answer.admitted is False and answer.reason is None:
        return report  # it does not start
    return report._replace(
        best=best(node, state.free, request.size) if answer.unit == "gpu" else None,
        after=_after(mechanism, state, request, answer, sharing is not None and sharing.fail_requests_above_one),
    )


def _after(
    mechanism: KubeletNode, state: State, request: Request, answer: Answer, one_at_a_time: bool
) -> After:  # fmt: skip
    """What is left, and the largest pod of this kind that would be admitted next to it."""
    from gputopo.allocate.aftermath import After, aftermath
    from gputopo.allocate.kubelet.mechanism import asking
    from gputopo.allocate.kubelet.otherwise import largest_now

    if answer.admitted is False:
        return After(state.free, largest_now(mechanism, state, request, answer), len(state.free))
    pod = mechanism.pod
    if pod is not None:
        pod = pod._replace(uid=f"{pod.uid}, the next")
    # Which devices one container prefers does not decide whether it is admitted: the plugin need not be asked.
    following = mechanism._replace(pod=pod, plugin=None)

    def step(outcome: Outcome) -> State:
        return mechanism.step(state, request, outcome)

    def admits(free: State, size: int) -> bool | None:
        if one_at_a_time and size > 1:
            return False
        return following.answer(free, request._replace(size=size, owner=f"{request.owner}, the next")).admitted

    after = aftermath(answer, state, step, admits)
    alone = pod is None or len(asking(pod, request.resource)) == 1
    return after if alone else after._replace(largest=None)


def _print(reports: Sequence[_Report], place: Place) -> None:
    if place.shows_blocks:
        from gputopo.reports.views.allocate_kubelet import blocks

        texts = [
            blocks(
                one.answer, one.state, one.decision, best=one.best, after=one.after, assumed=one.assumed,
                others=one.others, verbose=place.verbose, quiet=place.quiet,
            )
            for one in reports
        ]  # fmt: skip
        place.show(
            texts, max(exit_code(one.answer, by_chance=True) for one in reports),
            [picture_of(one.state.node, one.answer, one.best) for one in reports], "gputopo allocate kubelet",
        )  # fmt: skip
    else:
        place.print([_document(one) for one in reports])


def _document(report: _Report) -> dict[str, object]:
    from gputopo.documents.allocation import encode, notes, other_policies

    answer, state = report.answer, report.state
    return encode(
        answer, node=state.node.name, decides=report.decision, best=report.best,
        better=is_better(report.best, answer, state), after=report.after, assumptions=notes(report.assumed),
        more={"otherwise": other_policies(report.others)},
    )  # fmt: skip
