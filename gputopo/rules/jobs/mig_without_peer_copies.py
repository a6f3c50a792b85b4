"""GT507 mig-without-peer-copies

What it says
    The job runs on MIG devices.

Why it matters
    MIG devices have no peer-to-peer, neither over NVLink nor over PCIe: NCCL uses shared memory or the network, and
    how the GPUs are wired does not matter to them.

What to do
    Collectives over several GPUs belong on whole GPUs.

When it is silent
    The GPUs of the set have no MIG devices.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> from gputopo.topology.node import Mig
    >>> [found] = check(diagnosis(node(mig=(Mig(uuid="MIG-1"),)), log(0, 1, via="SHM/direct/direct")))
    >>> found.message
    'GPU0 and GPU1 are in MIG mode: no P2P between MIG devices, NCCL uses SHM'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import names

CODE = "GT507"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    ids = tuple(gpu.id for gpu in diagnosis.node.gpus if gpu.id in diagnosis.job.gpus and gpu.mig)
    if not ids:
        return
    kinds = "/".join(dict.fromkeys(hop.kind for hop in diagnosis.job.hops)) or "SHM or the network"
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"{names(ids)} {'is' if len(ids) == 1 else 'are'} in MIG mode: no P2P between MIG devices, NCCL uses {kinds}",
        matters="NVLink and PCIe levels do not matter to MIG devices; all data goes through the host's memory",
        because="MIG has no peer-to-peer by design",
        remedy="whole GPUs for collectives over several GPUs",
        evidence=tuple(
            diagnosis.line(hop.line, f"{hop.a} -> {hop.b} via {hop.transport}") for hop in diagnosis.job.hops[:2]
        ),
    )
