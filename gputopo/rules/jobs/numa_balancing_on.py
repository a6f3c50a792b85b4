"""GT532 numa-balancing-on

What it says
    The kernel moves memory between NUMA nodes by itself (numa_balancing is 1), and the job's ranks are not bound.

Why it matters
    Page migration stops threads now and then; serving engines have measured jitter. It is the kernel's default and
    runs on many healthy nodes.

What to do
    Bind the ranks to their NUMA node, or `sysctl kernel.numa_balancing=0`.

When it is silent
    It is 0, was not read, the node has one NUMA node with CPUs, or no job is known.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> from gputopo.topology.node import Observed
    >>> seen = Observed("numa-balancing", (), "proc/sys/kernel/numa_balancing: 1", "s1", None)
    >>> [found] = check(diagnosis(node()._replace(observations=(seen,)), log(0, 1)))
    >>> found.message
    'the kernel balances memory between NUMA nodes (numa_balancing 1)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.witness import evidence, observed

CODE = "GT532"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    seen = observed(diagnosis.node, "numa-balancing")
    with_cpus = [one for one in diagnosis.node.numa_nodes or () if one.cpus]
    if not seen or not diagnosis.job.narrowed or len(with_cpus) == 1:
        return
    yield Finding(
        CODE,
        SEVERITY,
        (),
        "the kernel balances memory between NUMA nodes (numa_balancing 1)",
        matters="page migration stops threads now and then; healthy nodes have it on as well",
        because="it is the kernel's default",
        remedy="bind ranks to their NUMA node, or sysctl kernel.numa_balancing=0, and measure",
        evidence=evidence(seen),
    )
