"""`gputopo allocate koordinator`: which GPUs and NICs koord-scheduler would give a pod on a node."""

from __future__ import annotations

from collections.abc import Mapping
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
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
    pod: shared.PodFile = None,
    node: shared.NodeFile = None,
    pods: shared.PodsFile = None,
    device: DeviceFile = None,
    classes: shared.Classes = None,
    partition_policy: PartitionPolicy = None,
    model: Model = None,
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
    """Which GPUs (and NICs) would koord-scheduler give: partition tables, topology, joint allocation."""
    if partition_policy not in (None, "Honor", "Prefer"):
        raise GputopoError(f"--gpu-partition-policy takes Honor or Prefer, not {partition_policy}")
    if count is not None or not (pod or sources):
        shared.checked_count(count)
    listed = _read_devices(device)
    how = How(as_format, assume, merge, each, root, driver_root, timeout, quiet)
    found = read(
        sources, Files(pod, node, pods, classes, k8s_version), how, counted=count is not None,
        speaks=lambda beside, objects: bool(listed or objects.devices),
    )  # fmt: skip
    question = _Question(count, available, in_use, partition_policy, model)
    try:
        found = found._replace(objects=found.objects._replace(devices=listed or found.objects.devices))
        reports = [_ask(one, found, question) for one in found.nodes or (None,)]
    except WrongShape as error:
        raise given.shaped(error, device or found.where) from None
    return printed(reports, Place(form, output_file, color, verbose, quiet))


class _Question(NamedTuple):
    size: int | None
    available: str | None
    in_use: str | None
    policy: str | None
    model: str | None


def _ask(topology: NodeTopology | None, found: Reading, question: _Question) -> Answered:
    from gputopo.allocate.request import Request

    node = found.objects.node(None if topology is None else topology.name)
    own = _device(found.objects, node, topology)
    demand = _demand(found.objects.pod)
    mechanism, topology = _mechanism(topology, own, node, found.objects, demand, question)
    number = shared.checked_count(question.size, None if demand is None or demand.gpus is None else demand.gpus.number)
    owner = found.objects.pod.name if found.objects.pod is not None else ""
    others = {gpu.id for gpu in topology.gpus} - set(mechanism.gpus.values())
    state = state_of(topology, question.available, question.in_use, _lost(mechanism) | others)
    request = Request(number, owner=owner)
    return ask(mechanism, lambda size: mechanism._replace(demand=_of_size(demand, size)), state, request, found)


def _of_size(demand: Demand | None, size: int) -> Demand | None:
    if demand is None or demand.gpus is None:
        return demand
    return demand._replace(gpus=demand.gpus._replace(number=size))


def _read_devices(path: str | None) -> tuple[KubeObject, ...]:
    if path is None:
        return ()
    known = tuple(one for one in given.read_file(path, "--device") if one.kind == "Device")
    if not known:
        raise GputopoError("--device: no Device object in it", path)
    return known


def _device(
    objects: given.Objects, node: KubeObject | None, topology: NodeTopology | None
) -> KubeObject | None:  # fmt: skip
    """The Device object: by the node's name, or the only one."""
    from gputopo.allocate.koordinator.from_objects import named

    known = objects.devices
    name = node.name if node is not None else topology.name if topology is not None else None
    if name is not None and len(known) > 1:
        known = tuple(one for one in known if one.name == name)
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
    topology: NodeTopology | None, own: KubeObject | None, node: KubeObject | None, objects: given.Objects,
    demand: Demand | None, question: _Question,
) -> tuple[Koordinator, NodeTopology]:  # fmt: skip
    from gputopo.allocate.koordinator import Koordinator, table_for
    from gputopo.allocate.koordinator import from_node as seen
    from gputopo.allocate.koordinator.as_node import names_on, node_of
    from gputopo.allocate.koordinator.from_objects import devices_of, honors, named, table_of, used_by

    labels = _labels(node, question.model)
    table, where, honor = table_for(
        table_of(own) if own is not None else None, honors(own.labels) if own is not None else False,
        labels, honors(labels), named(own) if own is not None else "",
    )  # fmt: skip
    honor = honor if question.policy is None else question.policy == "Honor"
    base = Koordinator((), {}, table=table, table_from=where, honor=honor, demand=demand)
    if own is None:
        assert topology is not None
        way = seen.devices_of(topology, with_nics=demand is not None and demand.nics is not None)
        return base._replace(
            ways=tuple(used_by(one, objects.pods, topology.name) for one in way.ways), gpus=way.gpus, nics=way.nics,
            assumptions=way.assumptions, complete=way.complete,
        ), topology  # fmt: skip
    devices: Devices = used_by(devices_of(own), objects.pods, own.name or None)
    apart = topology is not None and not is_joined(topology, names_on(topology, devices)[0].values())
    if topology is None or apart:
        topology = node_of(own.name or None, devices)
    gpus, nics = names_on(topology, devices)
    notes = (left_aside(named(own)),) if apart else ()
    return base._replace(ways=(devices,), gpus=gpus, nics=nics, assumptions=notes), topology


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
