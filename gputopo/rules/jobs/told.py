"""All that is to be told of one job: findings, the verdict, and the set and order that would be better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gputopo.job_records import BenchmarkRecord
from gputopo.jobs.log_lines import place
from gputopo.jobs.measured import best_busbw
from gputopo.jobs.model import SpokenLog
from gputopo.rules.finding import Evidence, Finding, NotChecked
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.order import better_order
from gputopo.rules.jobs.rates import Rates
from gputopo.rules.jobs.reckoned import Reckoning
from gputopo.rules.jobs.run import run
from gputopo.rules.jobs.verdict import is_decided, verdict
from gputopo.rules.settings import NO_SETTINGS, Settings, Suppressed
from gputopo.topology.node import NoteAssumption, NoteUnknown


class Told(NamedTuple):
    diagnosis: Diagnosis
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    verdict: str
    decided: bool
    order: tuple[str, ...] | None
    group_rates: dict[tuple[str, ...], float]
    best: tuple[str, ...]
    best_rate: float | None
    assumptions: tuple[NoteAssumption, ...]
    unknown: tuple[NoteUnknown, ...]
    reckoning: Reckoning | None = None
    suppressed: tuple[Suppressed, ...] = ()

    def busbw(self, run: BenchmarkRecord) -> float | None:
        return best_busbw(run)

    def pair_rate(self, a: str, b: str) -> float | None:
        """GB/s of the pair's path in NCCL's model."""
        return self.reckoning.pair(a, b) if self.reckoning is not None else None


def tell(
    diagnosis: Diagnosis, select: Sequence[str] = (), ignore: Sequence[str] = (),
    expired: Callable[[], bool] = lambda: False, settings: Settings = NO_SETTINGS,
) -> Told:  # fmt: skip
    """`expired`: whether the time is up; what NCCL's search has not found then is left open.

    What `settings` suppress has no part in the verdict either.
    """
    job = diagnosis.job
    diagnosis.settings = settings
    reckoning = Reckoning(diagnosis, expired) if diagnosis.pairs else None
    diagnosis.rates, supposed = _rates(diagnosis, reckoning)
    order = diagnosis.order = better_order(diagnosis, reckoning.alike if reckoning is not None else None)
    found, not_checked = run(diagnosis, select, ignore)
    kept, suppressed = settings.split(found, lambda one: one.subjects)
    findings = tuple(_placed(one, job.logs) for one in kept)
    groups = {one.gpus: rate for one in job.groups if reckoning and (rate := reckoning.gbytes(one.gpus)) is not None}
    better = diagnosis.better(job.gpus) if job.narrowed and len(job.gpus) < len(diagnosis.node.gpus) else ()
    best = better[0] if better else ()
    notes = [NoteAssumption((), text, None) for text in supposed]
    of_set = set(job.gpus)
    return Told(
        diagnosis, findings, not_checked,
        verdict(diagnosis, findings, not_checked), is_decided(diagnosis, findings), order, groups, best,
        reckoning.gbytes(best) if best and reckoning else None,
        (*job.assumptions, *job.node.assumptions, *(notes if diagnosis.rates.expected else ())),
        tuple(one for one in job.node.unknown if not of_set or _touches(one, of_set)),
        reckoning,
        tuple(suppressed),
    )  # fmt: skip


def _placed(finding: Finding, logs: Sequence[SpokenLog]) -> Finding:
    """With the file of each line, where several are one log."""
    if len(logs) < 2:
        return finding
    told = tuple(Evidence(*place(logs, one.source, one.line), one.text) for one in finding.evidence)
    return finding._replace(evidence=told)


def _rates(diagnosis: Diagnosis, reckoning: Reckoning | None) -> tuple[Rates, tuple[str, ...]]:
    """What the set should reach, without NVLS where the job's log says that it has none."""
    job = diagnosis.job
    if reckoning is None:
        return Rates(job.measured), ()
    counts = job.communicator.counts if job.communicator else ()
    return reckoning.rates(job.gpus, job.measured, bool(counts) and all(one.nvls == 0 for one in counts))


def _touches(note: NoteUnknown, gpus: set[str]) -> bool:
    """Whether a gap is of the set: of one of its GPUs, of a pair inside it, or of no GPU in particular."""
    ids = [part for subject in note.subjects for part in subject.split("-")]
    named = [id for id in ids if id.startswith("GPU")]
    return not named or bool(gpus & set(named))
