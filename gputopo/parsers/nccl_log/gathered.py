"""What is gathered while a log is read: of each process, and of each communicator that a thread sets up.

A thread prints about one communicator at a time: what it says before `Init COMPLETE` (and, since 2.18, after
`Init START`) belongs to it. What comes later has no communicator's name, since 2.22 from a thread of its own; such
parts stay nameless here and find their communicator in communicators.py.
"""

from __future__ import annotations

from gputopo.job_records import (
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

PARTS_MOST = 20_000  # a rank of a communicator each; more are counted, not kept
SAID_MOST = 2_000  # lines of one kind that one process prints, all different


class Process:
    """What does not depend on a communicator. Dicts are keyed by what is said, so that repetition costs nothing."""

    __slots__ = (
        "affinity", "cuda", "cuda_driver", "denied", "devices", "env", "fabric", "first", "gdr", "libibverbs",
        "missing", "network", "relaxed", "shm_bytes", "speaker", "version", "warnings", "xml_limit",
    )  # fmt: skip

    def __init__(self, speaker: Speaker, line: int) -> None:
        self.speaker = speaker
        self.first = line
        self.version: str | None = None
        self.cuda: str | None = None
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


class Part:
    """What one thread prints of one communicator."""

    __slots__ = (
        "all_cuda_p2p", "all_direct_p2p", "comm_id", "complete", "counts", "cuda_device", "cut", "cut_line", "fallbacks",
        "first", "local_rank", "local_ranks", "mnnvl", "neighbours", "nodes", "nranks", "nvls", "nvls_channels",
        "nvml_index", "pci", "peers", "pointer", "process", "rank", "rings", "searches", "speaker", "started", "systems",
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
        self.systems: list[SystemRecord] = []
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
        self.system: SystemPrint | None = None  # being printed
        self.search: SearchRecord | None = None  # whose channels follow

    def open(self, line: int) -> Part:
        """The part that is being printed, a new one where there is none."""
        if self.part is None:
            self.part = self.log.part(self.process, line)
        return self.part


class Gathered:
    """All of one log."""

    __slots__ = ("left_out", "nowhere", "parts", "processes", "threads")

    def __init__(self) -> None:
        self.processes: dict[Speaker, Process] = {}
        self.threads: dict[tuple[str | None, int | None, int | None], Thread] = {}
        self.parts: list[Part] = []
        self.left_out = 0
        self.nowhere: Part | None = None

    def thread(self, host: str | None, pid: int | None, tid: int | None, line: int) -> Thread:
        found = self.threads.get((host, pid, tid))
        if found is None:
            if len(self.threads) >= PARTS_MOST:  # ended threads of a long log
                self.threads.clear()
            found = self.threads[host, pid, tid] = Thread(self.process(Speaker(host, pid), line), self)
        return found

    def process(self, speaker: Speaker, line: int) -> Process:
        found = self.processes.get(speaker)
        if found is None:
            if len(self.processes) >= PARTS_MOST:
                return Process(speaker, line)
            found = self.processes[speaker] = Process(speaker, line)
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

    def gaps(self) -> tuple[Gap, ...]:
        if not self.left_out:
            return ()
        why = f"{self.left_out:,} communicators of ranks are left out: more than {PARTS_MOST:,} in one log"
        return (Gap((), "communicators", why, "the part of the log with the job's first communicators"),)
