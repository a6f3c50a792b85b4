"""`NodeTopology`: what is known of one node, frozen. `None` is unknown; the tables say why.

Field for field the JSON document of CONTRACT §3, in Python's spelling; ids are `GPU0`, `NIC0` or
a device name, `NUMA0`, `PKG0`, a PCI address, `pciDDDD:BB`. NamedTuples, since defining a frozen
dataclass costs ten times as much at start-up (`index` and `count` are tuple's own, so those two
JSON names are `nvml_index`, `number` and `times` here).
"""

# Annotations are evaluated here: as strings, typing compiles each of them at every start.
from typing import NamedTuple, NoReturn

from gputopo.records import FabricRecord as Fabric
from gputopo.records import MigRecord as Mig
from gputopo.records import Pcie
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel

__all__ = ["Bridge", "Conflict", "Fabric", "Gpu", "GpuDirect", "Islands", "Link", "Mig", "Nic", "NodeTopology",
           "NoteAssumption", "NoteUnknown", "NumaNode", "NvSwitch", "Nvme", "Observed", "Package",
           "Pair", "PairLink", "Pcie", "SetBandwidth", "Source", "System", "Value", "pair_id"]  # fmt: skip


def pair_id(a: str, b: str) -> str:
    """The subject that names a pair in `unknown`, `conflicts` and findings: `GPU0-GPU1`."""
    return f"{a}-{b}"


class Source(NamedTuple):
    id: str
    name: str  # as the user gave it
    format: str
    where: str  # place inside it: "" or "line 12"
    whole: bool


class System(NamedTuple):
    product: str | None = None
    kernel: str | None = None
    driver: str | None = None
    cuda: str | None = None


class Package(NamedTuple):
    id: str
    number: int
    cpus: CpuSet | None
    numa_nodes: tuple[int, ...] | None
    vendor: str | None = None
    family: int | None = None
    model: int | None = None
    arch: str | None = None


class NumaNode(NamedTuple):
    id: str
    number: int
    kind: str | None
    cpus: CpuSet | None
    packages: tuple[str, ...] | None
    memory_bytes: int | None = None
    distances: dict[int, int] | None = None


class Bridge(NamedTuple):
    id: str
    parent: str | None
    kind: str | None
    vendor: str | None = None
    device: str | None = None
    numa_nodes: tuple[int, ...] | None = None
    pcie: Pcie | None = None


class NvSwitch(NamedTuple):
    id: str
    pci: str | None


class Link(NamedTuple):
    number: int | None
    state: str | None
    gbps: float | None
    remote: str | None  # GPU id, NVSwitch id or PCI address
    remote_kind: str | None
    times: int = 1


class NvLinks(NamedTuple):
    active: int | None
    total: int | None
    via: str | None  # "direct" | "switch" | "mixed"


class Gpu(NamedTuple):
    id: str
    nvml_index: int | None = None
    uuid: str | None = None
    name: str | None = None
    vendor: str | None = None
    architecture: str | None = None
    compute_capability: str | None = None
    memory_bytes: int | None = None
    pci: str | None = None
    minor: int | None = None
    module_id: int | None = None
    parent: str | None = None
    driver: str | None = None
    numa_nodes: tuple[int, ...] | None = None
    packages: tuple[str, ...] | None = None
    cpus: CpuSet | None = None
    cpus_complete: bool | None = None
    memory_numa_node: int | None = None
    nvlinks: NvLinks | None = None
    links: tuple[Link, ...] = ()
    c2c: dict[str, float] | None = None
    fabric: Fabric | None = None
    pcie: Pcie | None = None
    mig: tuple[Mig, ...] = ()
    nearest_nics: tuple[str, ...] = ()
    nearest_nvme: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


class Nic(NamedTuple):
    id: str
    device: str | None = None
    netdevs: tuple[str, ...] = ()
    port: int | None = None
    pci: str | None = None
    pcie: Pcie | None = None
    members: tuple[str, ...] = ()
    vendor: str | None = None
    parent: str | None = None
    numa_nodes: tuple[int, ...] | None = None
    packages: tuple[str, ...] | None = None
    link_layer: str | None = None
    rate_gbps: float | None = None
    state: str | None = None
    virtual_function_of: str | None = None
    aliases: tuple[str, ...] = ()


class Nvme(NamedTuple):
    id: str
    pci: str | None = None
    pcie: Pcie | None = None
    parent: str | None = None
    numa_nodes: tuple[int, ...] | None = None
    packages: tuple[str, ...] | None = None


class PairLink(NamedTuple):
    kind: str  # "nvlink" | "c2c" | "xgmi"
    times: int | None
    via: str | None  # "direct" | "switch"
    gbps_per_link: float | None = None


