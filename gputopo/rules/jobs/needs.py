"""What a diagnosis could not look at, and what would settle it."""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules import clocks_throttled
from gputopo.rules.finding import NotChecked
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.emulated_switch import slow_links


def needs(diagnosis: Diagnosis) -> tuple[NotChecked, ...]:
    return tuple(_needs(diagnosis))


def _of_the_machine(diagnosis: Diagnosis) -> Iterator[NotChecked]:
    """What makes a job slow and no wiring shows; the rules of it keep silent about their evidence elsewhere."""
    if diagnosis.job.from_log:
        return
    missing = clocks_throttled.needs(diagnosis.node)
    if missing is not None:
        yield NotChecked(clocks_throttled.CODE, f"{missing}; Xid errors: dmesg | grep -i xid")
    if missing is not None and diagnosis.node.gpus:
        yield NotChecked("GT141", "ECC errors (nvidia-smi -q)")


def _needs(diagnosis: Diagnosis) -> Iterator[NotChecked]:
    job = diagnosis.job
    if job.from_log:
        yield NotChecked("GT501", "the topology of the node: nvidia-smi topo -m, a sysfs root, or NCCL's topology XML")
    if not job.narrowed:
        yield NotChecked(
            "GT502", "which GPUs the job has: --gpus, --pod with podresources or a checkpoint, CUDA_VISIBLE_DEVICES, "
            "or an NCCL log",
        )  # fmt: skip
    if job.nccl is None:
        yield NotChecked("GT511", "how NCCL connects the GPUs: its log (NCCL_DEBUG=INFO), --nccl-log FILE")
    elif not job.hops:
        yield NotChecked("GT511", "peer lines: the whole log, NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV")
    if job.measured is None:
        yield NotChecked("GT540", "what the job reaches: --measured GB/s, or all_reduce_perf (nccl-tests)")
    if job.narrowed and not job.from_log and diagnosis.seen.cross_package is None and len(job.gpus) > 1:
        yield NotChecked("GT501", "which NUMA nodes are one socket: lscpu, sysfs, or --assume sockets=numa")
    yield from _of_the_machine(diagnosis)
    if diagnosis.node.virtual or any(slow_links(diagnosis)):
        yield NotChecked("GT101", "ACS and ATS on the host of this virtual machine: lspci -vvv there (root)")
