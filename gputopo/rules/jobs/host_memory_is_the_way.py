"""GT504 host-memory-is-the-way

What it says
    GPUs of the set can reach each other over the host's memory only: GeForce cards, which have no peer-to-peer on the
    stock driver, and no NVLink between them.

Why it matters
    Every copy is written to and read from the CPU's memory. What the CPUs' memory channels carry is then the limit,
    not NCCL, and not where the GPUs sit (nccl issues 1530 and 1639).

What to do
    Populate all memory channels (DIMM slots), measure with STREAM; keep the set on one socket's memory. Pipeline
    parallelism moves less data than tensor parallelism.

When it is silent
    The GPUs have NVLinks or peer-to-peer, are of another class, or their model is not known.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, node
    >>> [found] = check(diagnosis(node(name="NVIDIA GeForce RTX 4090")))
    >>> found.message
    'GPU0-GPU3 (NVIDIA GeForce RTX 4090) have no P2P: NCCL moves all data through host memory (SHM)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.geforce import is_geforce
from gputopo.rules.wording import names
from gputopo.terms.peer_status import refusal

CODE = "GT504"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    gpus = [gpu for gpu in diagnosis.node.gpus if gpu.id in diagnosis.job.gpus]
    models = {name for gpu in gpus if (name := is_geforce(diagnosis.node, gpu))}
    if len(gpus) < 2 or not models or any(is_geforce(diagnosis.node, gpu) is None for gpu in gpus):
        return
    if any(pair.nvlinks for pair in diagnosis.pairs) or diagnosis.hops("P2P") or _peers(diagnosis):
        return
    ids = tuple(gpu.id for gpu in gpus)
    used = diagnosis.hops("SHM")
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"{names(ids)} ({' and '.join(sorted(models))}) have no P2P: NCCL moves all data through host memory (SHM)",
        matters="the CPUs' memory bandwidth is the limit: not a fault of placement, and not of NCCL",
        because="GeForce cards have no peer-to-peer on the stock driver",
        remedy="fill all memory channels (DIMM slots of each CPU), measure them with STREAM; fewer bytes: pipeline "
        "instead of tensor parallelism",
        evidence=tuple(diagnosis.line(hop.line, f"{hop.a} -> {hop.b} via {hop.transport}") for hop in used[:2])
        or tuple(Evidence(None, None, f"{gpu.id}: {gpu.name or gpu.pci}") for gpu in gpus[:2]),
    )


def _peers(diagnosis: Diagnosis) -> bool:
    """Whether the driver allows copies: a patched one does."""
    said = [pair for pair in diagnosis.pairs if pair.p2p]
    return bool(said) and all(refusal(pair.p2p) is None for pair in said)
