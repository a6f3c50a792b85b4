"""An answer of the kubelet's podresources socket as protobuf: what it is, and what it says.

    >>> pod = b"\\x0a\\x01a\\x12\\x02ml\\x1a\\x06\\x0a\\x04main"
    >>> answer = b"\\x0a" + bytes((len(pod),)) + pod
    >>> sniff_bytes(answer), kind_of(answer), sniff_bytes(b"\\nGPU0 GPU1\\n"), sniff_bytes(answer[:-1])
    (True, 'List', False, False)
    >>> [said] = parse_bytes(answer)
    >>> [(one.namespace, one.pod, one.container) for one in said.containers], said.containers_complete
    ([('ml', 'a', 'main')], False)

No message names itself, so it is known by its shape: the bytes decode as the whole message with no field that it
does not have, and what should be names are names. A resource of a device plugin has a slash in its name, a pod has
none: that tells GetAllocatableResources from List. Get is a List of one pod: an answer of one pod that nobody
asked for by us may leave others out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld, PodRecord
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap
from gputopo.terms.cpu_set import HIGHEST_CPU, CpuSet
from gputopo.terms.device_id import space_of
from gputopo.terms.protobuf_bytes import is_message

if TYPE_CHECKING:
    from gputopo.protos.podresources_pb2 import (
        AllocatableResourcesResponse,
        ContainerDevices,
        ContainerMemory,
        ContainerResources,
        GetPodResourcesResponse,
        ListPodResourcesResponse,
        PodResources,
        TopologyInfo,
    )

    Message = ListPodResourcesResponse | GetPodResourcesResponse | AllocatableResourcesResponse

FORMAT = "podresources"
ENTRIES_MOST = 100_000
LIST, ALLOCATABLE, GET = "List", "GetAllocatableResources", "Get"


def sniff_bytes(data: bytes) -> bool:
    """Whether bytes are an answer; protobuf is loaded only for those that begin and end as one."""
    return kind_of(data) is not None


def kind_of(data: bytes) -> str | None:
    """Which call the bytes answer; a List of no pod has no bytes."""
    if not is_message(data):
        return None
    for call in (LIST, ALLOCATABLE):
        try:
            message = _decoded(data, call)
        except Unreadable:
            continue
        if _is_known(message) and _has_names(message):
            return call
    return None


def parse_bytes(data: bytes, call: str | None = None, *, of_v1: bool | None = None) -> tuple[HoldingRecords, ...]:
    """What the bytes say. `call` and `of_v1` (or v1alpha1) are known to who asked. Raises Unreadable."""
    known = call or kind_of(data)
    if known is None:
        raise Unreadable("not an answer of the kubelet's podresources socket")
    said = records(_decoded(data, known), known, of_v1)
    one_pod = call is None and known == LIST and len(said.pods or ()) < 2
    return (said._replace(containers_complete=False, pods_complete=False) if one_pod else said,)


def empty(call: str) -> Message:
    from gputopo.protos import podresources_pb2

    if call == LIST:
        return podresources_pb2.ListPodResourcesResponse()
    if call == GET:
        return podresources_pb2.GetPodResourcesResponse()
    return podresources_pb2.AllocatableResourcesResponse()


def _decoded(data: bytes, call: str) -> Message:
    from google.protobuf.message import DecodeError

    message = empty(call)
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError):
        raise Unreadable(f"the kubelet's answer to {call} cannot be decoded; was it cut?") from None
    return message


def _is_known(message: Message) -> bool:
    """Whether no field in it is unknown: writing it again without those takes away nothing."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message.ByteSize() == size


def _has_names(message: Message) -> bool:
    """Whether it has names, and all are: a few numbers alone may be anything."""
    from gputopo.protos.podresources_pb2 import AllocatableResourcesResponse, ListPodResourcesResponse

    if isinstance(message, ListPodResourcesResponse):
        containers = [one.name for pod in message.pod_resources for one in pod.containers]
        names = [name for pod in message.pod_resources for name in (pod.name, pod.namespace)]
        return bool(names) and all(_is_name(name) and "/" not in name for name in (*names, *containers))
    assert isinstance(message, AllocatableResourcesResponse)
    resources = [device.resource_name for device in message.devices]
    kinds = [block.memory_type for block in message.memory]
    named = all(_is_name(name) and "/" in name for name in resources) and all(map(_is_name, kinds))
    return named and bool(resources or kinds)


def _is_name(text: str) -> bool:
    """Of a pod, container, namespace or resource: RFC 1123 and a slash, with capitals in resources."""
    return bool(text) and text.isascii() and not set(text) - _NAME


_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/")


