"""`gputopo allocate koordinator`: which GPUs and NICs koord-scheduler would give a pod on a node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from gputopo.commands import allocate_objects as given
from gputopo.commands import options
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.koordinator import Koordinator
    from gputopo.allocate.koordinator.demand import Demand
    from gputopo.allocate.koordinator.devices import Devices
    from gputopo.topology.node import NodeTopology

DeviceFile = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--device", metavar="FILE", help="The node's Device object of Koordinator; also as SOURCE."),
]
PartitionPolicy = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--gpu-partition-policy", metavar="Honor|Prefer", help="Instead of the label of Device and Node."),
]
Model = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--gpu-model", metavar="MODEL", help="Instead of the Node's label node.koordinator.sh/gpu-model."),
]
_MODEL = "node.koordinator.sh/gpu-model"


def command(
    sources: options.Sources = None,
    count: given.Count = None,
    available: given.Available = None,
    in_use: given.InUse = None,
    pod: given.PodFile = None,
    node: given.NodeFile = None,
    pods: given.PodsFile = None,
    device: DeviceFile = None,
    classes: given.Classes = None,
    partition_policy: PartitionPolicy = None,
    model: Model = None,
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
    """Which GPUs (and NICs) would koord-scheduler give: partition tables, topology, joint allocation."""
    from gputopo.allocate.decider import decide
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    if partition_policy not in (None, "Honor", "Prefer"):
        raise GputopoError(f"--gpu-partition-policy takes Honor or Prefer, not {partition_policy}")
    version = given.version_of(k8s_version)
    seconds = options.checked_timeout(timeout)
    gathered = given.gather(
        sources, assume=options.pairs(assume, "--assume"), timeout=seconds, quiet=quiet, merge=merge,
        as_format=options.checked_format(as_format),
    )  # fmt: skip
    try:
        found = given.objects(gathered, pod, node, pods, classes)
        own = _device(gathered, device, found.node)
        demand = _demand(found.pod)
        topology = gathered.node
        if topology is None and own is None:
            if sources:
                raise GputopoError("no node in the sources", ", ".join(sources), "give a Device object or a dump")
            topology = given.live(seconds, quiet, root, driver_root)
        mechanism, topology = _mechanism(topology, own, found, demand, partition_policy, model)
        decision = decide(found.pod, found.node, found.classes, version, devices=(own,) if own is not None else ())
        owner = found.pod.name if found.pod is not None else ""
    except WrongShape as error:
        raise given.shaped(error, device or pod or node or ", ".join(sources or ())) from None
    number = given.checked_count(count, None if demand is None or demand.gpus is None else demand.gpus.number)
    state = State(topology, tuple(gpu.id for gpu in topology.gpus), given.free_units(
        topology, available, in_use, _lost(mechanism),
    ))  # fmt: skip
    request = Request(number, owner=owner)
    answer = mechanism.answer(state, request)
    given.printed(answer, state, decision, form, output_file, color, verbose, quiet)
    return given.exit_code(answer)


def _device(gathered: given.Gathered, path: str | None, node: KubeObject | None) -> KubeObject | None:
    """The Device object: by option, by the Node's name, or the only one among the sources."""
    from gputopo.allocate.koordinator.from_objects import named

    known = [one for one in gathered.of("Device") if "koordinator" in one.api_group]
    if path is not None:
        known = [one for one in given.read_file(path, "--device") if one.kind == "Device"]
        if not known:
            raise GputopoError("--device: no Device object in it", path)
    if node is not None and len(known) > 1:
        known = [one for one in known if one.name == node.name]
    if len(known) > 1:
        names = ", ".join(named(one) for one in known)
        raise GputopoError(f"several Device objects: {names}", "", f"say which node: --node {known[0].name}")
    return known[0] if known else None


def _demand(pod: KubeObject | None) -> Demand | None:
    if pod is None:
        return None
    from gputopo.allocate.koordinator.demand import of_pod

    demand = of_pod(pod)
    if demand.gpus is None and not demand.invalid:
        raise GputopoError("the pod asks for no GPU", pod.where)
    return demand


def _mechanism(
    topology: NodeTopology | None, own: KubeObject | None, found: given.Objects, demand: Demand | None,
    policy: str | None, model: str | None,
) -> tuple[Koordinator, NodeTopology]:  # fmt: skip
    from gputopo.allocate.koordinator import Koordinator, table_for
    from gputopo.allocate.koordinator import from_node as seen
    from gputopo.allocate.koordinator.as_node import names_on, node_of
    from gputopo.allocate.koordinator.from_objects import devices_of, honors, named, table_of, used_by

    labels = _labels(found.node, model)
    table, where, honor = table_for(
        table_of(own) if own is not None else None, honors(own.labels) if own is not None else False,
        labels, honors(labels), named(own) if own is not None else "",
    )  # fmt: skip
    honor = honor if policy is None else policy == "Honor"
    base = Koordinator((), {}, table=table, table_from=where, honor=honor, demand=demand)
    if own is None:
        assert topology is not None
        way = seen.devices_of(topology, with_nics=demand is not None and demand.nics is not None)
        return base._replace(
            ways=tuple(used_by(one, found.pods, topology.name) for one in way.ways), gpus=way.gpus, nics=way.nics,
            assumptions=way.assumptions, complete=way.complete,
        ), topology  # fmt: skip
    devices: Devices = used_by(devices_of(own), found.pods, own.name or None)
    topology = topology if topology is not None else node_of(own.name or None, devices)
    gpus, nics = names_on(topology, devices)
    return base._replace(ways=(devices,), gpus=gpus, nics=nics), topology


def _labels(node: KubeObject | None, model: str | None) -> Mapping[str, str]:
    labels = dict(node.labels) if node is not None else {}
    return labels | {_MODEL: model} if model is not None else labels


def _lost(mechanism: Koordinator) -> set[str]:
    """GPUs that are unhealthy, or of which a pod holds a part."""
    return {
        mechanism.gpus[gpu.minor]
        for devices in mechanism.ways
        for gpu in devices.of("gpu")
        if not gpu.usable or ("gpu", gpu.minor) in devices.used
    }
