"""GT520 socket-network

What it says
    A job over several nodes uses TCP sockets although the node has RDMA NICs.

Why it matters
    A tenth of the bandwidth, and the CPUs copy every byte.

What to do
    libibverbs in the image, /dev/infiniband in the pod, NCCL_IB_DISABLE unset, NCCL_IB_HCA and NCCL_NET as meant.

When it is silent
    The job is on one node, no RDMA NIC is known, or how many nodes the job has is not. Containers of one node are
    GT506's.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> from gputopo.topology.node import Nic
    >>> on = node()._replace(nics=(Nic("mlx5_0", device="mlx5_0", link_layer="InfiniBand"),))
    >>> [found] = check(diagnosis(on, log(0, 1, network="Socket", nodes=2)))
    >>> found.severity, found.message
    ('error', 'the job spans 2 nodes over TCP sockets, although the node has mlx5_0')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis, shown
from gputopo.rules.wording import names

CODE = "GT520"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    job, log = diagnosis.job, diagnosis.job.nccl
    if log is None or (job.nodes or 1) < 2 or len(job.hosts) > 1:
        return
    by_line = next((one for group in log.communicators for one in group.peers if "NET/Socket" in one.transport), None)
    if log.network != "Socket" and by_line is None:
        return
    nics = [nic.id for nic in diagnosis.node.nics or () if nic.link_layer or (nic.device or "").startswith("mlx5")]
    nics = nics or [one.name for one in log.net_devices if one.net in ("IB", "Libfabric")]
    if not nics:
        return
    off = next((one for one in diagnosis.env("NCCL_IB_DISABLE", "NCCL_NET") if one.value not in ("0", "IB")), None)
    because = shown(off) if off is not None else ""
    if not because and log.libibverbs_missing:
        because = "the log says that libibverbs is missing"
    yield Finding(
        CODE,
        SEVERITY,
        tuple(nics),
        f"the job spans {job.nodes} nodes over TCP sockets, although the node has {names(nics)}",
        matters="a tenth of the bandwidth, and the CPUs copy every byte",
        because=because or "the container lacks libibverbs or /dev/infiniband, or a setting excludes the NICs",
        remedy=f"unset {off.name}" if off is not None else "libibverbs in the image; /dev/infiniband in the pod",
        evidence=(diagnosis.line(by_line.line if by_line else log.line, by_line.transport if by_line else "Socket"),),
    )
