"""What containers of one node hold, joined from all sources. `None` is unknown; ids are those of the node."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.holdings import MemoryHeld, Owner
from gputopo.records import Observation
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.device_id import replica_of
from gputopo.topology.gpu_sets import SetSeen
from gputopo.topology.node import Conflict, NodeTopology, NoteAssumption, NoteUnknown, Source


class Device(NamedTuple):
    """One unit of a resource. `unresolved`: why it is no GPU or NIC of the node."""

    resource: str
    id: str  # as its source writes it
    gpu: str | None = None
    nic: str | None = None
    mig: str | None = None  # UUID of the MIG device
    replica: str | None = None
    numa_nodes: tuple[int, ...] | None = None
    health: str = ""
    unresolved: str = ""
    share: str = ""  # that it is not held whole, by a scheduler's or DRA's word
    key: str = ""  # what it is where it is not resolved: a UUID, driver/pool/device; "": its id

    @property
    def unit(self) -> str:
        """The GPU or NIC, whichever way a source names it; a replica is its GPU."""
        return self.gpu or self.nic or self.key or replica_of(self.id)[0]

    @property
    def is_gpu(self) -> bool:
        return self.gpu is not None or "gpu" in self.resource or self.id.startswith(("GPU-", "MIG-"))


class Placed(NamedTuple):
    """A set of GPUs on the node, NUMA nodes from the kubelet where the node does not say."""

    gpus: tuple[str, ...] | None  # None: no source resolves the ids
    packages: tuple[str, ...] | None
    numa_nodes: tuple[int, ...] | None
    cross_package: bool | None
    cross_numa: bool | None
    seen: SetSeen | None


class Container(NamedTuple):
    """`kind_basis`: what the kind rests on where no pod object says it."""

    namespace: str | None
    pod: str | None
    uid: str | None
    name: str | None
    kind: str | None  # init, sidecar, app
    kind_basis: str
    devices: tuple[Device, ...]
    placed: Placed
    cpus: CpuSet | None  # exclusive; None: none, or not said (`pool`)
    pool: str | None  # exclusive, shared
    cpu_numa_nodes: tuple[int, ...] | None
    cpu_packages: tuple[str, ...] | None
    memory: tuple[MemoryHeld, ...] | None
    pages: tuple[MemoryHeld, ...] | None
    cpus_allowed: CpuSet | None
    mems_allowed: tuple[int, ...] | None
    visible: tuple[str, ...] | None
    uses: tuple[str, ...] | None  # GPUs that its processes have open; None: not looked at
    pids: tuple[int, ...]
    given: bool  # by the kubelet, DRA or a runtime: False for a process that merely uses a GPU
    sources: tuple[str, ...]
    requests: tuple[tuple[str, int], ...] = ()  # extended resources that it asks for
    claims: tuple[str, ...] = ()  # names of its ResourceClaims
    by: str = ""  # what says which devices, where it is no source's own word: env, cdi, open (holdings.DeviceHeld.by)
    opened: tuple[str, ...] = ()  # GPUs whose device files its processes have open, used or not

    @property
    def title(self) -> str:
        """namespace/pod/container, with the pod's UID where its name is not known."""
        pod = f"{self.namespace or '?'}/{self.pod}" if self.pod else f"pod {self.uid}" if self.uid else ""
        own = self.name or (f"process {self.pids[0]}" if self.pids else "container")
        return f"{pod}/{own}" if pod else own


class Pod(NamedTuple):
    """`devices` of init containers are handed on to app containers: each GPU once."""

    namespace: str | None
    name: str | None
    uid: str | None
    containers: tuple[int, ...]  # places in `containers`
    placed: Placed
    owners: tuple[Owner, ...]
    phase: str | None = None
    started: str | None = None
    rejected: tuple[str, str] | None = None
    labels: tuple[tuple[str, str], ...] | None = None
    why: tuple[str, ...] = ()  # of a refusal: the hints that were weighed
    requests: tuple[tuple[str, int], ...] = ()  # of a refusal: what it asked for

    @property
    def title(self) -> str:
        return f"{self.namespace or '?'}/{self.name}" if self.name else f"pod {self.uid}"


class OwnerSet(NamedTuple):
    """The pods of one job on this node, whose GPUs work as one set."""

    kind: str
    namespace: str | None
    name: str
    pods: tuple[int, ...]
    placed: Placed


class Earlier(NamedTuple):
    """What a container held at another time than that of the answer."""

    at: str | None
    source: str
    namespace: str | None
    pod: str | None
    uid: str | None
    container: str | None
    devices: tuple[Device, ...]
    gpus: tuple[str, ...] | None  # None: not all are resolved

    @property
    def title(self) -> str:
        pod = f"{self.namespace or '?'}/{self.pod}" if self.pod else f"pod {self.uid}" if self.uid else ""
        return "/".join(part for part in (pod, self.container) if part) or "container"


class Held(NamedTuple):
    """One node and what is held on it."""

    name: str | None
    node: NodeTopology
    sources: tuple[Source, ...]
    containers: tuple[Container, ...] = ()
    pods: tuple[Pod, ...] = ()
    owners: tuple[OwnerSet, ...] = ()
    held: tuple[str, ...] = ()  # GPUs that a container holds
    free: tuple[str, ...] | None = None  # GPUs, or the device ids where those are not resolved
    policies: dict[str, str] = {}  # noqa: RUF012  (never mutated)
    fake: str = ""
    rejected: tuple[Pod, ...] = ()
    past: bool = False
    at: str | None = None  # when it was so, where one time is said
    earlier: tuple[Earlier, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[NoteUnknown, ...] = ()
    assumptions: tuple[NoteAssumption, ...] = ()
    observations: tuple[Observation, ...] = ()
    capacity: tuple[tuple[str, int], ...] | None = None  # (resource, count) that the kubelet may give away
    whole: Held | None = None  # with all pods, where some were chosen (selection.py)
