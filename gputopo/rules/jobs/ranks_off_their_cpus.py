"""GT531 ranks-off-their-cpus

What it says
    A rank may not run on any CPU near its GPU, or on a single core only.

Why it matters
    Its launch and proxy threads reach the GPU across the socket link, or wait for each other on one core: small
    messages and launches are late.

What to do
    Bind to the NUMA node of the GPU (`numactl --cpunodebind`, the CPU manager with Topology Manager), not to a core.

When it is silent
    The mask is inside the GPU's NUMA node and has more than one core, or no log or process shows it.

Example
    >>> from gputopo.nccl_records import AffinityRecord
    >>> from gputopo.rules.jobs.example import HOST, diagnosis, log, node
    >>> from gputopo.terms.cpu_set import CpuSet
    >>> on = node(cpus=CpuSet.of(range(8, 16)))
    >>> [found] = check(diagnosis(on, log(0, 1, affinity=(AffinityRecord(0, "1", HOST, 14),))))
    >>> found.severity, found.message
    ('warning', 'the rank of GPU0 may run on CPU 0 alone, and GPU0 is near 8-15')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.terms.cpu_mask import cpus_of

CODE = "GT531"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    for one in diagnosis.job.nccl.affinity if diagnosis.job.nccl else ():
        id = diagnosis.gpu_of_device(one.gpu, one.speaker)
        gpu = diagnosis.gpu(id) if id is not None else None
        cpus = cpus_of(one.mask)
        if gpu is None or not cpus:
            continue
        apart = gpu.cpus is not None and not (cpus & gpu.cpus)
        if len(cpus) > 1 and not apart:
            continue
        where = f"CPU {cpus} alone" if len(cpus) == 1 else f"CPUs {cpus}"
        near = f", and {gpu.id} is near {gpu.cpus}" if apart else ""
        yield Finding(
            CODE,
            SEVERITY,
            (gpu.id,),
            f"the rank of {gpu.id} may run on {where}{near}",
            matters="its launch and proxy threads reach the GPU across the socket link" if apart
            else "its threads wait for each other on one core",
            because="the process was bound there: taskset, a cpuset, or the launcher",
            remedy="bind to the GPU's NUMA node, not to a core",
            evidence=(diagnosis.line(one.line, f"Setting affinity for GPU {one.gpu} to {one.mask}"),),
        )
