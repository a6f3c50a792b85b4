"""GT506 ranks-in-different-pods

What it says
    Ranks of one communicator are on one node in different pods (containers), and NCCL connects them over the network.

Why it matters
    A container sees its own GPUs only, so neither NVLink nor shared memory is used between them, however they are
    wired: NCCL takes sockets or the NIC.

What to do
    All ranks of a tensor-parallel group in one pod; or hostIPC and hostPID with every GPU visible in each pod.

When it is silent
    All ranks on the node are in one container, or peers of different containers are connected by P2P or SHM. Pods of
    different jobs.

Example
    >>> from gputopo.nccl_records import Speaker
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> said = log(0, 1, via="NET/Socket/0")
    >>> [group] = said.communicators
    >>> apart = tuple(one._replace(speaker=Speaker(f"pod-{one.rank}", 1)) for one in group.ranks)
    >>> said = said._replace(communicators=(group._replace(ranks=apart),))
    >>> [found] = check(diagnosis(node(18), said))
    >>> found.message
    'pods pod-0 and pod-1 are on one node, and NCCL connects their ranks over the network (NET/Socket/0)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import listed, names

CODE = "GT506"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    hosts = {place.rank: place.host for place in diagnosis.job.ranks if place.gpu}
    apart = [hop for hop in diagnosis.hops("NET") if hosts.get(hop.ranks[0]) != hosts.get(hop.ranks[1])]
    if len(diagnosis.job.hosts) < 2 or not apart:
        return
    first = apart[0]
    pair = diagnosis.pair(first.a, first.b)
    linked = ""
    if pair is not None and pair.nvlinks:
        linked = f"{first.a}-{first.b} have {pair.nvlinks} NVLinks ({pair.level})"
    gpus = tuple(dict.fromkeys(gpu for hop in apart for gpu in (hop.a, hop.b)))
    yield Finding(
        CODE,
        SEVERITY,
        gpus,
        f"pods {listed(diagnosis.job.hosts)} are on one node, and NCCL connects their ranks over the network "
        f"({first.transport})",
        matters=(f"{linked}, and the job does not use them" if linked else "neither peer-to-peer nor shared memory is "
        "used between them") + f": {names(gpus)}",
        because="a container sees its own GPUs only, and has an IPC namespace of its own",
        remedy="the ranks of one tensor-parallel group in one pod; or hostIPC, with all GPUs visible in each pod",
        evidence=tuple(diagnosis.line(hop.line, f"{hop.a} -> {hop.b} via {hop.transport}") for hop in apart[:4]),
    )  # fmt: skip
