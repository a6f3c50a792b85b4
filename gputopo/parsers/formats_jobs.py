"""What a job writes: `gputopo diagnose` reads it beside evidence of the node, as a source or by --nccl-log.

Modules of these rows take the lines of a log one at a time (recognise_job.py). Not for --as.
"""

from __future__ import annotations

from gputopo.parsers.formats import Format

JOBS: tuple[Format, ...] = (
    Format(
        "nccl-log", "nccl_log", ("NCCL INFO ", "NCCL WARN ", "NCCL version 2."),
        "NCCL_DEBUG=INFO output, 2.4 and later, several processes and jobs mixed, cut",
        "ranks and their PCI addresses, who talks to whom over what, rings, channels, NVLS, GPUDirect, warnings",
        "what was not printed: bandwidth, the node beyond the job's GPUs",
        get=("NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,NET COMMAND > job.log",
             "kubectl logs POD > job.log"),
    ),
    Format(
        "nccl-tests", "nccl_tests",
        ("# Avg bus bandwidth", "# Out of bounds", "# nThread ", "out-of-place", "# Collective test", " float ",
         " sum "),
        "all_reduce_perf and its siblings",
        "measured bandwidth by message size, which GPUs of which hosts",
        "why it is what it is: give the NCCL log and the node",
        get=("all_reduce_perf -b 8M -e 8G -f 2 -g 8 > all_reduce.txt",),
    ),
    Format(
        "job-log", "job_log",
        ("parallel", "CUDA_VISIBLE_DEVICES", "world", "nproc", "using GPU", "--tp", "tp_size"),
        "lines of vLLM, SGLang, torchrun, DeepSpeed and Megatron that name ranks and devices",
        "how a model is split, devices a process sees and their order, where ranks are",
        "which GPU of the node a device number is",
        get=("kubectl logs POD > job.log",),
    ),
)  # fmt: skip
