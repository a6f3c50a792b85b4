"""What NCCL 2.27.3 prints of a job with NCCL_DEBUG=INFO, a process a rank, on all GPUs of one machine.

Lines and their words are those of its source at the tag (init.cc, transport.cc, graph/*.cc); how many channels the
search finds is given by the caller, because nothing here searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tests.machines.machine import Machine

VERSION = "2.27.3+cuda12.4"
COMM_ID = "0x9d2f6c11a0b3e745"


class Job(NamedTuple):
    machine: Machine
    host: str
    channels: int
    via: str  # "SHM/direct/direct", "P2P/CUMEM"
    environment: Mapping[str, str]
    first_pid: int = 4101


def render_nccl_log(job: Job) -> str:
    """Ranks print at a time, as they do."""
    prints = [list(_rank(job, rank)) for rank in range(len(job.machine.gpus))]
    longest = max(map(len, prints))
    return "".join(f"{said[at]}\n" for at in range(longest) for said in prints if at < len(said))


def _rank(job: Job, rank: int) -> Iterator[str]:
    ranks = len(job.machine.gpus)
    gpu, pid, after = job.machine.gpus[rank], job.first_pid + rank, (rank + 1) % ranks
    head = f"{job.host}:{pid}:{pid + 200} [{rank}] NCCL INFO "
    memory = f"0x7f3a{pid:08x}"
    comm = f"comm {memory} rank {rank} nranks {ranks} cudaDev {rank} nvmlDev {gpu.number} busId {bus_id(gpu.pci)}"
    comm = f"ncclCommInitRank {comm} commId {COMM_ID}"
    if rank == 0:
        yield f"{job.host}:{pid}:{pid} [0] NCCL INFO NCCL version {VERSION}"
    yield f"{head}Using network IB"
    yield f"{head}{comm} - Init START"
    for name, value in job.environment.items():
        yield f"{head}{name} set by environment to {value}."
    yield f"{head}comm {memory} rank {rank} nRanks {ranks} nNodes 1 localRanks {ranks} localRank {rank} MNNVL 0"
    if rank == 0:
        for channel in range(job.channels):
            yield f"{head}Channel {channel:02}/{job.channels:02} : {' '.join(map(str, range(ranks)))}"
    down, up = (rank + 1 if rank + 1 < ranks else -1), rank - 1
    yield head + "Trees " + " ".join(f"[{channel}] {down}/-1/-1->{rank}->{up}" for channel in range(job.channels))
    yield f"{head}P2P Chunksize set to 131072"
    slash = "" if job.via.startswith("SHM") else "/0"
    for channel in range(job.channels):
        ends = f"{rank}[{gpu.number}] -> {after}[{job.machine.gpus[after].number}]"
        yield f"{head}Channel {channel:02}{slash} : {ends} via {job.via}"
    yield f"{head}Connected all rings, use ring PXN 0 GDR 1"
    channels = job.channels
    yield (
        f"{head}{channels} coll channels, {channels} collnet channels, 0 nvls channels, "
        f"{channels} p2p channels, {channels} p2p channels per peer"
    )
    yield f"{head}{comm} - Init COMPLETE"


def bus_id(pci: str) -> str:
    """As NCCL prints it: hexadecimal without domain, colons and dot.

    >>> bus_id("0000:0f:00.0")
    'f000'
    """
    domain, bus, rest = pci.split(":")
    slot, function = rest.split(".")
    return f"{int(domain + bus + slot + function, 16):x}"
