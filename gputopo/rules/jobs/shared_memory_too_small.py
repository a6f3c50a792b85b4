"""GT513 shared-memory-too-small

What it says
    NCCL could not get the shared memory that it needs in /dev/shm.

Why it matters
    The job fails at its start. Docker's and containerd's default is 64 MiB.

What to do
    An emptyDir with `medium: Memory` at /dev/shm, or `docker run --shm-size=1g`.

When it is silent
    The log has no such failure: with NVLink between all pairs 64 MiB are enough, and many pods run so.

Example
    >>> from gputopo.nccl_records import WarningRecord
    >>> from gputopo.rules.jobs.example import HOST, diagnosis, log
    >>> said = log(0, 2, warnings=(WarningRecord("Error while creating shared memory", "", "shm", True, HOST, 40),))
    >>> [found] = check(diagnosis(said=said))
    >>> found.severity, found.message
    ('error', '/dev/shm is too small for NCCL: Error while creating shared memory')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import one_line

CODE = "GT513"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    job = diagnosis.job.nccl
    said = [one for one in job.warnings if one.kind == "shm"] if job else []
    if job is None or not said:
        return
    needs = f" (it needs {job.shm_needed_bytes:,} bytes)" if job.shm_needed_bytes else ""
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"/dev/shm is too small for NCCL{needs}: {one_line(said[0].text)[:120]}",
        matters="ranks that use shared memory cannot start",
        because="a container gets 64 MiB at /dev/shm by default",
        remedy="an emptyDir with medium: Memory at /dev/shm, or docker run --shm-size=1g",
        evidence=tuple(diagnosis.line(one.line, one_line(one.text)[:160]) for one in said[:3]),
    )
