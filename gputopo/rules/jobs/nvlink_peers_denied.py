"""GT512 nvlink-peers-denied

What it says
    NCCL reports that two GPUs with NVLinks between them must not copy peer-to-peer.

Why it matters
    NCCL gives up: such a job does not start.

What to do
    `nvidia-smi nvlink -s`, `dmesg | grep -i xid`; on an NVSwitch board the fabric manager in the driver's version;
    reset the GPUs.

When it is silent
    The log has no such line, or a GPU is in MIG mode.

Example
    >>> from gputopo.nccl_records import DeniedPairRecord
    >>> from gputopo.rules.jobs.example import HOST, diagnosis, log, node
    >>> said = log(0, 1, denied=(DeniedPairRecord(0, 1, "nvmlDev", True, HOST, 31),))
    >>> [found] = check(diagnosis(node(4), said))
    >>> found.severity, found.message
    ('error', 'NCCL: P2P is disabled between NVLINK connected GPUs 0 and 1')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis

CODE = "GT512"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    for one in diagnosis.job.nccl.denied if diagnosis.job.nccl is not None else ():
        if not one.nvlink:
            continue
        devices = (one.a, one.b) if one.numbers == "nvmlDev" else ()
        ids = tuple(id for number in devices if (id := diagnosis.gpu_of_device(number, one.speaker)) is not None)
        gpus = diagnosis.node.gpus if len(ids) < 2 else [gpu for gpu in diagnosis.node.gpus if gpu.id in ids]
        if any(gpu.mig for gpu in gpus):
            continue
        message = f"NCCL: P2P is disabled between NVLINK connected GPUs {one.a} and {one.b}"
        yield Finding(
            CODE,
            SEVERITY,
            ids,
            message,
            matters="NCCL gives up; the job does not start",
            because="a bridge or board fault, or the fabric manager does not run in the driver's version",
            remedy="nvidia-smi nvlink -s; dmesg | grep -i xid; systemctl status nvidia-fabricmanager",
            evidence=(diagnosis.line(one.line, message),),
        )
