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

from collections.abc import Iterable
from importlib import import_module

from gputopo.job_records import JobLog
from gputopo.parsers.formats_jobs import JOBS
from gputopo.parsers.log_lines import clean


def recognise(text: str) -> tuple[str, ...]:
    """Ids of the formats of jobs in one text, in table order; empty when none is."""
    return tuple(
        row.id
        for row in JOBS
        if any(needle in text for needle in row.needles) and import_module(f"gputopo.parsers.{row.module}").sniff(text)
    )


def read(lines: Iterable[str]) -> JobLog:
    """All that the lines of a log say of jobs. `formats` is empty where they say nothing."""
    from gputopo.parsers import job_log, nccl_log, nccl_tests

    nccl, tests, frameworks = nccl_log.Reader(), nccl_tests.Reader(), job_log.Reader()
    seen = False
    number = 0
    for number, line in enumerate(lines, 1):
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
    said, runs = frameworks.record(), tests.runs()
    formats = (("nccl-log", seen), ("nccl-tests", bool(runs)), ("job-log", said is not None))
    return JobLog(tuple(name for name, found in formats if found), nccl.jobs(), runs, said, number)
