"""GT552 several-jobs-in-log

What it says
    One log holds the lines of several jobs: communicators whose processes have nothing in common.

Why it matters
    They are judged apart, and the verdict is of one of them.

What to do
    Give one job's log at a time, or `--gpus` for the set that is meant.

When it is silent
    All lines belong together. Several communicators of the same processes are one job.

Example
    >>> from gputopo.job_records import JobLog
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> seen = diagnosis(said=log(0, 1))
    >>> both = seen.job.logs[0]._replace(log=JobLog(("nccl-log",), (log(0, 1), log(2, 3))))
    >>> seen.job = seen.job._replace(logs=(both,))
    >>> [found] = check(seen)
    >>> found.severity, found.message
    ('warning', 'job.log holds 2 jobs: judged is that of GPU0 and GPU1')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.jobs.log_lines import title
from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import names

CODE = "GT552"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    for one in diagnosis.job.logs:
        jobs = [job for job in one.log.nccl if any(len(group.ranks) > 1 for group in job.communicators)]
        if len(jobs) < 2:
            continue
        yield Finding(
            CODE,
            SEVERITY,
            (),
            f"{title(diagnosis.job.logs, one)} holds {len(jobs)} jobs: judged is that of {names(diagnosis.job.gpus)}",
            matters="lines of different jobs are not mixed; the others are not judged",
            because="their communicators share no process",
            remedy="one job's log at a time, or --gpus for the set that is meant",
            evidence=tuple(
                Evidence(one.source.id, job.line, f"a job begins, NCCL {job.version or '?'}") for job in jobs[:4]
            ),
        )
