"""GT407 memory-remote

What it says
    Anonymous memory and huge pages of a container's processes are on NUMA nodes where it has no GPU.

Why it matters
    Copies to and from the GPUs cross the link between NUMA nodes. Pages of files (libraries) are left out: they may
    be remote without harm.

What to do
    Bind memory (Memory Manager Static, numactl --membind), or pin the threads that touch it first.

When it is silent
    Less than a tenth is remote; below a hundredth nothing is said at all. Pages or the GPUs' NUMA node are unknown.

Example
    >>> from gputopo.holdings import MemoryHeld
    >>> from gputopo.rules.pods.example import container, held, node
    >>> on = node()
    >>> pages = (MemoryHeld("anonymous", (0,), 900 << 20), MemoryHeld("anonymous", (1,), 100 << 20))
    >>> [found] = check(Audit(held(on, container(("GPU0",), on)._replace(pages=pages))))
    >>> found.severity, found.message
    ('warning', 'ml/job: 100 of 1000 MiB of its memory (10.0 %) is on NUMA 1, its GPUs are on NUMA 0')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit

CODE = "GT407"
SEVERITY = "warning"
_MUCH, _SOME = 0.1, 0.01


def check(audit: Audit) -> Iterator[Finding]:
    for unit in audit.units:
        numa = unit.placed.numa_nodes
        if unit.job or not numa:
            continue
        pages = [page for one in unit.containers for page in one.pages or () if page.kind != "file"]
        total = sum(page.size for page in pages)
        far = [page for page in pages if not set(page.numa_nodes) & set(numa)]
        remote = sum(page.size for page in far)
        if not total or remote / total < _SOME:
            continue
        where = ", ".join(str(one) for one in sorted({number for page in far for number in page.numa_nodes}))
        yield Finding(
            CODE,
            SEVERITY if remote / total >= _MUCH else "info",
            (unit.title, *unit.gpus),
            f"{unit.title}: {remote >> 20} of {total >> 20} MiB of its memory ({100 * remote / total:.1f} %) is on "
            f"NUMA {where}, its GPUs are on NUMA {', '.join(map(str, numa))}",
            matters="copies between this memory and the GPUs cross the link between NUMA nodes",
            remedy="numactl --membind, or Memory Manager Static with a Guaranteed pod",
        )
