"""`gputopo allocate hami`: which GPUs HAMi's scheduler would give a container on a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from gputopo.commands import allocate_objects as given
from gputopo.commands import options
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.hami import Hami, Wanted
    from gputopo.topology.node import NodeTopology

PolicyOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--gpu-scheduler-policy", metavar="POLICY",
        help="binpack, spread, topology-aware, numa, mutex, by commas; the pod's annotation comes first. [spread]",
    ),
]  # fmt: skip
NumaBind = Annotated[bool, typer.Option("--numa-bind", help="As the annotation nvidia.com/numa-bind: true.")]
ContainerName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--container", metavar="NAME", help="Of a pod with several containers that ask for GPUs."),
]


def command(
    sources: options.Sources = None,
    count: given.Count = None,
    available: given.Available = None,
    in_use: given.InUse = None,
    pod: given.PodFile = None,
    node: given.NodeFile = None,
    pods: given.PodsFile = None,
    classes: given.Classes = None,
    container: ContainerName = None,
    policy: PolicyOption = None,
    numa_bind: NumaBind = False,
    k8s_version: given.Version = None,
    as_format: options.As = None,
    form: options.Output = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """Which GPUs would HAMi's scheduler give: binpack, spread, numa-bind, topology-aware."""
    from gputopo.allocate.decider import decide
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    _check(policy)
    version = given.version_of(k8s_version)
    seconds = options.checked_timeout(timeout)
    gathered = given.gather(
        sources, assume=options.pairs(assume, "--assume"), timeout=seconds, quiet=quiet, merge=merge,
        as_format=options.checked_format(as_format),
    )  # fmt: skip
    try:
        found = given.objects(gathered, pod, node, pods, classes)
        wanted = _wanted(found.pod, container)
        topology = gathered.node
        if topology is None and not _is_registered(found.node):
            if sources:
                what = "neither a dump nor a Node registered with HAMi in the sources"
                raise GputopoError(what, ", ".join(sources))
            topology = given.live(seconds, quiet, root, driver_root)
        mechanism, topology = _mechanism(topology, found, wanted, policy, numa_bind)
        decision = decide(found.pod, found.node, found.classes, version)
        owner = found.pod.name if found.pod is not None else ""
    except WrongShape as error:
        raise given.shaped(error, pod or node or ", ".join(sources or ())) from None
    number = given.checked_count(count, None if wanted is None else wanted.number)
    lost = {gpu.id for gpu in mechanism.gpus if not gpu.healthy or gpu.used}
    units = tuple(gpu.id for gpu in topology.gpus)
    state = State(topology, units, given.free_units(topology, available, in_use, lost))
    request = Request(number, owner=owner)
    answer = mechanism.answer(state, request)
    given.printed(answer, state, decision, form, output_file, color, verbose, quiet)
    return given.exit_code(answer)


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

    asking = [(one, wanted) for one in containers(pod) if (wanted := of_container(one)) is not None]
    if name is not None:
        asking = [pair for pair in asking if pair[0].name == name]
    if not asking:
        what = f"no container {name} that asks for GPUs" if name is not None else "the pod asks for no GPU"
        raise GputopoError(what, pod.where)
    if len(asking) > 1:
        names = ", ".join(one.name for one, _ in asking)
        raise GputopoError(f"several containers ask for GPUs: {names}", pod.where, f"--container {asking[0][0].name}")
    return asking[0][1]


def _mechanism(
    topology: NodeTopology | None, found: given.Objects, wanted: Wanted | None, policy: str | None, numa_bind: bool
) -> tuple[Hami, NodeTopology]:  # fmt: skip
    from gputopo.allocate.decider.asks import pod_annotations
    from gputopo.allocate.hami import Hami, Pod, Policy
    from gputopo.allocate.hami import from_node as seen
    from gputopo.allocate.hami.pair_scores import of_node
    from gputopo.allocate.hami.request import POLICY, named, numa_bound

    notes = pod_annotations(found.pod) if found.pod is not None else {}
    said = notes.get(POLICY, policy if policy is not None else "spread")
    own = found.node
    if topology is None:
        assert own is not None
        bare = seen.of_object(own, {})
        assert bare is not None
        topology = seen.node_of(own.name or None, bare.gpus)
    names = {gpu.uuid: gpu.id for gpu in topology.gpus if gpu.uuid is not None}
    registered = seen.of_object(own, names) if own is not None else None
    at_hand = registered if registered is not None else seen.of_node(topology)
    asking = Pod(Policy(said, numa_bind or numa_bound(notes)), named(notes, names), at_hand.cordoned)
    return Hami(
        gpus=seen.used_by(at_hand.gpus, found.pods, own.name if own is not None else topology.name, names),
        pod=asking, wanted=wanted, registered=registered is not None, scores=at_hand.scores,
        ranges=of_node(topology) if registered is None else (), assumptions=at_hand.assumptions,
    ), topology  # fmt: skip
