"""What the rules over jobs share: the sets that work as one, pairs and their links, what a better set would be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import combinations

from gputopo.allocate.best import Judge, best, islands
from gputopo.jobs.model import Hop, Job
from gputopo.nccl_records import EnvRecord, Speaker
from gputopo.pods.model import Held
from gputopo.records import NcclElement
from gputopo.rules.finding import Evidence
from gputopo.rules.jobs.rates import Rates
from gputopo.rules.settings import NO_SETTINGS
from gputopo.terms.path_level import PathLevel
from gputopo.topology.gpu_sets import SetSeen, Sight
from gputopo.topology.node import Gpu, Pair

NEAR = (PathLevel.PIX, PathLevel.PXB)


class Team(tuple[str, ...]):
    """GPUs that work as one, by id, with the words for them."""

    title: str

    def __new__(cls, title: str, gpus: Sequence[str]) -> Team:
        made = super().__new__(cls, gpus)
        made.title = title
        return made


class Diagnosis:
    """One job, with the questions that several rules ask answered once. `held`: who else is on the node."""

    def __init__(
        self, job: Job, rates: Rates | None = None, held: Held | None = None, file: NcclElement | None = None
    ) -> None:  # fmt: skip
        """`file`: NCCL's own topology file of the node, where it is the source."""
        self.job = job
        self.node = job.node
        self.held = held
        self.file = file
        self.order: tuple[str, ...] | None = None  # of the GPUs, where another gives better groups (order.py)
        self.settings = NO_SETTINGS  # thresholds of a site
        self.rates = rates or Rates(job.measured)
        self.sight = Sight(job.node)
        self._judge = Judge(job.node)

    @cached_property
    def teams(self) -> tuple[Team, ...]:
        """Each tensor-parallel group; without groups the whole set."""
        if self.job.groups:
            return tuple(Team(f"TP group {one.number}", one.gpus) for one in self.job.groups)
        return (Team(self.title, self.job.gpus),) if self.job.gpus else ()

    @property
    def title(self) -> str:
        return self.job.pod or "the job's set"

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Of the whole set, those that the evidence has."""
        return tuple(pair for pair in self.sight.pairs(self.job.gpus) if pair is not None)

    @cached_property
    def seen(self) -> SetSeen:
        return self.sight.see(self.job.gpus)

    def pair(self, a: str, b: str) -> Pair | None:
        [found] = self.sight.pairs((a, b))
        return found

    def gpu(self, id: str) -> Gpu | None:
        return self.sight.gpus.get(id)

    def gpu_of_device(self, number: int, speaker: Speaker) -> str | None:
        """The GPU that a process calls so: NVML's index, which in a container is the container's own.

        By the process's ranks where these are placed by bus id; else the node's number.
        """
        group = self.job.communicator
        by_bus = {one.rank: one.gpu for one in self.job.ranks if one.basis == "busId"}
        if group is None or not by_bus:
            return next((gpu.id for gpu in self.node.gpus if gpu.nvml_index == number), None)
        alike = [one for one in group.ranks if one.speaker.host == speaker.host and one.nvml_index == number]
        own = [one for one in alike if one.speaker.pid == speaker.pid] or alike
        gpus = {by_bus.get(one.rank) for one in own}
        return gpus.pop() if len(gpus) == 1 else None

    def all_nvlink(self, gpus: Sequence[str]) -> bool | None:
        """Whether every pair of these has NVLinks."""
        pairs = self.sight.pairs(gpus)
        if any(pair is not None and pair.nvlinks == 0 for pair in pairs):
            return False
        return None if any(pair is None or pair.nvlinks is None for pair in pairs) else True

    def broken_islands(self, gpus: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        return islands(self.node, gpus)[1]

    def better(self, gpus: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The best sets of this size on an empty node, where they are certainly better."""
        found = best(self.node, [gpu.id for gpu in self.node.gpus], len(gpus)) if len(gpus) > 1 else None
        return tuple(one for one in found.sets if self._judge.better(one, gpus)) if found is not None else ()

    def hops(self, kind: str) -> tuple[Hop, ...]:
        return tuple(hop for hop in self.job.hops if hop.kind == kind)

    def env(self, *names: str) -> tuple[EnvRecord, ...]:
        """Settings of the job's environment, as its log or its launcher's lines print them."""
        said = [*(self.job.nccl.env if self.job.nccl else ()), *(self.job.framework.env if self.job.framework else ())]
        return tuple(one for one in said if one.name in names)

    def version(self) -> tuple[int, ...] | None:
        """NCCL's: (2, 28, 9)."""
        text = self.job.nccl.version if self.job.nccl else None
        parts = (text or "").split(".")
        return tuple(map(int, parts)) if text and all(part.isdigit() for part in parts) else None

    def line(self, line: int | None, text: str) -> Evidence:
        """A line of the job's log."""
        return Evidence(self.job.source, line or None, text)

    def whole_pairs(self, gpus: Sequence[str]) -> bool:
        """Whether the evidence has every pair of these."""
        return len([pair for pair in self.sight.pairs(gpus) if pair is not None]) == len(list(combinations(gpus, 2)))


def shown(env: EnvRecord) -> str:
    """
    >>> from gputopo.nccl_records import Speaker
    >>> shown(EnvRecord("NCCL_P2P_LEVEL", "SYS", Speaker(None, None)))
    'NCCL_P2P_LEVEL set by environment to SYS'
    """
    return f"{env.name} set by environment to {env.value}" if env.by == "nccl" else f"{env.name}={env.value}"


def peers_off(diagnosis: Diagnosis) -> EnvRecord | None:
    """The setting that takes peer-to-peer from every pair, where there is one."""
    off = [one for one in diagnosis.env("NCCL_P2P_DISABLE") if one.value not in ("", "0")]
    none = [one for one in diagnosis.env("NCCL_P2P_LEVEL") if one.value.upper() in ("LOC", "0")]
    return next(iter((*off, *none)), None)
