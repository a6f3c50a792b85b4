r"""A node from nothing but a job's log: what `inspect` shows where a log is all there is.

    >>> [node] = parse("NCCL INFO Setting affinity for GPU 2 to ffffff,ffffffff,ffffffff\n")
    >>> [(gpu.label, gpu.nvml_index, str(gpu.cpus)) for gpu in node.gpus]
    [('GPU2', 2, '0-87')]

Words of a mask are 32 bits, the highest first. NCCL binds a rank to the CPUs near its GPU that its process may use, so
a list can be shorter than what is near.
"""

from __future__ import annotations

from gputopo.nccl_records import NcclJob
from gputopo.parsers.nccl_log import parse as jobs_of
from gputopo.parsers.nccl_log.node import nodes
from gputopo.records import Gap, GpuRecord, Key, NodeRecords
from gputopo.terms.cpu_mask import cpus_of

_OTHERS = "a job's log names the GPUs of the job; what else the node has is not in it"


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One a host of each job whose GPUs the log names; empty where it names none."""
    found: list[NodeRecords] = []
    for job in jobs_of(text.split("\n")):
        of_job = tuple(nodes(job).values())
        found += [_bound(one, job) for one in of_job] if of_job else _of_masks(job)
    return tuple(found)


def _bound(node: NodeRecords, job: NcclJob) -> NodeRecords:
    """The node with the CPUs of its ranks, where one process or host alone says them of an index."""
    masks = {one.gpu: cpus_of(one.mask) for one in job.affinity}
    gpus = tuple(
        gpu._replace(cpus=cpus) if isinstance(gpu.nvml_index, int) and (cpus := masks.get(gpu.nvml_index)) else gpu
        for gpu in node.gpus or ()
    )
    return node._replace(gpus=gpus) if len({one.speaker.host for one in job.affinity}) == 1 else node


def _of_masks(job: NcclJob) -> list[NodeRecords]:
    """GPUs that only lines of affinity name."""
    masks = {one.gpu: (cpus_of(one.mask), one.line) for one in job.affinity}
    gpus = tuple(
        GpuRecord(f"GPU{gpu}", (Key("index", str(gpu)),), line, nvml_index=gpu, vendor="nvidia", cpus=cpus)
        for gpu, (cpus, line) in sorted(masks.items()) if cpus
    )  # fmt: skip
    gaps = (Gap((), "gpus", _OTHERS, "nvidia-smi topo -m", job.line),)
    return [NodeRecords("nccl-log", line=job.line, whole=job.whole, gpus=gpus, gaps=gaps)] if gpus else []
