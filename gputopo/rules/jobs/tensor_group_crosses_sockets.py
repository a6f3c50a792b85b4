"""GT501 tensor-group-crosses-sockets

What it says
    The GPUs of one tensor-parallel group (or of the set that a job works with) are on several sockets, some pair of
    them has no NVLink, and sets of the same size inside one socket exist.

Why it matters
    Every layer ends in an all-reduce: it runs at the pace of the link between the sockets.

What to do
    `--tp`: order CUDA_VISIBLE_DEVICES so that each group stays in a socket. Else give the pod another set: Topology
    Manager, a DRA constraint, or the order in which pods start (`gputopo allocate sequence`).

When it is silent
    Every pair has NVLinks (then only CPU memory and NICs are further), the set is all GPUs of the node, no better set
    of its size exists, or the sockets are not known. NUMA nodes are not sockets (GT115).

Example
    >>> from gputopo.jobs.join import Asked
    >>> from gputopo.rules.jobs.example import diagnosis
    >>> [found] = check(diagnosis(asked=Asked(gpus=("GPU0", "GPU2"))))
    >>> found.severity, found.message
    ('warning', "the job's set crosses sockets over PCIe: GPU0 | GPU2, weakest GPU0-GPU2 SYS")
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.sides import better_sets, sides

CODE = "GT501"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    if not diagnosis.job.narrowed and not diagnosis.job.groups:
        return
    for team in diagnosis.teams:
        seen = diagnosis.sight.see(team)
        if not seen.cross_package or diagnosis.all_nvlink(team) is not False or len(team) == len(diagnosis.node.gpus):
            continue
        better = better_sets(diagnosis, team)
        if not better:
            continue
        weakest = f", weakest {seen.weakest.a}-{seen.weakest.b} {seen.weakest.level}" if seen.weakest else ""
        yield Finding(
            CODE,
            SEVERITY,
            tuple(team),
            f"{team.title} crosses sockets over PCIe: {sides(diagnosis, team)}{weakest}",
            matters="each all-reduce passes the link between the sockets, or the host's memory",
            because=f"on an empty node {better} would do without",
            remedy="order CUDA_VISIBLE_DEVICES so that each group stays in a socket (see ORDER)"
            if diagnosis.job.groups
            else "another set: gputopo allocate device-plugin|kubelet|dra says which are to be had",
            evidence=tuple(
                Evidence(None, None, f"{pair.a}-{pair.b} {pair.level}")
                for pair in diagnosis.sight.pairs(team)
                if pair is not None and pair.cross_package and pair.level
            )[:4],
        )
