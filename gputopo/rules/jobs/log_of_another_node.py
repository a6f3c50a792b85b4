"""GT550 log-of-another-node

What it says
    A log names GPUs by bus ids that the node beside it does not have: it is of another machine.

Why it matters
    Nothing of it is joined with this node; a verdict over both would mix two machines.

What to do
    Give the log of this node, or the topology of the node that wrote the log.

When it is silent
    All bus ids of one host are on the node, or the log names none.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(7, 8)))
    >>> found.severity, found.message
    ('warning', 'job.log is of another node: 0000:17:00.0 and 0000:18:00.0 are no GPUs of node-a')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.jobs.log_lines import title
from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import listed

CODE = "GT550"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    names = {one.source.id: title(diagnosis.job.logs, one) for one in diagnosis.job.logs}
    for one in diagnosis.job.foreign:
        verb = "are no GPUs" if len(one.buses) > 1 else "is no GPU"
        yield Finding(
            CODE,
            SEVERITY,
            (),
            f"{names.get(one.source, one.source)} is of another node: {listed(one.buses, 4)} {verb} of "
            f"{diagnosis.node.name or 'this one'}",
            matters="nothing of it is joined with this node",
            because="bus ids are the only names that both have",
            remedy="the log of this node, or the topology of the node that wrote the log",
            evidence=(Evidence(one.source, one.line, f"busId {one.buses[0]}"),),
        )
