"""What is gathered while a log is read: of each process, and of each communicator that a thread sets up.

A thread prints about one communicator at a time: what it says before `Init COMPLETE` (and, since 2.18, after
`Init START`) belongs to it. What comes later has no communicator's name, since 2.22 from a thread of its own; such
parts stay nameless here and find their communicator in communicators.py.
"""

from __future__ import annotations

from gputopo.nccl_records import (
    AffinityRecord,
    CountsRecord,
    DeniedPairRecord,
    EnvRecord,
    FabricStateRecord,
    GdrDistanceRecord,
    NetDeviceRecord,
    SearchRecord,
    Speaker,
    SystemRecord,
    WarningRecord,
)
from gputopo.parsers.nccl_log.peers import PeerSeen
from gputopo.parsers.nccl_log.system import SystemPrint
from gputopo.records import Gap
from gputopo.terms.pci_address import PciAddress

_ALIKE = 8  # searched graphs that one is compared with
PARTS_MOST = 20_000  # a rank of a communicator each; more are counted, not kept
ROOM = 48_000_000  # characters and what objects weigh, of all that is kept
WEIGHT = 400  # of one record, in bytes


class Room:
    """How much may still be kept of a log, whoever prints it; what does not fit is counted."""

    __slots__ = ("left", "refused")

    def __init__(self, left: int = ROOM) -> None:
        self.left = left
        self.refused = 0

    def take(self, characters: int = 0) -> bool:
        """Room for one more record."""
        if self.left < characters:
            self.refused += 1
            return False
        self.left -= characters + WEIGHT
        return True


class Process:
    """What does not depend on a communicator. Dicts are keyed by what is said, so that repetition costs nothing."""

    __slots__ = (
        "affinity", "cuda_driver", "denied", "devices", "env", "fabric", "first", "gdr", "libibverbs",
        "missing", "network", "relaxed", "room", "shm_bytes", "speaker", "versions", "warnings", "xml_limit",
    )  # fmt: skip

    def __init__(self, speaker: Speaker, line: int, room: Room) -> None:
        self.speaker = speaker
        self.first = line
        self.room = room
        self.versions: dict[str, str | None] = {}  # with the CUDA version each was built with
        self.cuda_driver: str | None = None
        self.network: str | None = None
        self.relaxed: bool | None = None
        self.libibverbs = False
        self.xml_limit: int | None = None
        self.shm_bytes: int | None = None
        self.env: dict[tuple[str, str], EnvRecord] = {}
        self.warnings: dict[tuple[str, str], WarningRecord] = {}
        self.devices: dict[tuple[str, int | None], NetDeviceRecord] = {}
        self.gdr: dict[tuple[object, ...], GdrDistanceRecord] = {}
        self.denied: dict[tuple[object, ...], DeniedPairRecord] = {}
        self.affinity: dict[tuple[int, str], AffinityRecord] = {}
        self.fabric: dict[tuple[object, ...], FabricStateRecord] = {}
        self.missing: dict[str, int] = {}

    def absorb(self, other: Process) -> None:
        """What the same process, or prints without a process, say in another file of the log."""
        for name in self.__slots__:
            mine, its = getattr(self, name), getattr(other, name)
            if isinstance(mine, dict):
                for key, value in its.items():
                    mine.setdefault(key, value)
            elif mine is None or mine is False:
                setattr(self, name, its)


class Part:
    """What one thread prints of one communicator."""

    __slots__ = (
        "all_cuda_p2p", "all_direct_p2p", "comm_id", "complete", "counts", "cuda_device", "cut", "cut_line",
        "fallbacks", "first", "local_rank", "local_ranks", "mnnvl", "neighbours", "nodes", "nranks", "nvls",
        "nvls_channels",
        "nvml_index", "pci", "peers", "pointer", "process", "rank", "rings", "searches", "speaker", "started", "system",
        "trees",
    )  # fmt: skip

    def __init__(self, process: Process, line: int) -> None:
        self.process = process
        self.speaker = process.speaker
        self.first = line
        self.pointer: str | None = None
        self.comm_id: str | None = None
        self.rank: int | None = None
        self.nranks: int | None = None
        self.nodes: int | None = None
        self.local_ranks: int | None = None
        self.local_rank: int | None = None
        self.mnnvl: int | None = None
        self.cuda_device: int | None = None
        self.nvml_index: int | None = None
        self.pci: PciAddress | None = None
        self.started = 0  # line of Init START
        self.complete = 0  # line of Init COMPLETE
        self.peers: dict[str, PeerSeen | None] = {}  # by what stands behind " : "
        self.rings: dict[tuple[int, ...], tuple[int, int]] = {}
        self.neighbours: dict[tuple[int, int], tuple[int, int]] = {}
        self.trees: int | None = None
        self.counts: list[CountsRecord] = []
        self.searches: list[SearchRecord] = []
        self.fallbacks: dict[int, int] = {}
        self.system: SystemRecord | None = None
        self.nvls: bool | None = None
        self.nvls_channels: int | None = None
        self.all_direct_p2p: int | None = None
        self.all_cuda_p2p: int | None = None
        self.cut = 0  # lines that end in their middle
        self.cut_line = 0


