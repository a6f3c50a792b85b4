"""GT521 gdr-too-far

What it says
    NCCL does not use GPUDirect RDMA between a GPU and a NIC, since they are further apart than its limit.

Why it matters
    Every message between nodes is copied through the host's memory.

What to do
    Use the GPU next to the NIC, or the NIC next to the GPU. NCCL_NET_GDR_LEVEL=SYS only after measuring.

When it is silent
    The log has no such line. Every healthy node logs it for the far NICs of each GPU: a warning only where a GPU has
    no NIC within the limit in this log, else information.

Example
    >>> from gputopo.nccl_records import GdrDistanceRecord
    >>> from gputopo.rules.jobs.example import HOST, diagnosis, log
    >>> far = GdrDistanceRecord("11000", "0", 7, 4, False, HOST, 30)
    >>> [found] = check(diagnosis(said=log(0, 1, version="2.18.5", gdr_distances=(far,))))
    >>> found.severity, found.message
    ('warning', 'no GPUDirect RDMA from GPU1 to HCA 0: distance 7 (SYS) is beyond the limit 4 (PXB)')

Source: the numbers are NCCL's path types of that version (terms/nccl_path_types.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.jobs import said
from gputopo.nccl_records import GdrDistanceRecord
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.terms.nccl_path_types import Numbering

CODE = "GT521"
SEVERITY = "warning"
_MOST = 4


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    if log is None:
        return
    near = {one.gpu for one in log.gdr_distances if one.enabled}
    alike: dict[tuple[str, int, int], list[GdrDistanceRecord]] = {}
    for one in log.gdr_distances:
        if not one.enabled:
            alike.setdefault((one.gpu, one.distance, one.limit), []).append(one)
    for (gpu, distance, limit), some in list(alike.items())[:_MOST]:
        yield _finding(diagnosis, gpu, distance, limit, some, gpu in near)


def _finding(
    diagnosis: Diagnosis, gpu: str, distance: int, limit: int, some: list[GdrDistanceRecord], has_near: bool
) -> Finding:  # fmt: skip
    version = diagnosis.job.nccl.version if diagnosis.job.nccl else None
    numbering = said.numbering(diagnosis.job.nccl, some[0]) if diagnosis.job.nccl else None
    known = _gpus(diagnosis, gpu)
    name = known[0] if known else f"the GPU that NCCL calls {gpu}"
    hcas = ", ".join(dict.fromkeys(one.hca for one in some))
    inferred = "" if version else (
        f"; the version is not in the log: {limit} is PXB in NCCL {numbering.name}" if numbering
        else "; what the numbers are depends on NCCL's version, which is not in the log"
    )  # fmt: skip
    words = f"distance {distance}{_named(numbering, distance)} is beyond the limit {limit}{_named(numbering, limit)}"
    return Finding(
        CODE,
        "info" if has_near else SEVERITY,
        tuple(known),
        f"no GPUDirect RDMA from {name} to HCA {hcas}: {words}",
        matters="messages between nodes are copied through the host's memory; a job on one node is not touched",
        because=f"NCCL allows it up to PXB by default{inferred}",
        remedy="the NIC below the GPU's own switch; NCCL_NET_GDR_LEVEL=SYS only after measuring",
        evidence=tuple(
            diagnosis.line(one.line, f"GPU {one.gpu} / HCA {one.hca} (distance {one.distance} > {one.limit})")
            for one in some[:3]
        ),
    )


def _named(numbering: Numbering | None, number: int) -> str:
    return f" ({numbering.names[number]})" if numbering is not None and number < len(numbering.names) else ""


def _gpus(diagnosis: Diagnosis, said: str) -> list[str]:
    """`ca000` and `GPU/0-ca000` are bus ids; some versions since 2.18.3 print a rank there."""
    bus = _bus(said.rpartition("-")[2])
    found = [gpu.id for gpu in diagnosis.node.gpus if gpu.pci and _bus(gpu.pci) == bus]
    if found or not said.isdecimal():
        return found
    return [one.gpu for one in diagnosis.job.ranks if one.rank == int(said) and one.gpu is not None]


def _bus(text: str) -> str:
    """`ca000`, `0000:ca:00.0` → `ca000`: a busId as NCCL prints it."""
    return text.replace(":", "").replace(".", "").lstrip("0").lower()
