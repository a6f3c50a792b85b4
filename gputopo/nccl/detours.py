"""Where NCCL does not take the direct way: P2P refused, a NIC behind C2C, PXN, GPUDirect refused.

Source: src/graph/paths.cc of NVIDIA/nccl v2.30.7 (ncclTopoComputePaths, ncclTopoCheckP2p, ncclTopoCheckGdr) and
topo.cc (ncclTopoGetLocalNet, ncclTopoGetLocalGpu). NVML's P2P status is taken as OK for every pair; a pair of which the
evidence says otherwise is given in `broken`.
"""

from __future__ import annotations

from collections.abc import Collection

from gputopo.nccl.cpus import default_p2p
from gputopo.nccl.file_values import RefusalError
from gputopo.nccl.path_types import PathType
from gputopo.nccl.reach import Reach, joined
from gputopo.nccl.system import Gpu, Net

_CHANNELS = 64


def p2p_level(reach: Reach) -> PathType:
    """The farthest pair that goes by P2P; what goes farther goes through the host's memory (SHM)."""
    if reach.settings.p2p_level is not None:
        return reach.settings.p2p_level
    system = reach.system
    return default_p2p(system.numas[0].cpu, len(system.devices), reach.settings.version)


def refuse_p2p(reach: Reach, broken: Collection[tuple[int, int]] = ()) -> None:
    """`broken`: pairs of GPU vertices, from and to, whose NVML status is not OK."""
    allowed = p2p_level(reach)
    for target in reach.gpus:
        for source in reach.gpus:
            if reach.way(source, target).type > allowed or (source, target) in broken:
                numa = reach.numa_of(target)
                if numa is None:
                    raise RefusalError("could not find CPU close to a GPU")
                reach.through(numa, source, target)


def through_c2c(reach: Reach) -> None:
    """C2C to the CPU and PCIe to a NIC is P2C, where the NIC is the nearest."""
    if reach.settings.version < (2, 27, 3):
        return
    for gpu in reach.gpus:
        numa = reach.numa_of(gpu)
        if numa is None:
            raise RefusalError("could not find CPU close to a GPU")
        for net in reach.nearest(gpu, reach.nets):
            if joined(reach.way(gpu, numa).type, reach.way(net, numa).type) is PathType.P2C:
                for one, other in ((gpu, net), (net, gpu)):
                    path = reach.way(one, other)
                    reach.set(one, other, path._replace(type=min(PathType.P2C, path.type)))


def reroute_nets(reach: Reach) -> None:
    """PXN first, then what may not use GPUDirect."""
    system = reach.system
    owners = {gpu.vertex: gpu for gpu in system.gpus}
    for net in system.nets:
        if reach.table[net.vertex] != net.vertex:
            continue
        for gpu in system.gpus:
            if reach.settings.pxn and reach.settings.version >= (2, 12, 7):
                local = local_gpu(reach, net)
                if local is not None and local != gpu.vertex:
                    _try_pxn(reach, owners[local], gpu, net)
            if reach.way(gpu.vertex, net.vertex).type < PathType.PHB and not takes_gdr(reach, gpu, net, read=False):
                numa = reach.numa_of(gpu.vertex)
                if numa is not None:
                    reach.through(numa, net.vertex, gpu.vertex)
                    reach.through(numa, gpu.vertex, net.vertex)


def _try_pxn(reach: Reach, peer: Gpu, gpu: Gpu, net: Net) -> None:
    """Through a GPU near the NIC, when NVLink leads to it and the way is wider or spares the CPU."""
    farthest = PathType.P2C if reach.settings.version >= (2, 28, 3) else PathType.PXB
    near, own = reach.way(peer.vertex, net.vertex), reach.way(gpu.vertex, net.vertex)
    if (
        near.type <= farthest
        and takes_gdr(reach, peer, net, read=True)
        and reach.way(peer.vertex, gpu.vertex).type <= PathType.NVL
        and (near.gbps > own.gbps or own.type > PathType.PXN)
    ):
        reach.through(peer.vertex, gpu.vertex, net.vertex, is_gpu=True)


def takes_gdr(reach: Reach, gpu: Gpu, net: Net, read: bool) -> bool:
    """Whether NCCL lets the NIC reach the GPU's memory; `read`: the NIC reads, for sending."""
    settings = reach.settings
    if not net.gdr or not gpu.gdr or gpu.part is not None:
        return False
    if read and not _takes_read(reach, gpu):
        return False
    allowed = PathType.P2C if settings.version >= (2, 29, 2) else PathType.PXB
    if settings.gdr_level is not None:
        allowed = settings.gdr_level
    path = reach.way(gpu.vertex, net.vertex)
    if path.type is PathType.PXN:
        path = reach.way(_relay(reach, gpu, net), net.vertex)
    return path.type <= allowed


def _takes_read(reach: Reach, gpu: Gpu) -> bool:
    if reach.settings.gdr_read is not None:
        return reach.settings.gdr_read
    if gpu.sm >= 80 or len(reach.gpus) == 1:
        return True
    return any(reach.way(gpu.vertex, other).type is PathType.NVL for other in reach.gpus if other != gpu.vertex)


def _relay(reach: Reach, gpu: Gpu, net: Net) -> int:
    """The GPU that a PXN way goes through: the first on the first device after this GPU's own."""
    system = reach.system
    targets = [system.links[number].target for number in reach.way(gpu.vertex, net.vertex).links[1:]]
    device = next((vertex for vertex in targets if vertex != system.switch), None)
    return next((other.vertex for other in system.gpus if other.device == device), gpu.vertex)


def local_net(reach: Reach, gpu: Gpu, channel: int) -> int:
    """The NIC NCCL gives a GPU on a channel; GPUs that share NICs begin at different ones."""
    nets = reach.nearest(gpu.vertex, reach.nets)
    if not nets:
        raise RefusalError(f"Could not find any local path from gpu {reach.gpus.index(gpu.vertex)} to net.")
    sharing = max(len(reach.nearest(nets[0], reach.gpus)), 1)
    start = gpu.dev % sharing
    if len(nets) & (len(nets) - 1) == 0:
        start = _mirrored(start, len(nets))
    return nets[(start + channel % -(-len(nets) // sharing)) % len(nets)]


def _mirrored(value: int, power: int) -> int:
    """The bits of a number below a power of two in reverse order."""
    mirrored, bit, mirror = 0, 1, power >> 1
    while bit < power:
        if value & bit:
            mirrored |= mirror
        bit, mirror = bit << 1, mirror >> 1
    return mirrored


def local_gpu(reach: Reach, net: Net) -> int | None:
    """The GPU that owns a NIC: the first to be given it."""
    near = reach.nearest(net.vertex, reach.gpus)
    owners = [gpu for gpu in reach.system.gpus if gpu.vertex in near]
    for channel in range(_CHANNELS if owners else 0):
        for gpu in owners:
            if local_net(reach, gpu, channel) == net.vertex:
                return gpu.vertex
    return None