class Thread:
    """Who prints now: host, process, thread; `part` is the communicator it sets up."""

    __slots__ = ("log", "part", "process", "search", "system")

    def __init__(self, process: Process, log: Gathered) -> None:
        self.process = process
        self.log = log
        self.part: Part | None = None
        self.system: SystemPrint | None = None  # being printed, of this part
        self.search: SearchRecord | None = None  # whose channels follow, of this part

    def open(self, line: int) -> Part:
        """The part that is being printed, a new one where there is none."""
        if self.part is None:
            self.part = self.log.part(self.process, line)
        return self.part

    def turn(self, part: Part | None) -> None:
        """What follows is of another part: keeps what was being printed."""
        self.end_search()
        self.end_system()
        self.part = part

    def end_search(self) -> None:
        """The graph whose channels were printed is whole; one that is printed again is kept once."""
        search, self.search = self.search, None
        if search is None or self.part is None:
            return
        known = any(one._replace(line=0) == search._replace(line=0) for one in self.part.searches[-_ALIKE:])
        if not known and self.process.room.take(sum(map(len, search.orders)) * WEIGHT):
            self.part.searches.append(search)

    def end_system(self) -> None:
        """A rank prints its node again after every change: the first is the machine. Ranks of a host share theirs."""
        said, self.system = self.system, None
        if said is not None and self.part is not None and self.part.system is None:
            self.part.system = self.log.shared(said.record(self.process.speaker))


class Gathered:
    """All of one log."""

    __slots__ = ("_systems", "left_out", "nowhere", "parts", "processes", "room", "threads")

    def __init__(self, room: Room | None = None) -> None:
        self.room = room or Room()  # of all files of a log together
        self.processes: dict[Speaker, Process] = {}
        self.threads: dict[tuple[str | None, int | None, int | None], Thread] = {}
        self.parts: list[Part] = []
        self.left_out = 0
        self.nowhere: Part | None = None
        self._systems: dict[tuple[object, ...], SystemRecord] = {}

    def thread(self, host: str | None, pid: int | None, tid: int | None, line: int) -> Thread:
        found = self.threads.get((host, pid, tid))
        if found is None:
            if len(self.threads) >= PARTS_MOST:  # ended threads of a long log
                self.end()
            found = self.threads[host, pid, tid] = Thread(self.process(Speaker(host, pid), line), self)
        return found

    def process(self, speaker: Speaker, line: int) -> Process:
        found = self.processes.get(speaker)
        if found is None:
            if len(self.processes) >= PARTS_MOST:
                return Process(speaker, line, self.room)
            found = self.processes[speaker] = Process(speaker, line, self.room)
        return found

    def part(self, process: Process, line: int) -> Part:
        if len(self.parts) >= PARTS_MOST:
            self.left_out += 1
            if self.nowhere is None:
                self.nowhere = Part(process, line)
            return self.nowhere
        made = Part(process, line)
        self.parts.append(made)
        return made

    def shared(self, said: SystemRecord) -> SystemRecord | None:
        """The same as another rank of this host printed, or this one; None where there is no room for it."""
        links = tuple(link._replace(line=0) for link in said.links)
        key = (said.speaker.host, said.max_bw, said.total_bw, said.cpus, links)
        known = self._systems.get(key)
        if known is None and self.room.take((len(links) + len(said.paths)) * WEIGHT):
            known = self._systems[key] = said
        return known

    def end(self) -> None:
        """No thread prints any more, as far as is known."""
        for thread in self.threads.values():
            thread.turn(None)
        self.threads.clear()

    def absorb(self, other: Gathered) -> None:
        """Another file of the same log, read after this one: what it holds is here, too."""
        for speaker, process in other.processes.items():
            known = self.processes.setdefault(speaker, process)
            if known is not process:
                known.absorb(process)
        room = max(0, PARTS_MOST - len(self.parts))
        self.parts += other.parts[:room]
        self.left_out += other.left_out + len(other.parts[room:])

    def gaps(self) -> tuple[Gap, ...]:
        hint = "the part of the log with the job's first communicators"
        found = []
        if self.left_out:
            why = f"{self.left_out:,} times a rank's communicator is left out: more than {PARTS_MOST:,} in one log"
            found.append(Gap((), "communicators", why, hint))
        if self.room.refused:
            why = f"{self.room.refused:,} different lines are left out: more than are kept of one log"
            found.append(Gap((), "communicators", why, hint))
        return tuple(found)
