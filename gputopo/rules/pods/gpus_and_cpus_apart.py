"""GT406 gpus-and-cpus-apart

What it says
    A container's exclusive CPUs are on other NUMA nodes than its GPUs.

Why it matters
    Every launch, copy and page that its threads touch goes through the link between NUMA nodes.

What to do
    Topology Manager `best-effort` or stricter aligns both, where the pod is Guaranteed with whole CPUs; a pod that
    already runs keeps what it has until it is started again.

When it is silent
    The container has no exclusive CPUs, or one NUMA node has both some of its CPUs and some of its GPUs.

Example
    >>> from gputopo.rules.pods.example import container, held, node
    >>> on = node()
    >>> far = container(("GPU0",), on)._replace(cpu_numa_nodes=(1,))
    >>> [found] = check(Audit(held(on, far)))
    >>> found.message
    'ml/job: GPU0 on NUMA 0, its exclusive CPUs on NUMA 1'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.proof import proof
from gputopo.rules.wording import names

CODE = "GT406"
SEVERITY = "warning"


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        [*containers] = unit.containers
        numa = unit.placed.numa_nodes
        if unit.job or not numa or len(containers) != 1:
            continue
        cpus = containers[0].cpu_numa_nodes
        if not cpus or set(cpus) & set(numa):
            continue
        policy = audit.held.policies.get("topology")
        which = names(unit.gpus) if unit.gpus else "its GPUs"
        yield Finding(
            CODE,
            SEVERITY,
            (unit.title, *unit.gpus),
            f"{unit.title}: {which} on NUMA {_numbers(numa)}, its exclusive CPUs on NUMA {_numbers(cpus)}",
            matters="threads and pinned memory of every GPU are remote",
            because=f"Topology Manager policy is {policy}" if policy else "",
            remedy="Topology Manager restricted refuses such a pod; best-effort aligns it where it can",
            evidence=proof(audit, unit),
        )


def _numbers(numa: tuple[int, ...]) -> str:
    return ", ".join(map(str, numa))
