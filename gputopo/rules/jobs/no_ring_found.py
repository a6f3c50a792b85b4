"""GT515 no-ring-found

What it says
    NCCL's graph search found no path for a ring or tree and fell back to the simple order.

Why it matters
    One channel at 0.1 GB/s in NCCL's own model: the job runs, at a small part of the bandwidth.

What to do
    A GPU is cut off in the topology that NCCL sees: a missing NVLink row, or a broken topology file. Dump what it sees
    (NCCL_TOPO_DUMP_FILE=topo.xml) and read it with `gputopo inspect topo.xml`.

When it is silent
    NVLS and CollNet patterns never print it; a set of one GPU has no ring.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(0, 1, fallbacks=((4, 25),))))
    >>> found.severity, found.message
    ('error', 'NCCL found no path for a ring: it falls back to the simple order')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis

CODE = "GT515"
SEVERITY = "error"

_RING = 4
_WORDS = {1: "a balanced tree", 2: "a split tree", 3: "a tree", _RING: "a ring"}


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    group = diagnosis.job.communicator
    if group is None or (group.nranks or 2) < 2:
        return
    seen = [(pattern, line, f"Could not find a path for pattern {pattern}") for pattern, line in group.fallbacks]
    seen += [
        (one.pattern, one.line, f"Pattern {one.pattern}, nChannels {one.channels}, bw {one.bw_intra:g}")
        for one in group.searches if one.bw_intra == 0.1
    ]  # fmt: skip
    seen = [one for one in seen if one[0] in _WORDS]
    if not seen:
        return
    words = " and ".join(dict.fromkeys(_WORDS[pattern] for pattern, _, _ in seen))
    yield Finding(
        CODE,
        SEVERITY,
        diagnosis.job.gpus,
        f"NCCL found no path for {words}: it falls back to the simple order",
        matters="one channel at 0.1 GB/s in NCCL's model; the job runs at a small part of the bandwidth",
        because="a GPU is cut off in the topology that NCCL sees",
        remedy="NCCL_TOPO_DUMP_FILE=topo.xml, then gputopo inspect topo.xml; nvidia-smi nvlink -s",
        evidence=tuple(diagnosis.line(line, text) for _, line, text in seen[:4]),
    )
