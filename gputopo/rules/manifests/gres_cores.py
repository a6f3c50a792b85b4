"""`Cores` of gres.conf, and what AutoDetect finds, against the sockets of the node beside it.

slurmctld takes the cores of a record only where they are one socket or all of the node (SchedMD/slurm 284c3b9,
src/interfaces/gres.c, _check_core_range_matches_sock). Slurm numbers cores, not hardware threads, socket after socket.
How many threads a core has is in no topology: where it is not plain from the numbering, a fault must be one with any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.rules.manifests.gres_node import NVIDIA, by_file
from gputopo.rules.manifests.gres_records import Fault, Pair, Record, at_value
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import Gpu, NodeTopology, Package

_DRAINS = "slurmctld sets the node invalid and drains it: the cores do not match socket boundaries"
_X86 = ("GenuineIntel", "AuthenticAMD")


class Sockets(NamedTuple):
    packages: tuple[Package, ...]  # as Slurm numbers them
    threads: int  # of a core

    @property
    def each(self) -> int:
        return len(self.packages[0].cpus or ()) // self.threads

    def cores(self, socket: int) -> CpuSet:
        return CpuSet(((1 << self.each) - 1) << socket * self.each)

    @property
    def all(self) -> CpuSet:
        return CpuSet((1 << self.each * len(self.packages)) - 1)

    def whole(self, cores: CpuSet) -> int | None:
        """The socket whose cores these are."""
        return next((at for at in range(len(self.packages)) if self.cores(at) == cores), None)

    def fits(self, cores: CpuSet) -> bool:
        return cores == self.all or self.whole(cores) is not None


def faults(records: Sequence[Record], detectors: Sequence[Pair], node: NodeTopology) -> Iterator[Fault]:
    packages = _packages(node)
    if not packages:
        return
    said = [(record, pair, cores) for record in records if (pair := record.get("cores")) is not None
            if (cores := CpuSet.parse_list(pair.value))]  # fmt: skip
    choices = [Sockets(packages, threads) for threads in _threads(packages)]
    right = [one for one in choices if all(one.fits(cores) for _, _, cores in said)]
    if choices and not right:
        yield from _wrong(said, min(choices, key=lambda one: _outside(one, said)), node)
    for record, pair, cores in said if right else ():
        sockets = {one.whole(cores) for one in right}
        if len(sockets) == 1:
            yield from _far(record, pair, sockets.pop(), packages, node)
    for pair in detectors:
        yield from _detected(pair, packages, node)


def _packages(node: NodeTopology) -> tuple[Package, ...]:
    """Of one size, and all known; else none."""
    found = sorted(node.packages or (), key=lambda package: min(package.cpus or (0,)))
    sizes = {len(package.cpus or ()) for package in found}
    return tuple(found) if len(sizes) == 1 and sizes != {0} else ()


def _threads(packages: tuple[Package, ...]) -> tuple[int, ...]:
    """Threads of a core that may be: two where each socket is a run of CPUs and the same run behind those of all."""
    half = sum(len(package.cpus or ()) for package in packages) // 2
    lower = [CpuSet((package.cpus or CpuSet()).mask & ((1 << half) - 1)) for package in packages]
    twice = all(package.cpus == one | CpuSet(one.mask << half) for package, one in zip(packages, lower))
    if len(packages) > 1 and twice and not any("," in str(one) for one in lower):
        return (2,)
    x86 = all(package.vendor in _X86 for package in packages)
    return tuple(n for n in ((1, 2) if x86 else (1, 2, 4, 8)) if len(packages[0].cpus or ()) % n == 0)


def _outside(sockets: Sockets, said: Sequence[tuple[Record, Pair, CpuSet]]) -> tuple[int, int]:
    return sum(1 for _, _, cores in said if not cores <= sockets.all), sockets.threads


def _wrong(said: Sequence[tuple[Record, Pair, CpuSet]], sockets: Sockets, node: NodeTopology) -> Iterator[Fault]:
    smaller = _smaller([cores for _, _, cores in said], sockets)
    for record, pair, cores in said:
        if not cores <= sockets.all:
            yield _beyond(pair, sockets, node)
        elif not sockets.fits(cores):
            at = next(at for at in range(len(sockets.packages)) if cores & sockets.cores(at))
            message = f"Cores={pair.value} is no whole socket: socket {at} is cores {sockets.cores(at)}{_with(sockets)}"
            whole = f"Cores={sockets.cores(at)}"
            if _is_threads(cores, node):
                because = f"{_DRAINS}; Cores counts cores, these are numbers of hardware threads"
                yield at_value("error", pair, message, because, whole)
            elif smaller:
                because = f"{_DRAINS}, unless slurm.conf makes smaller sockets of it"
                otherwise = f"; or {whole}" if record.undetected else ""  # AutoDetect wants what it finds
                yield at_value("warning", pair, message, because, _parameter(smaller, sockets, node) + otherwise)
            else:
                yield at_value("error", pair, message, _DRAINS, whole)


def _beyond(pair: Pair, sockets: Sockets, node: NodeTopology) -> Fault:
    count = len(sockets.all)
    message = f"Cores={pair.value} is outside of the node: it has cores 0-{count - 1}{_with(sockets)}"
    because = "slurmd: Invalid GRES data; Cores counts cores, not hardware threads"
    return at_value("error", pair, message, because, f"0-{count - 1}, or of one socket 0-{sockets.each - 1}")


def _with(sockets: Sockets) -> str:
    return f" with {sockets.threads} threads a core" if sockets.threads > 1 else ""


def _is_threads(cores: CpuSet, node: NodeTopology) -> bool:
    """Whether these are the CPU numbers of a GPU or NUMA node, first and second threads."""
    known = [gpu.cpus for gpu in node.gpus] + [one.cpus for one in node.numa_nodes or ()]
    return "," in str(cores) and cores in known


def _smaller(all_cores: Sequence[CpuSet], sockets: Sockets) -> int | None:
    """The size of equal parts of a socket that would make every record fit."""
    sizes = {len(cores) for cores in all_cores}
    size = sizes.pop()
    aligned = all(cores.mask == (((1 << size) - 1) << min(cores)) and min(cores) % size == 0 for cores in all_cores)
    return size if not sizes and aligned and size and sockets.each % size == 0 else None


def _parameter(size: int, sockets: Sockets, node: NodeTopology) -> str:
    """What makes these parts sockets."""
    numa = {len(one.cpus or ()) for one in node.numa_nodes or () if one.cpus}
    says = "SlurmdParameters=numa_node_as_socket" if numa == {size * sockets.threads} else ""
    return f"{says or 'SlurmdParameters=l3cache_as_socket or numa_node_as_socket'} in slurm.conf, or NPS1 in the BIOS"


def _far(
    record: Record, pair: Pair, socket: int | None, packages: tuple[Package, ...], node: NodeTopology
) -> Iterator[Fault]:  # fmt: skip
    """Cores of a socket on which the GPU is not."""
    files = by_file(node)
    for gpu in (files[one] for one in record.files or () if one in files):
        if socket is None or gpu.packages is None or len(gpu.packages) != 1:
            continue
        if packages[socket].id not in gpu.packages:
            near = next((at for at, package in enumerate(packages) if package.id in gpu.packages), None)
            message = f"Cores={pair.value} is socket {socket}, {gpu.id} is on socket {near}"
            yield _mismatch(record, pair, message, "jobs get cores that are far from the GPU")
        elif record.by_nvml and _is_part(gpu, packages[socket], node):
            message = f"Cores={pair.value} is all of socket {socket}, AutoDetect finds CPUs {gpu.cpus} for {gpu.id}"
            yield _mismatch(record, pair, message, "")


def _mismatch(record: Record, pair: Pair, message: str, otherwise: str) -> Fault:
    if record.by_nvml:
        because = "slurmd leaves the GPU out where Cores is not what AutoDetect finds, and slurmctld drains the node"
        return at_value("error", pair, message, because, "leave Cores out")
    return at_value("warning", pair, message, otherwise, "Cores of the GPU's own socket")


def _is_part(gpu: Gpu, package: Package, node: NodeTopology) -> bool:
    """Whether the driver names some cores of the socket alone; not where a cpuset may have cut the list."""
    if not gpu.cpus or not gpu.cpus_complete or package.cpus is None or node.view == "container":
        return False
    whole_cores = any(one.cpus == gpu.cpus for one in node.numa_nodes or ()) or len(gpu.cpus) * 8 < len(package.cpus)
    allowed = node.allowed_cpus
    inside = gpu.cpus <= package.cpus and gpu.cpus != package.cpus
    return inside and whole_cores and (allowed is None or package.cpus <= allowed)


def _detected(pair: Pair, packages: tuple[Package, ...], node: NodeTopology) -> Iterator[Fault]:
    """What AutoDetect finds must be whole sockets, too."""
    for gpu in node.gpus:
        at = next((at for at, package in enumerate(packages) if _is_part(gpu, package, node)), None)
        if at is None or gpu.vendor not in NVIDIA:
            continue
        has = f"socket {at} has {packages[at].cpus}"
        message = f"AutoDetect finds CPUs {gpu.cpus} for {gpu.id}, no whole socket: {has}"
        numa = any(one.cpus == gpu.cpus for one in node.numa_nodes or ())
        says = "numa_node_as_socket" if numa else "l3cache_as_socket or numa_node_as_socket"
        remedy = f"SlurmdParameters={says} in slurm.conf, or NPS1 in the BIOS"
        yield at_value("warning", pair, message, f"{_DRAINS}, unless slurm.conf makes smaller sockets of it", remedy)
        return
