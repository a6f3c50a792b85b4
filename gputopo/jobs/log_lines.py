"""Which file a line is of: logs that are read together count their lines on.

    >>> from gputopo.job_records import JobLog
    >>> from gputopo.jobs.model import SpokenLog
    >>> from gputopo.topology.node import Source
    >>> def file(id, first, lines):
    ...     log = JobLog(("nccl-log",), lines=lines, first=first)
    ...     return SpokenLog(Source(id, f"{id}.log", "nccl-log", "", True), log)
    >>> logs = (file("nccl-log", 1, 40), file("nccl-log-2", 41, 30))
    >>> place(logs, "nccl-log", 42), place(logs, "nccl-log", 7), place(logs, "nvidia-smi-topo", 42)
    (('nccl-log-2', 2), ('nccl-log', 7), ('nvidia-smi-topo', 42))
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.jobs.model import SpokenLog


def place(logs: Sequence[SpokenLog], source: str | None, line: int | None) -> tuple[str | None, int | None]:
    """(source, line of that source) of a line as jobs count it; anything else stays as it is."""
    if line is None or all(one.source.id != source for one in logs):
        return source, line
    for one in logs:
        if one.log.first <= line < one.log.first + one.log.lines:
            return one.source.id, line - one.log.first + 1
    return source, line


def title(logs: Sequence[SpokenLog], of: SpokenLog) -> str:
    """A log's name, with the number of other files that are one log with it."""
    at = next(n for n, one in enumerate(logs) if one is of)
    others = sum(one.log.part_of == at for one in logs)
    return f"{of.source.name} and {others} more" if others else of.source.name
