"""GT530 custom-all-reduce-off

What it says
    vLLM or SGLang does not use its own all-reduce: it needs NVLink between all GPUs of a group larger than two.

Why it matters
    A small all-reduce takes some 20 us by NCCL instead of 4 to 7 us: decoding of small batches feels it.

What to do
    A tensor-parallel group that is one NVLink island, or pipeline parallelism between islands.

When it is silent
    The log does not say so. With two GPUs, or NVLink between all, the line has another cause (settings, version).

Example
    >>> from gputopo.job_records import FrameworkRecord
    >>> from gputopo.rules.jobs.example import diagnosis
    >>> off = FrameworkRecord(("vllm",), custom_allreduce_off=("not supported on more than two PCIe-only GPUs", 3))
    >>> [found] = check(diagnosis(framework=off))
    >>> found.message
    'vllm runs without its custom all-reduce: not supported on more than two PCIe-only GPUs'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import one_line

CODE = "GT530"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    framework = diagnosis.job.framework
    if framework is None or framework.custom_allreduce_off is None:
        return
    why, line = framework.custom_allreduce_off
    linked = any(pair.nvlinks for pair in diagnosis.pairs)
    what = "not all pairs have NVLink" if linked else "no pair has NVLink"
    yield Finding(
        CODE,
        SEVERITY,
        diagnosis.job.gpus if diagnosis.pairs else (),
        f"{'/'.join(framework.frameworks) or 'the engine'} runs without its custom all-reduce: {one_line(why)[:120]}",
        matters="a small all-reduce takes some 20 us by NCCL instead of 4 to 7 us",
        because=f"it needs NVLink between all GPUs of a group larger than two; here {what}" if diagnosis.pairs
        else "it needs NVLink between all GPUs of a group larger than two",
        remedy="a group that is one NVLink island, or pipeline parallelism between islands",
        evidence=(Evidence(diagnosis.job.framework_source, line, one_line(why)[:160]),),
    )
