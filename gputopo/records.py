"""What one source says about one node: the words between parsers and topology.

A parser returns a tuple of `NodeRecords`, one for each node it found in its text or tree. A
device is called by a *label* of that source (`GPU0`, `mlx5_0`, `0000:0f:00.0`), used by every
other table of the same `NodeRecords`; which devices of two sources are the same is decided in
topology/, by *keys*. Fields are a value, `Unknown` or `None` (terms/unknown.py). Records hold
what the source says, in its own grain; nothing is guessed, repaired or compared here.
"""

# Annotations are evaluated here: as strings, typing compiles each of them at every start.
from typing import NamedTuple

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said


class Key(NamedTuple):
    """A name by which a device can be recognised in another source.

    space: `uuid` · `pci` (str(PciAddress)) · `card` (PciAddress.card) · `index` (NVML index of
    the view) · `minor` · `rank` · `name` (kernel device name, e.g. mlx5_0, ib0). Keys of one
    space join only keys of that space.
    """

    space: str
    value: str


class Gap(NamedTuple):
    """Something the source does not tell. `attribute` is the JSON field's name (CONTRACT §3)."""

    subjects: tuple[str, ...]
    attribute: str
    reason: str
    settled_by: str = ""
    line: int | None = None


class Observation(NamedTuple):
    """A fact for rules, without a verdict. `kind` is a kebab-case word, `text` the evidence."""

    kind: str
    subjects: tuple[str, ...]
    text: str = ""
    line: int | None = None


class Assumption(NamedTuple):
    """Something the reader had to suppose; printed with the answer."""

    subjects: tuple[str, ...]
    text: str


class Pcie(NamedTuple):
    """A link: generation 1–7 and lanes, now and at most. `None` = not said."""

    generation: int | None = None
    width: int | None = None
    max_generation: int | None = None
    max_width: int | None = None


class SystemRecord(NamedTuple):
    name: Said[str] = None  # node name
    boot_id: Said[str] = None
    taken_at: Said[str] = None
    product: Said[str] = None
    kernel: Said[str] = None
    driver: Said[str] = None
    cuda: Said[str] = None
    view: Said[str] = None  # "host" | "container"
    virtual: Said[bool] = None
    allowed_cpus: Said[CpuSet] = None  # what the reading process may use


class PackageRecord(NamedTuple):
    number: int  # physical_package_id: opaque, not consecutive
    cpus: Said[CpuSet] = None
    numa_nodes: Said[tuple[int, ...]] = None
    vendor: Said[str] = None
    family: Said[int] = None
    model: Said[int] = None
    arch: Said[str] = None


class NumaNodeRecord(NamedTuple):
    number: int
    kind: Said[str] = None  # "cpu" | "gpu-memory" | "memory"
    cpus: Said[CpuSet] = None  # empty = a node without CPUs
    packages: Said[tuple[int, ...]] = None  # package numbers
    memory_bytes: Said[int] = None
    distances: Said[dict[int, int]] = None  # by node number


class BridgeRecord(NamedTuple):
    """A PCI bridge or switch port above a listed device.

    label: PCI address (`0000:0a:00.0`), `pciDDDD:BB` for a host bridge, or the source's own text
    for a made-up switch (`ffff:ff:01.0` in vendors' NCCL files).
    """

    label: str
    parent: Said[str] = None
    kind: Said[str] = None  # "hostBridge" | "bridge" | "switch"
    vendor: Said[str] = None  # "0x10b5"
    device: Said[str] = None
    numa_nodes: Said[tuple[int, ...]] = None
    pcie: Said[Pcie] = None


class LinkRecord(NamedTuple):
    """One NVLink of a GPU, or `times` alike links of which the source gives only the number."""

    number: int | None  # link number on its GPU
    state: str | None  # "active" | "inactive" | "sleep" | "disabled"
    gbps: float | None = None  # GB/s, one direction
    remote: PciAddress | None = None
    remote_kind: str | None = None  # "gpu" | "switch" | "npu" | "cpu"
    remote_link: int | None = None
    times: int = 1  # how many such links


class FabricRecord(NamedTuple):
    state: str | None = None
    status: str | None = None
    cluster_uuid: str | None = None
    clique_id: int | None = None
    health: str | None = None


class MigRecord(NamedTuple):
    uuid: str | None = None
    profile: str | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    number: int | None = None  # MIG device index


