"""GT522 gdr-disabled

What it says
    NCCL cannot use GPUDirect RDMA with a NIC: neither nvidia_peermem is registered nor dma-buf to be had.

Why it matters
    Between nodes every message is copied through the host's memory.

What to do
    `modprobe nvidia-peermem`, or the driver's open kernel modules with Linux 5.12 or later (dma-buf).

When it is silent
    The job is on one node, or how many it has is not known: information. EFA (Libfabric) has its own way.

Example
    >>> from gputopo.nccl_records import NetDeviceRecord
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> hca = NetDeviceRecord("mlx5_0", "IB", 0, gdr=False, line=12)
    >>> [found] = check(diagnosis(said=log(0, 1, net_devices=(hca,), nodes=2)))
    >>> found.severity, found.message
    ('error', 'GPU Direct RDMA is disabled for mlx5_0, and the job spans 2 nodes')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import names

CODE = "GT522"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    off = [one for one in log.net_devices if one.gdr is False and one.net == "IB"] if log else []
    if not off:
        return
    nodes = diagnosis.job.nodes or 1
    ids = tuple(dict.fromkeys(one.name for one in off))
    yield Finding(
        CODE,
        SEVERITY if nodes > 1 else "info",
        ids,
        f"GPU Direct RDMA is disabled for {names(ids)}" + (f", and the job spans {nodes} nodes" if nodes > 1 else ""),
        matters="messages between nodes are copied through the host's memory; a job on one node is not touched",
        because="neither nvidia_peermem is registered nor dma-buf to be had",
        remedy="modprobe nvidia-peermem, or the open kernel modules with Linux 5.12 or later",
        evidence=tuple(
            diagnosis.line(one.line, f"GPU Direct RDMA Disabled for HCA {one.number} '{one.name}'") for one in off[:3]
        ),
    )
