"""GT514 nvls-not-in-use

What it says
    GPUs of Hopper or later on NVSwitches reduce without NVLink SHARP (NVLS): NCCL has 0 nvls channels.

Why it matters
    With NVLS the switch adds up: about 1.3 times the bandwidth of a ring on 8 GPUs.

What to do
    Fabric State (`nvidia-smi -q`) must be Completed, nvidia-fabricmanager (NVLSM) run in the driver's version, IMEX
    channels be there where the domain spans nodes, and NCCL_NVLS_ENABLE not be 0.

When it is silent
    A100 and older, bridged cards and meshes have no NVLS; NCCL before 2.18; jobs of several nodes or two GPUs;
    NCCL_NVLS_ENABLE=0, NCCL_P2P_DISABLE=1. With 3 or 4 GPUs it brings nothing (nccl issue 1455): information.

Example
    >>> from gputopo.nccl_records import CountsRecord
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> from gputopo.topology.node import NvLinks
    >>> on = node(18, name="NVIDIA H100 80GB HBM3", nvlinks=NvLinks(18, 18, "switch"))
    >>> [found] = check(diagnosis(on, log(0, 1, 2, 3, counts=(CountsRecord(16, 0, 0, 16, 16, 30),))))
    >>> found.severity, found.message
    ('info', 'NVLS is not in use: 0 nvls channels on an NVSwitch node of NVIDIA H100 80GB HBM3')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis, peers_off
from gputopo.rules.jobs.generations import has_nvls

CODE = "GT514"
SEVERITY = "warning"

_SINCE = (2, 18)


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    job = diagnosis.job
    group = job.communicator
    ranks = (group.nranks if group else None) or len(job.gpus)
    if group is None or not group.counts or ranks < 3:
        return
    if any(one.nvls != 0 for one in group.counts) or (group.nodes or 1) > 1:
        return
    if (diagnosis.version() or _SINCE) < _SINCE:
        return
    if any(one.value == "0" for one in diagnosis.env("NCCL_NVLS_ENABLE")) or peers_off(diagnosis) is not None:
        return  # without peer-to-peer there are no NVLinks for NCCL: GT511 names the setting
    fabric = [gpu for gpu in diagnosis.node.gpus if gpu.nvlinks is not None and gpu.nvlinks.via == "switch"]
    models = {gpu.name or gpu.compute_capability or "" for gpu in fabric if gpu.id in job.gpus and has_nvls(gpu)}
    if len(fabric) < 2 or not models:
        return
    counts = group.counts[0]
    yield Finding(
        CODE,
        "info" if ranks < diagnosis.settings.threshold("nvls_gpus") else SEVERITY,
        job.gpus,
        f"NVLS is not in use: 0 nvls channels on an NVSwitch node of {' and '.join(sorted(models))}",
        matters="the switch does not add up: about a quarter of the all-reduce bandwidth is lost on 8 GPUs",
        because="the fabric is not completed, multicast or IMEX is missing, or a GPU has lost its NVLinks",
        remedy="nvidia-smi -q (Fabric State: Completed, Status: Success); systemctl status nvidia-fabricmanager; "
        "nvidia-smi nvlink -s",
        evidence=(diagnosis.line(counts.line, f"{counts.coll} coll channels, 0 nvls channels"),),
    )
