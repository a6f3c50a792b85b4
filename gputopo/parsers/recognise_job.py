r"""What a log says of a job, whatever programs write into it: read once, line by line.

    >>> log = read(("node-a:7:9 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n", "+ export CUDA_VISIBLE_DEVICES=0,1\n",
    ...             "# Avg bus bandwidth    : 11.8\n"))
    >>> log.formats, log.nccl[0].version, log.benchmarks[0].average, log.framework.visible[0].devices
    (('nccl-log', 'nccl-tests', 'job-log'), '2.27.3', 11.8, ('0', '1'))
    >>> recognise("GPU0 \t X "), recognise("node-a:7:9 [0] NCCL INFO Bootstrap : Using eth0")
    ((), ('nccl-log',))

The formats are the rows of `JOBS` (formats_jobs.py). Memory does not grow with a log: what is repeated is
counted, what is of no use is dropped, and each table has an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from gputopo.job_records import JobLog
from gputopo.parsers.formats_jobs import JOBS
from gputopo.parsers.log_lines import clean

if TYPE_CHECKING:
    from gputopo.nccl_records import NcclJob
    from gputopo.parsers.nccl_log.gathered import Room


def recognise(text: str) -> tuple[str, ...]:
    """Ids of the formats of jobs in one text, in table order; empty when none is."""
    return tuple(
        row.id
        for row in JOBS
        if any(needle in text for needle in row.needles) and import_module(f"gputopo.parsers.{row.module}").sniff(text)
    )


class Reading:
    """One log, read line by line. `first` numbers its first line: logs that are read together count on."""

    def __init__(self, lines: Iterable[str], first: int = 1, room: Room | None = None) -> None:
        from gputopo.parsers import job_log, nccl_log, nccl_tests

        nccl, tests, frameworks = nccl_log.Reader(room), nccl_tests.Reader(), job_log.Reader()
        seen = False
        number = first - 1
        for number, line in enumerate(lines, first):
            line = clean(line)
            if nccl.feed(number, line):
                seen = True
                if "VISIBLE_DEVICES" in line:
                    frameworks.feed(number, line)
            elif tests.feed(number, line):
                if "$" in line or "_perf" in line:
                    frameworks.feed(number, line)
            else:
                frameworks.feed(number, line)
        self.first, self.end = first, number + 1
        self.nccl, self.runs, self.framework = nccl, tests.runs(), frameworks.record()
        formats = (("nccl-log", seen), ("nccl-tests", bool(self.runs)), ("job-log", self.framework is not None))
        self.formats = tuple(name for name, found in formats if found)

    def log(self, jobs: tuple[NcclJob, ...], part_of: int | None = None) -> JobLog:
        return JobLog(
            self.formats, jobs, self.runs, self.framework, self.end - self.first, first=self.first, part_of=part_of
        )


def read(lines: Iterable[str]) -> JobLog:
    """All that the lines of a log say of jobs. `formats` is empty where they say nothing."""
    one = Reading(lines)
    return one.log(one.nccl.jobs())


def together(readings: Sequence[Reading]) -> tuple[JobLog, ...]:
    """What several logs say, in order: those of which each holds other ranks of a job (NCCL_DEBUG_FILE=nccl.%h.%p)
    are one log, whose jobs stand with the first of them.
    """
    from gputopo.parsers.nccl_log import one_log

    first = one_log([one.nccl for one in readings])
    return tuple(
        one.log(one.nccl.jobs() if first[at] == at else (), None if first[at] == at else first[at])
        for at, one in enumerate(readings)
    )