def records(message: Message, call: str, of_v1: bool | None) -> HoldingRecords:
    """Raises Unreadable: a CPU or a NUMA node of a number that there is not."""
    from gputopo.protos.podresources_pb2 import AllocatableResourcesResponse, GetPodResourcesResponse

    if isinstance(message, AllocatableResourcesResponse):
        _at_most(len(message.devices) + sum(len(one.device_ids) for one in message.devices))
        return HoldingRecords(
            FORMAT,
            allocatable=_devices(message.devices),
            allocatable_cpus=_cpus(message.cpu_ids),
            allocatable_memory=_memory(message.memory),
        )
    pods = [message.pod_resources] if isinstance(message, GetPodResourcesResponse) else message.pod_resources
    _at_most(len(pods) + sum(len(pod.containers) for pod in pods))
    containers = [one for pod in pods for one in pod.containers]
    _at_most(sum(len(one.devices) + len(one.dynamic_resources) for one in containers))
    told = any(map(_has_what_v1alpha1_lacks, containers)) if of_v1 is None else of_v1
    return HoldingRecords(
        FORMAT,
        containers=tuple(_container(pod, one, told) for pod in pods for one in pod.containers),
        containers_complete=call == LIST,
        pods=tuple(_pod(pod) for pod in pods),
        pods_complete=call == LIST,
        gaps=() if told or not containers else (_MAYBE_ALPHA,),
    )


def _at_most(entries: int) -> None:
    """A node has some hundred pods; two bytes say that there is one more. Raises Unreadable."""
    if entries > ENTRIES_MOST:
        raise Unreadable(f"the kubelet's answer has more than {ENTRIES_MOST:,} entries")


_MAYBE_ALPHA = Gap((), "cpus", "the answer has no NUMA nodes, CPUs or memory: it may be of v1alpha1, which has none")


def _has_what_v1alpha1_lacks(container: ContainerResources) -> bool:
    numa = any(device.HasField("topology") for device in container.devices)
    return bool(numa or container.cpu_ids or container.memory or container.dynamic_resources)


def _pod(pod: PodResources) -> PodRecord:
    cpus, memory = _cpus(pod.cpu_ids), _memory(pod.memory)
    return PodRecord(pod.namespace or None, pod.name or None, None, cpus=cpus or None, memory=memory or None)


def _container(pod: PodResources, container: ContainerResources, of_v1: bool) -> ContainerHolding:
    """CPUs and memory of the pod as a whole are of no container, which may then run in the pod's own pool."""
    claims = tuple(dict.fromkeys((claim.claim_name, "") for claim in container.dynamic_resources))
    return ContainerHolding(
        namespace=pod.namespace or None,
        pod=pod.name or None,
        container=container.name or None,
        devices=(*_devices(container.devices), *_of_claims(container)),
        claims=claims if of_v1 else None,
        cpus=_cpus(container.cpu_ids) if container.cpu_ids or (of_v1 and not pod.cpu_ids) else None,
        memory=_memory(container.memory) if container.memory or (of_v1 and not pod.memory) else None,
    )


def _devices(entries: Iterable[ContainerDevices]) -> tuple[DeviceHeld, ...]:
    """The kubelet writes an entry for each device and each of its NUMA nodes, in random order."""
    found: dict[tuple[str, str], set[int] | None] = {}
    for entry in entries:
        nodes = _nodes(entry.topology) if entry.HasField("topology") else None
        for id in entry.device_ids:
            before = found.setdefault((entry.resource_name, id), None if nodes is None else set(nodes))
            if nodes is not None and before is None:
                found[entry.resource_name, id] = set(nodes)
            elif nodes is not None and before is not None:
                before.update(nodes)
    return tuple(
        DeviceHeld(resource, id, space_of(id), None if numa is None else tuple(sorted(numa)))
        for (resource, id), numa in found.items()
    )


def _of_claims(container: ContainerResources) -> tuple[DeviceHeld, ...]:
    """Driver, pool and device name a device. Its CDI names are added up over the devices of a driver until 1.37
    (kubernetes pkg/kubelet/cm/container_manager_linux.go, GetDynamicResources), so they stand for the claim."""
    given: dict[DeviceHeld, None] = {}
    named: dict[DeviceHeld, None] = {}
    for claim in container.dynamic_resources:
        resource = f"claim:{claim.claim_name}"
        for one in claim.claim_resources:
            if one.device_name:
                id = f"{one.driver_name}/{one.pool_name}/{one.device_name}"
                given[DeviceHeld(resource, id, "dra", share=one.share_id)] = None
            named.update((DeviceHeld(resource, cdi.name, "cdi", by="cdi"), None) for cdi in one.cdi_devices if cdi.name)
    return (*given, *named)


def _nodes(topology: TopologyInfo) -> tuple[int, ...] | None:
    """-1 is the kernel's word for no NUMA node, which some plugins hand on."""
    nodes = [node.ID for node in topology.nodes]
    if any(node > HIGHEST_CPU for node in nodes):
        raise Unreadable("the kubelet's answer has a NUMA node that is none")
    known = tuple(sorted({node for node in nodes if node >= 0}))
    return known if known or not nodes else None


def _cpus(numbers: Iterable[int]) -> CpuSet:
    """They come in no order."""
    found = set(numbers)
    if any(not 0 <= number <= HIGHEST_CPU for number in found):
        raise Unreadable("the kubelet's answer has a CPU that is none")
    return CpuSet.of(found)


def _memory(blocks: Iterable[ContainerMemory]) -> tuple[MemoryHeld, ...]:
    return tuple(MemoryHeld(block.memory_type, _nodes(block.topology) or (), block.size) for block in blocks)
