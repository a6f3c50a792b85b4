"""`gputopo allocate hami`: which GPUs HAMi's scheduler would give a container on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_place import Place
from gputopo.commands.allocate_reading import Files, How, Reading, read
from gputopo.commands.allocate_scheduler import Answered, ask, is_joined, left_aside, printed, state_of
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.hami import Hami, Wanted
    from gputopo.topology.node import NodeTopology, NoteAssumption

PolicyOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--gpu-scheduler-policy", metavar="POLICY",
        help="binpack, spread, topology-aware, numa, mutex, by commas; the pod's annotation comes first. [spread]",
    ),
]  # fmt: skip
NumaBind = Annotated[bool, typer.Option("--numa-bind", help="As the annotation nvidia.com/numa-bind: true.")]


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    pod: shared.PodFile = None,
    node: shared.NodeFile = None,
    pods: shared.PodsFile = None,
    classes: shared.Classes = None,
    container: shared.ContainerName = None,
    policy: PolicyOption = None,
    numa_bind: NumaBind = False,
    k8s_version: shared.K8sVersion = None,
    as_format: options.As = None,
    form: options.ReportOutput = "text",
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
    """Which GPUs would HAMi's scheduler give: binpack, spread, numa-bind, topology-aware."""
    _check(policy)
    if count is not None or not (pod or sources):
        shared.checked_count(count)
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    found = read(
        sources, Files(pod, node, pods, classes, k8s_version), how, counted=count is not None,
        speaks=lambda beside, objects: any(map(_is_registered, objects.nodes)),
    )  # fmt: skip
    question = _Question(count, available, in_use, container, policy, numa_bind)
    try:
        reports = [_ask(one, found, question) for one in found.nodes or (None,)]
    except WrongShape as error:
        raise given.shaped(error, found.where) from None
    return printed(reports, Place(form, output_file, color, verbose, quiet))


class _Question(NamedTuple):
    size: int | None
    available: str | None
    in_use: str | None
    container: str | None
    policy: str | None
    numa_bind: bool


def _ask(topology: NodeTopology | None, found: Reading, question: _Question) -> Answered:
    from gputopo.allocate.request import Request

    wanted = _wanted(found.objects.pod, question.container)
    own = found.objects.node(None if topology is None else topology.name)
    mechanism, topology = _mechanism(topology, own, found.objects, wanted, question)
    number = shared.checked_count(question.size, None if wanted is None else wanted.number)
    lost = {gpu.id for gpu in mechanism.gpus if not gpu.healthy or gpu.used}
    lost |= {gpu.id for gpu in topology.gpus} - {gpu.id for gpu in mechanism.gpus}
    state = state_of(topology, question.available, question.in_use, lost)
    owner = found.objects.pod.name if found.objects.pod is not None else ""

    def of_size(size: int) -> Hami:
        return mechanism._replace(wanted=None if wanted is None else wanted._replace(number=size))

    return ask(mechanism, of_size, state, Request(number, owner=owner), found)


def _check(policy: str | None) -> None:
    """HAMi takes a word that it does not know for spread; on our command line it is a typo."""
    from gputopo.allocate.hami.order import POLICIES

    for word in policy.split(",") if policy is not None else ():
        if word.strip() not in POLICIES:
            known = f"one of {', '.join(POLICIES)}"
            raise GputopoError(f"--gpu-scheduler-policy: no such policy: {word.strip()}", "", known)


def _is_registered(node: KubeObject | None) -> bool:
    from gputopo.allocate.hami.devices import REGISTER

    return node is not None and REGISTER in node.annotations


def _wanted(pod: KubeObject | None, name: str | None) -> Wanted | None:
    """The demand of the container that asks for GPUs."""
    if pod is None:
        return None
    from gputopo.allocate.decider.asks import containers
    from gputopo.allocate.hami.request import of_container

    found = [(one, wanted) for one in containers(pod) if (wanted := of_container(one)) is not None]
    asking = given.one_container([one for one, _ in found], pod, name, "GPUs")
    return next(wanted for one, wanted in found if one is asking)


def _mechanism(
    topology: NodeTopology | None, own: KubeObject | None, found: given.Objects, wanted: Wanted | None,
    question: _Question,
) -> tuple[Hami, NodeTopology]:  # fmt: skip
    from gputopo.allocate.decider.asks import pod_annotations
    from gputopo.allocate.hami import Hami, Pod, Policy
    from gputopo.allocate.hami import from_node as seen
    from gputopo.allocate.hami.pair_scores import of_node
    from gputopo.allocate.hami.request import POLICY, named, numa_bound

    notes = pod_annotations(found.pod) if found.pod is not None else {}
    said = notes.get(POLICY, question.policy if question.policy is not None else "spread")
    if topology is None:
        assert own is not None
        bare = seen.of_object(own, {})
        assert bare is not None
        topology = seen.node_of(own.name or None, bare.gpus)
    names = {gpu.uuid: gpu.id for gpu in topology.gpus if gpu.uuid is not None}
    registered = seen.of_object(own, names) if own is not None else None
    notes_of: tuple[NoteAssumption, ...] = ()
    if own is not None and registered is not None and not is_joined(topology, [gpu.id for gpu in registered.gpus]):
        bare = seen.of_object(own, {})
        assert bare is not None
        topology = seen.node_of(own.name or None, bare.gpus)
        names = {gpu.uuid: gpu.id for gpu in topology.gpus if gpu.uuid is not None}
        registered = seen.of_object(own, names)
        notes_of = (left_aside(f"node {own.name}"),)
    at_hand = registered if registered is not None else seen.of_node(topology)
    asking = Pod(Policy(said, question.numa_bind or numa_bound(notes)), named(notes, names), at_hand.cordoned)
    return Hami(
        gpus=seen.used_by(at_hand.gpus, found.pods, own.name if own is not None else topology.name, names),
        pod=asking, wanted=wanted, registered=registered is not None, scores=at_hand.scores,
        ranges=of_node(topology) if registered is None else (), assumptions=(*at_hand.assumptions, *notes_of),
    ), topology  # fmt: skip