class Pair(NamedTuple):
    """An unordered pair over GPUs and NICs; `a` stands before `b` in matrix order."""

    a: str
    b: str
    level: str | None = None  # "NV18", "PIX" … as printed or as it would be
    pcie: PathLevel | None = None
    pcie_candidates: tuple[PathLevel, ...] = ()
    pcie_basis: str | None = None  # "printed" | "tree" | "numa" | "third-device"
    nvlinks: int | None = None
    via_switch: bool | None = None
    links: tuple[PairLink, ...] = ()
    p2p: dict[str, str] | None = None
    cross_package: bool | None = None
    cross_numa: bool | None = None
    bandwidth_gbytes: float | None = None


class FabricIsland(NamedTuple):
    cluster_uuid: str | None
    clique_id: int | None
    gpus: tuple[str, ...]


class Islands(NamedTuple):
    """Groups of GPUs. nvlink, pcie_switch, pcie_root: two or more; numa, package: all that are known."""

    nvlink: tuple[tuple[str, ...], ...] = ()
    fabric: tuple[FabricIsland, ...] = ()
    pcie_switch: tuple[tuple[str, ...], ...] = ()
    pcie_root: tuple[tuple[str, ...], ...] = ()
    numa: tuple[tuple[str, ...], ...] = ()
    package: tuple[tuple[str, ...], ...] = ()


class GpuDirect(NamedTuple):
    """Whether a GPU and a near device can reach each other without the host's memory between them."""

    gpu: str
    device: str  # a NIC or an NVMe device
    kind: str  # "rdma" | "gds"
    verdict: str  # "ready" | "not" | "unknown"
    because: str
    missing: tuple[str, ...] = ()  # what to read; of "unknown" only, and never empty there


class Value(NamedTuple):
    """One witness of a conflict; `value` is its JSON form."""

    value: object
    source: str


class SetBandwidth(NamedTuple):
    """GB/s of a set of GPUs, or of all sets that are like it; bus bandwidth of an all-reduce of large messages."""

    gpus: tuple[str, ...]  # of many, the first
    shape: str  # "sockets 2+1, NVLink islands 2+1"
    times: int
    gbytes: float | None  # what it should reach; `is_bound`: what it cannot exceed, since no search was made
    basis: str
    is_bound: bool
    role: str  # "asked" | "ranked" | "island": what the set would reach inside of the island it leaves
    leaves: tuple[tuple[str, ...], ...] = ()  # NVLink islands with some GPUs of the set, while others are outside
    ceiling_gbytes: float | None = None
    ceiling_basis: str = ""


class Conflict(NamedTuple):
    subjects: tuple[str, ...]
    attribute: str
    used: object
    values: tuple[Value, ...]


class NoteUnknown(NamedTuple):
    subjects: tuple[str, ...]
    attribute: str
    reason: str
    settled_by: str


class NoteAssumption(NamedTuple):
    subjects: tuple[str, ...]
    text: str
    source: str | None


class Observed(NamedTuple):
    """A fact for rules, with its evidence. `subjects` are ids of the node (or labels of lost rows)."""

    kind: str
    subjects: tuple[str, ...]
    text: str
    source: str
    line: int | None


class NodeTopology(NamedTuple):
    name: str | None = None
    taken_at: str | None = None
    boot_id: str | None = None
    view: str | None = None
    virtual: bool | None = None
    system: System | None = None
    allowed_cpus: CpuSet | None = None
    sources: tuple[Source, ...] = ()
    packages: tuple[Package, ...] | None = None
    numa_nodes: tuple[NumaNode, ...] | None = None
    bridges: tuple[Bridge, ...] = ()
    nvswitches: tuple[NvSwitch, ...] | None = None
    gpus: tuple[Gpu, ...] = ()
    nics: tuple[Nic, ...] | None = None
    nvme: tuple[Nvme, ...] | None = None
    pairs: tuple[Pair, ...] = ()
    islands: Islands = Islands()
    gpudirect: tuple[GpuDirect, ...] = ()  # near pairs, where a PCI tree was read
    conflicts: tuple[Conflict, ...] = ()
    unknown: tuple[NoteUnknown, ...] = ()
    assumptions: tuple[NoteAssumption, ...] = ()
    observations: tuple[Observed, ...] = ()
    sets: tuple[SetBandwidth, ...] = ()  # where bandwidth was asked for
    provenance: dict[str, dict[str, str]] = {}  # noqa: RUF012  (never mutated)

    def gpu(self, id: str) -> Gpu:
        """The GPU with this id. Raises KeyError."""
        return next((g for g in self.gpus if g.id == id), None) or _missing(id)

    def pair(self, a: str, b: str) -> Pair:
        """The pair in either order. Raises KeyError."""
        wanted = {a, b}
        return next((p for p in self.pairs if {p.a, p.b} == wanted), None) or _missing(pair_id(a, b))


def _missing(id: str) -> NoReturn:
    raise KeyError(id)
