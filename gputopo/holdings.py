"""What one source says about who holds what on a node: the words between parsers and pods.

The counterpart of records.py. A parser returns `HoldingRecords`, one for each node that its text speaks of (one of
a node without a name where the text names none). Ids stand as the source writes them; which GPU or NIC of the node
they are, and which containers of two sources are one, is decided in pods/. `None` means that the source says nothing
of it, an empty tuple or CPU set that it says there is none. Nothing is guessed, repaired or compared here.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.records import Gap, Observation
from gputopo.terms.cpu_set import CpuSet

ALL = "all"  # the space of an id that stands for every GPU of the node


class DeviceHeld(NamedTuple):
    """One device (or replica, or MIG device) of one resource.

    space: of the id. `uuid` GPU-… · `mig` MIG-… · `index` NVML index in the source's view · `minor` · `pci` ·
    `dra` driver/pool/device · `cdi` vendor/class=name · `name` of a kernel device · `gres` place in Slurm's list of the
    node's GPUs · `all` every GPU of the node · `other` (a plugin's own).
    A replica is written as its plugin does, `GPU-…::2`, and has the space of the device.
    """

    resource: str  # nvidia.com/gpu, claim:gpus/request, "" where the source names none
    id: str
    space: str
    numa_nodes: tuple[int, ...] | None = None
    health: str = ""  # Healthy, Unhealthy, Unknown: as the source writes it
    by: str = ""  # what of the source says so: env, cdi, mount, annotation, node, process, open, used; "" its own word
    share: str = ""  # of a device that several hold at a time: the id of this share (DRA), how much of it it is


class MemoryHeld(NamedTuple):
    """A block that the memory manager assigned, or pages that a process has."""

    kind: str  # memory, hugepages-1Gi; of a process: anonymous, file, huge
    numa_nodes: tuple[int, ...]
    size: int  # bytes


class ContainerHolding(NamedTuple):
    """What one source says of one container, or of a process in none (then only `pids` names it)."""

    namespace: str | None = None
    pod: str | None = None
    uid: str | None = None  # of the pod; a static pod's is its config hash (32 hex digits)
    container: str | None = None
    container_id: str | None = None  # 64 hex digits
    kind: str | None = None  # init, sidecar, app
    devices: tuple[DeviceHeld, ...] | None = None
    claims: tuple[tuple[str, str], ...] | None = None  # (the pod's name of a claim, or the claim's own; request or "")
    cpus: CpuSet | None = None  # exclusive ones; empty: it runs in the shared pool
    cpus_allowed: CpuSet | None = None  # what the kernel lets it run on
    memory: tuple[MemoryHeld, ...] | None = None  # assigned by the kubelet
    mems_allowed: tuple[int, ...] | None = None  # NUMA nodes the kernel lets it take memory from
    pages: tuple[MemoryHeld, ...] | None = None  # where its memory is
    visible: tuple[str, ...] | None = None  # NVIDIA_VISIBLE_DEVICES: what it was told, never what it was given
    requests: tuple[tuple[str, int], ...] | None = None  # (extended resource, count) that it asks for
    pids: tuple[int, ...] = ()
    running: bool | None = None
    line: int | None = None
    at: str | None = None  # when it was so, where that is not the time of the whole source


class Owner(NamedTuple):
    """Who made a pod: the controller in its ownerReferences, or above it a label that a job operator sets."""

    kind: str
    name: str
    uid: str = ""


class PodRecord(NamedTuple):
    """A pod as an API object or a list of live pods says it."""

    namespace: str | None
    name: str | None
    uid: str | None
    phase: str | None = None
    node: str | None = None
    qos: str | None = None
    owners: tuple[Owner, ...] = ()  # nearest first
    started: str | None = None  # RFC 3339
    admitted: str | None = None  # RFC 3339: status.startTime
    rejected: tuple[str, str] | None = None  # (reason, message) where the kubelet refused it
    config_hash: str | None = None  # of a mirror pod: the uid under which the kubelet knows it
    labels: tuple[tuple[str, str], ...] | None = None
    cpus: CpuSet | None = None  # exclusive ones of the pod as a whole: its containers' own, and a pool they share
    memory: tuple[MemoryHeld, ...] | None = None  # assigned to the pod as a whole
    line: int | None = None
    why: tuple[str, ...] = ()  # of a refusal: the hints that were weighed
    requests: tuple[tuple[str, int], ...] = ()  # of a refusal: (extended resource, count) that it asked for at once


class ClaimRecord(NamedTuple):
    """A ResourceClaim: what it was given, and to whom it is reserved."""

    namespace: str | None
    name: str
    uid: str | None
    devices: tuple[tuple[str, DeviceHeld], ...] | None  # (request, device); None: not allocated
    pods: tuple[str, ...] = ()  # uids


class DeviceName(NamedTuple):
    """What an id of one space is in others: from ResourceSlices, CDI specifications, device lists."""

    id: str
    space: str
    uuid: str | None = None
    pci: str | None = None
    nvml_index: int | None = None
    minor: int | None = None
    name: str | None = None  # of a kernel device
    dra: str | None = None  # driver/pool/device
    numa_nodes: tuple[int, ...] | None = None
    part_of: str | None = None  # of a MIG device: the UUID of its GPU


class HoldingRecords(NamedTuple):
    """All that one source says of who holds what on one node."""

    format: str
    node: str = ""  # its name, where the source says it
    line: int = 1
    at: str | None = None  # RFC 3339, without the year where a log has none: when it was so; None: not said
    past: bool = False  # a log or metric of what was, not what is
    fake: str = ""  # the system that fakes this node: fake-gpu-operator, KWOK
    containers: tuple[ContainerHolding, ...] = ()
    containers_complete: bool = False  # every container that holds devices is in it
    pods: tuple[PodRecord, ...] | None = None
    pods_complete: bool = False  # every live pod of the node is in `pods`
    claims: tuple[ClaimRecord, ...] = ()
    names: tuple[DeviceName, ...] = ()
    allocatable: tuple[DeviceHeld, ...] | None = None  # healthy devices, held ones included
    allocatable_cpus: CpuSet | None = None  # that the kubelet may give away, given ones included
    allocatable_memory: tuple[MemoryHeld, ...] | None = None  # the same, a block for each NUMA node and kind
    capacity: tuple[tuple[str, int], ...] | None = None  # (resource, count)
    shared_cpus: CpuSet | None = None
    policies: tuple[tuple[str, str], ...] = ()  # ("cpu" | "memory" | "topology" | "topologyScope", name)
    gaps: tuple[Gap, ...] = ()
    observations: tuple[Observation, ...] = ()
