"""What NCCL prints of a job (`NCCL_DEBUG=INFO`): the words between its parser and the rules that judge jobs.

An `NcclJob` is one job of a log. Device numbers stand as printed: which GPU of a node they are is decided in jobs/, by
PCI address. `None` means that the log does not say it; nothing is guessed, repaired or compared here. Bandwidths are
GB/s as printed, `line` is the line of the log that says it first.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.records import Gap
from gputopo.terms.pci_address import PciAddress


class Speaker(NamedTuple):
    """Who prints: `None` where a line has no `host:pid:tid`, or a host that another print is glued to."""

    host: str | None
    pid: int | None


class RankRecord(NamedTuple):
    """One rank of a communicator, from its `comm … rank r nranks n …` lines, else from what stands in brackets."""

    rank: int
    speaker: Speaker
    cuda_device: int | None = None  # in the process's view, after CUDA_VISIBLE_DEVICES
    nvml_index: int | None = None  # in the container's view
    pci: PciAddress | None = None  # busId
    local_rank: int | None = None
    complete: bool = False  # `Init COMPLETE` is in the log
    line: int = 0


class PeerRecord(NamedTuple):
    """One connection, as its `Channel 00/0 : 0[0] -> 1[1] via …` lines print it."""

    sender: int
    receiver: int
    kind: str  # P2P, SHM, NET
    transport: str  # as printed, cut after what names it: P2P/CUMEM/read, SHM/direct/direct, NET/IB/0
    direction: str | None = None  # send, receive: only NET says it
    sender_device: str | None = None  # in brackets, as printed: NcclJob.bracket tells what it is
    receiver_device: str | None = None
    gdr: bool | None = None  # GDRDMA behind a NET; None: another kind
    proxy: int | None = None  # rank whose NIC is used (PXN)
    prints: int = 1  # lines alike, one a channel
    whole: bool = True  # False: the name of the transport is cut
    host: str | None = None  # that prints it
    line: int = 0


class RingRecord(NamedTuple):
    """`Channel 00/24 : 0 1 2 …`: the ranks in the order of a ring; `channels` is the number behind the slash."""

    ranks: tuple[int, ...]
    channels: int
    line: int


class CountsRecord(NamedTuple):
    """`24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer`."""

    coll: int
    collnet: int | None
    nvls: int | None  # None: a version before 2.17
    p2p: int
    p2p_per_peer: int | None
    line: int


class SearchRecord(NamedTuple):
    """`Pattern 4, crossNic 0, nChannels 1, bw 15.0/15.0, type SYS/PIX, sameChannels 1`: what the search found."""

    pattern: int  # 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6 CollNet direct
    cross_nic: int
    channels: int
    bw_intra: float  # GB/s of one channel inside the node
    bw_inter: float
    type_intra: str  # LOC, NVL … SYS
    type_inter: str
    same_channels: int
    orders: tuple[tuple[str, ...], ...] = ()  # of each channel as printed: GPU/0-26000 …
    line: int = 0


class SystemLink(NamedTuple):
    """A line of the printed system: `+ PCI[0.2] - PCI/0-65000 (104c823200000000)` below `parent`."""

    parent: str  # CPU/0-0
    kind: str  # PCI, NVL, SYS, NET, C2C, LOC
    gbps: float
    child: str  # PCI/0-65000
    detail: str  # in parentheses: switch id, rank, "coll/guid/port/bw" of a NET
    line: int


class SystemCpu(NamedTuple):
    node: str  # CPU/0-0
    arch: int  # 1 x86, 2 POWER, 3 ARM
    vendor: int  # 1 Intel, 2 AMD, 3 Zhaoxin
    model: int  # -1: not known


class PathRecord(NamedTuple):
    """`GPU/0-41000 (3/16.0/SYS)` behind `GPU/0-26000 :`."""

    a: str
    b: str
    hops: int
    gbps: float
    type: str


class SystemRecord(NamedTuple):
    """`=== System : maxBw 16.0 totalBw 24.0 ===` and what stands below it: the node as NCCL sees it."""

    max_bw: float | None  # None: the first line is cut
    total_bw: float | None
    cpus: tuple[SystemCpu, ...]
    links: tuple[SystemLink, ...]
    paths: tuple[PathRecord, ...]
    whole: bool  # its last line is there
    speaker: Speaker
    line: int


class CommunicatorRecord(NamedTuple):
    """One communicator. `nranks` is None for lines that name none (the log is cut, or says it elsewhere)."""

    id: str | None = None  # commId, since 2.18
    nranks: int | None = None
    nodes: int | None = None  # nNodes, since 2.21
    local_ranks: int | None = None  # of the first rank that says it
    mnnvl: int | None = None
    ranks: tuple[RankRecord, ...] = ()  # those that are in the log, by rank
    peers: tuple[PeerRecord, ...] = ()  # in order of appearance
    rings: tuple[RingRecord, ...] = ()
    trees: int | None = None  # highest [i] of `Trees` + 1
    neighbours: tuple[tuple[int, int, int, int], ...] = ()  # (channel, previous, rank, next) of `Ring 00 : 0 -> 1 -> 2`
    counts: tuple[CountsRecord, ...] = ()  # that differ
    searches: tuple[SearchRecord, ...] = ()
    fallbacks: tuple[tuple[int, int], ...] = ()  # (pattern, line) of `Could not find a path for pattern`
    systems: tuple[SystemRecord, ...] = ()  # one a host
    nvls: bool | None = None  # NVLS multicast support
    nvls_channels: int | None = None  # NVLS_NCHANNELS
    all_direct_p2p: int | None = None
    all_cuda_p2p: int | None = None
    assumed: str = ""  # why lines without a communicator's name were put here
    line: int = 0


class EnvRecord(NamedTuple):
    """`NCCL_P2P_LEVEL set by environment to SYS`, or an assignment on a command line (`by` is "shell")."""

    name: str
    value: str
    speaker: Speaker
    by: str = "nccl"
    line: int = 0


class WarningRecord(NamedTuple):
    """A `NCCL WARN`. `kind`: shm, nvlink-p2p, xml-limit, internal, nvls, imex, missing-device, net, cuda or ""."""

    text: str
    code: str  # graph/paths.cc:316
    kind: str
    fatal: bool  # NCCL gives up after it
    speaker: Speaker
    line: int = 0


class NetDeviceRecord(NamedTuple):
    """`NET/IB : Using [0]mlx5_0:1/RoCE`, `GPU Direct RDMA Disabled for HCA 0 'mlx5_0'`, `Filled mlx5_0 in topo …`."""

    name: str
    net: str  # IB, Socket, Libfabric
    number: int | None = None
    port: int | None = None
    link_layer: str | None = None  # RoCE, IB
    gdr: bool | None = None  # capability: module or dma-buf
    pci: PciAddress | None = None
    line: int = 0


class GdrDistanceRecord(NamedTuple):
    """`GPU Direct RDMA Disabled for GPU ca000 / HCA 0 (distance 7 > 4)`: numbers are path types of that version."""

    gpu: str  # busId, since 2.18.3 a rank, since 2.29 GPU/0-…
    hca: str
    distance: int
    limit: int
    enabled: bool
    speaker: Speaker
    line: int = 0


class DeniedPairRecord(NamedTuple):
    """Two GPUs without P2P. `numbers`: cudaDev (`P2P not supported`) or nvmlDev (`P2P is disabled between`)."""

    a: int
    b: int
    numbers: str
    nvlink: bool  # NCCL sees NVLinks between them
    speaker: Speaker
    line: int = 0


class AffinityRecord(NamedTuple):
    """`Setting affinity for GPU 0 to ffffffff,00000000`."""

    gpu: int  # NVML index
    mask: str
    speaker: Speaker
    line: int = 0


class FabricStateRecord(NamedTuple):
    """`MNNVL busId 0x51000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x80`; state 3 is completed."""

    pci: PciAddress | None
    uuid: str
    clique_id: int
    state: int
    health_mask: str
    speaker: Speaker
    line: int = 0


class NcclJob(NamedTuple):
    """One job of a log: processes that share communicators. Where the log names none, all that fits together."""

    communicators: tuple[CommunicatorRecord, ...] = ()
    speakers: tuple[Speaker, ...] = ()
    version: str | None = None  # 2.28.9
    cuda: str | None = None  # what NCCL was built with
    cuda_driver: str | None = None  # the driver's CUDA version
    bracket: str | None = None  # what rank[…] holds: busId, nvmlDev; None: cannot be told
    env: tuple[EnvRecord, ...] = ()
    warnings: tuple[WarningRecord, ...] = ()
    network: str | None = None  # of `Using network`
    net_devices: tuple[NetDeviceRecord, ...] = ()
    relaxed_ordering: bool | None = None  # [RO] behind NET/IB : Using
    gdr_distances: tuple[GdrDistanceRecord, ...] = ()
    denied: tuple[DeniedPairRecord, ...] = ()
    affinity: tuple[AffinityRecord, ...] = ()
    fabric: tuple[FabricStateRecord, ...] = ()
    missing_devices: tuple[str, ...] = ()  # of a topology file: `Could not find real path of …`
    xml_node_limit: int | None = None
    shm_needed_bytes: int | None = None
    libibverbs_missing: bool = False
    whole: bool = True  # False: a gap says what is cut
    gaps: tuple[Gap, ...] = ()
    line: int = 1
