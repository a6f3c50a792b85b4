"""GT551 log-cut-short

What it says
    A log is not whole: it begins or ends in the middle, or lines of a rank are missing.

Why it matters
    What is not in it was not judged: a rank that is missing is not a rank that works.

What to do
    The whole log of all ranks: NCCL_DEBUG=INFO, NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.

When it is silent
    Nothing is missing as far as the log tells.

Example
    >>> from gputopo.records import Gap
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> cut = Gap((), "ranks", "ranks 2 and 3 are not in it", "the whole log", 40)
    >>> [found] = check(diagnosis(said=log(0, 1, whole=False, gaps=(cut,))))
    >>> found.severity, found.message
    ('info', 'the log is not whole: ranks 2 and 3 are not in it')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.job_records import BenchmarkRecord
from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import one_line

CODE = "GT551"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    for source, run in diagnosis.job.runs:
        if not run.whole:
            yield _of_benchmark(source, run)
    if log is None or log.whole:
        return
    reasons = list(dict.fromkeys(one_line(gap.reason) for gap in log.gaps)) or ["it ends before all ranks had started"]
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"the log is not whole: {'; '.join(reasons[:3])}",
        matters="what is not in it was not judged",
        because="an excerpt, a rank's own log, or an end before the job's",
        remedy="the whole log of all ranks: NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV; where "
        "NCCL_DEBUG_FILE made a file for each process, their folder: --nccl-log FOLDER",
        evidence=tuple(diagnosis.line(gap.line, one_line(gap.reason)) for gap in log.gaps[:3]),
    )


def _of_benchmark(source: str, run: BenchmarkRecord) -> Finding:
    last = run.rows[-1] if run.rows else None
    return Finding(
        CODE,
        SEVERITY,
        (),
        f"the benchmark's table is not whole: its last row is of {last.size:,} bytes" if last is not None
        else "the benchmark's table is not whole: it has no row",
        matters="what it would have reached with larger messages is not known",
        because="the test was ended early, failed, or its output was cut",
        remedy="let it run to the line `# Avg bus bandwidth`",
        evidence=(Evidence(source, last.line if last is not None else run.line, run.test or "nccl-tests"),),
    )
