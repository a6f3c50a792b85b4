"""GT526 topology-too-large

What it says
    NCCL's topology of this node has more elements than its buffer takes ("too many XML nodes (max 256)").

Why it matters
    The job does not start. Up to 2.30.7 all ranks of a node are fused into one buffer of 256 elements.

What to do
    An NCCL with the larger buffer (pull 2386), or fewer ranks on a node as a test. A shorter static file does not
    always help (nccl issue 2160).

When it is silent
    The log has no such line. A file of too many elements is GT015's.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(0, 1, xml_node_limit=256)))
    >>> found.severity, found.message
    ('error', 'the topology has too many XML nodes for NCCL (max 256)')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis

CODE = "GT526"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    if log is None or log.xml_node_limit is None:
        return
    said = [one for one in log.warnings if one.kind == "xml-limit"]
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"the topology has too many XML nodes for NCCL (max {log.xml_node_limit})",
        matters="the job does not start",
        because="all local ranks' topologies are fused into one buffer, and a GPU's rank makes its rows differ",
        remedy="an NCCL with the larger buffer (nccl pull 2386), or fewer ranks on the node as a test",
        evidence=tuple(diagnosis.line(one.line, one.text[:160]) for one in said[:2]),
    )