class GpuRecord(NamedTuple):
    label: str
    keys: tuple[Key, ...] = ()
    line: int | None = None
    nvml_index: Said[int] = None  # NVML index in the source's view
    uuid: Said[str] = None
    name: Said[str] = None
    vendor: Said[str] = None  # "nvidia" | "amd" | "0x1bcf" where unnamed
    architecture: Said[str] = None
    compute_capability: Said[str] = None  # "9.0"
    memory_bytes: Said[int] = None
    pci: Said[PciAddress] = None
    minor: Said[int] = None
    module_id: Said[int] = None
    driver: Said[str] = None  # kernel driver bound to it
    numa_nodes: Said[tuple[int, ...]] = None
    cpus: Said[CpuSet] = None
    cpus_complete: Said[bool] = None  # False = known to be cut, None beside cpus = may be cut
    memory_numa_node: Said[int] = None
    nvlinks_active: Said[int] = None
    nvlinks_total: Said[int] = None
    links: Said[tuple[LinkRecord, ...]] = None
    c2c: Said[dict[str, float]] = None  # {"count": 10, "gbpsPerLink": 44.7}
    fabric: Said[FabricRecord] = None
    pcie: Said[Pcie] = None
    mig: Said[tuple[MigRecord, ...]] = None
    chain: Said[tuple[str, ...]] = None  # labels of the bridges above, root first


class NicRecord(NamedTuple):
    label: str
    keys: tuple[Key, ...] = ()
    line: int | None = None
    device: Said[str] = None  # RDMA device, e.g. mlx5_0
    netdevs: Said[tuple[str, ...]] = None
    port: Said[int] = None
    pci: Said[PciAddress] = None
    members: Said[tuple[PciAddress, ...]] = None  # functions of a bond
    vendor: Said[str] = None
    numa_nodes: Said[tuple[int, ...]] = None
    link_layer: Said[str] = None  # "InfiniBand" | "Ethernet"
    rate_gbps: Said[float] = None  # Gbit/s
    state: Said[str] = None  # "up" | "down"
    virtual_function_of: Said[PciAddress] = None
    pcie: Said[Pcie] = None
    chain: Said[tuple[str, ...]] = None


class NvmeRecord(NamedTuple):
    label: str
    keys: tuple[Key, ...] = ()
    line: int | None = None
    pci: Said[PciAddress] = None
    numa_nodes: Said[tuple[int, ...]] = None
    pcie: Said[Pcie] = None
    chain: Said[tuple[str, ...]] = None


class NvSwitchRecord(NamedTuple):
    label: str
    keys: tuple[Key, ...] = ()
    pci: Said[PciAddress] = None


class Row(NamedTuple):
    """One printed row: `cells[column label] = token`. Tokens are as printed: X, NV18, PIX, Unknown."""

    label: str
    cells: dict[str, str]
    line: int | None
    complete: bool = True


class MatrixRecord(NamedTuple):
    """A square table of letters between GPUs and NICs, as printed (both halves)."""

    command: str | None  # "m" (NVLink hides PCIe) | "mp" (PCIe only) | None = text does not say
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    old_letters: bool = False  # SOC generation: its PHB covers what is NODE today


class PairRecord(NamedTuple):
    """What a source says of two devices beside letters. Order (a, b) = from a to b."""

    a: str
    b: str
    level: Said[PathLevel] = None  # NVML's common ancestor
    nvlinks: Said[int] = None
    p2p: Said[dict[str, str]] = None  # {"read": "OK", ...}; kinds: read write nvlink atomics prop unstated
    line: int | None = None


class NcclElement(NamedTuple):
    """An element of a topology file that NCCL reads, with its strings as they stand and in the file's order.

    Only for what NCCL itself makes of the file (nccl/): it tries links in this order and compares these strings. The
    root is a `system`; a file of several hosts is one `system` a host.
    """

    tag: str
    attributes: dict[str, str]
    children: tuple["NcclElement", ...] = ()
    line: int | None = None

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def named(self, tag: str) -> "tuple[NcclElement, ...]":
        return tuple(child for child in self.children if child.tag == tag)


class NodeRecords(NamedTuple):
    """All that one source says of one node."""

    format: str
    command: str = ""  # tells two outputs of one format apart: "topo -m", "topo -mp"
    line: int = 1  # first line of this node's part of the text
    whole: bool = True  # False: the text was cut
    grain: str | None = None  # of `chain`s: "sysfs" (an element a bridge) | "nccl" (an element a switch)
    system: SystemRecord = SystemRecord()
    packages: tuple[PackageRecord, ...] | None = None  # None: says nothing; (): says there is none
    numa_nodes: tuple[NumaNodeRecord, ...] | None = None
    bridges: tuple[BridgeRecord, ...] = ()
    nvswitches: tuple[NvSwitchRecord, ...] | None = None
    gpus: tuple[GpuRecord, ...] | None = None
    gpus_complete: bool = False  # the source lists every GPU of the node
    nics: tuple[NicRecord, ...] | None = None
    nics_complete: bool = False
    nvme: tuple[NvmeRecord, ...] | None = None
    matrix: MatrixRecord | None = None
    pairs: tuple[PairRecord, ...] = ()
    gaps: tuple[Gap, ...] = ()
    observations: tuple[Observation, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    nccl: NcclElement | None = None  # of a topology file of NCCL
