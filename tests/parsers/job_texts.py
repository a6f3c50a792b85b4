"""NCCL's log of one job as each version prints it, for tests: the print formats are those of its source at the tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

BUSES = ("1a000", "1b000", "3d000", "3e000", "86000", "87000", "af000", "b0000")


class Job(NamedTuple):
    """A job of `nranks` ranks on one host, a process a rank, in a ring over P2P (or what `via` says)."""

    version: str = "2.27.3"
    host: str = "node-a"
    nranks: int = 4
    first_pid: int = 100
    first_gpu: int = 0
    comm_id: str = "0x1f"
    via: str = ""

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")))

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines())

    def lines(self) -> list[str]:
        """Ranks print at a time, as they do."""
        prints = [list(self._rank(rank)) for rank in range(self.nranks)]
        return [said[n] for n in range(max(map(len, prints))) for said in prints if n < len(said)]

    def _rank(self, rank: int) -> Iterator[str]:
        pid, dev = self.first_pid + rank, rank
        head = f"{self.host}:{pid}:{pid + 50} [{dev}] NCCL INFO "
        gpu = self.first_gpu + rank
        bus, after = BUSES[gpu], (rank + 1) % self.nranks
        other = BUSES[self.first_gpu + after]
        new = self.number >= (2, 18)
        call = "ncclCommInitRank " if self.number >= (2, 21) else ""
        comm = f"comm 0x{self.first_pid:x}{rank:03x} rank {rank} nranks {self.nranks} cudaDev {dev}"
        comm = call + comm + (f" nvmlDev {gpu}" if new or self.number < (2, 5) else "")
        comm += f" busId {bus}" if self.number >= (2, 5) else ""
        comm += f" commId {self.comm_id}" if new else ""
        if rank == 0:
            yield f"NCCL version {self.version}+cuda12.4"
        if new:
            yield f"{head}{'[Rank 0] ' if self.number >= (2, 30) else ''}{comm} - Init START"
        if self.number >= (2, 21):
            place = f"nNodes 1 localRanks {self.nranks} localRank {rank} MNNVL 0"
            yield f"{head}comm 0x{self.first_pid:x}{rank:03x} rank {rank} nRanks {self.nranks} {place}"
        order = " ".join(map(str, range(self.nranks)))
        if rank == 0:
            yield f"{head}Channel 00/02 :    {order}" if self.number < (2, 18) else f"{head}Channel 00/02 : {order}"
        yield f"{head}Trees [0] 1/-1/-1->{rank}->-1 [1] 1/-1/-1->{rank}->-1"
        for channel in range(2):
            yield f"{head}{self._peer(channel, rank, bus, gpu, after, other, self.first_gpu + after)}"
        yield f"{head}Connected all rings"
        if self.number >= (2, 20, 3):
            yield f"{head}2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer"
        elif self.number >= (2, 17):
            yield f"{head}2 coll channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer"
        elif self.number >= (2, 7):
            yield f"{head}2 coll channels, 2 p2p channels, 2 p2p channels per peer"
        yield f"{head}{comm} - Init COMPLETE"

    def _peer(self, channel: int, rank: int, bus: str, gpu: int, after: int, other: str, other_gpu: int) -> str:
        if (2, 5) <= self.number < (2, 18, 3):
            ends = f"{rank}[{bus}] -> {after}[{other}]"
        else:
            ends = f"{rank}[{gpu}] -> {after}[{other_gpu}]"
        if self.number < (2, 8):
            return f"Ring {channel:02} : {ends} via {self.via or 'P2P/IPC'}"
        if self.number < (2, 18):
            return f"Channel {channel:02} : {ends} via {self.via or 'P2P/IPC/read'}"
        via = self.via or "P2P/CUMEM/read"
        return f"Channel {channel:02}{'' if via.startswith('SHM') else '/0'} : {ends} via {via}"
