"""GT410 replicas-of-one-gpu

What it says
    A container asked for several units and holds several replicas of one GPU.

Why it matters
    It has fewer GPUs than it asked for: ranks share one, and NCCL refuses two ranks on one GPU.

What to do
    Ask for one unit a container where GPUs are shared (failRequestsGreaterThanOne refuses others), or give the job a
    resource that is not shared.

When it is silent
    Every unit of the container is of its own GPU.

Example
    >>> from gputopo.pods.model import Device
    >>> from gputopo.rules.pods.example import container, held, node
    >>> on = node()
    >>> twice = tuple(Device("nvidia.com/gpu.shared", f"GPU-0::{at}", "GPU0", replica=str(at)) for at in (0, 3))
    >>> [found] = check(Audit(held(on, container(("GPU0",), on)._replace(devices=twice))))
    >>> found.message
    'ml/job/main: 2 units are 1 GPU: GPU0 twice'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit

CODE = "GT410"
SEVERITY = "warning"
_TIMES = {2: "twice", 3: "three times"}


def check(audit: Audit) -> Iterator[Finding]:
    for one in audit.held.containers:
        counts = Counter(each.unit for each in one.devices if each.replica is not None)
        more = {gpu: number for gpu, number in counts.items() if number > 1}
        if not more:
            continue
        units = sum(counts.values())
        which = ", ".join(f"{gpu} {_TIMES.get(number, f'{number} times')}" for gpu, number in more.items())
        yield Finding(
            CODE,
            SEVERITY,
            (one.title, *more),
            f"{one.title}: {units} units are {len(counts)} GPU{'s' if len(counts) > 1 else ''}: {which}",
            matters="it has less memory and compute than it asked for; NCCL refuses two ranks on one GPU",
            because="the device plugin shares GPUs (time-slicing or MPS) and counts replicas",
            remedy="sharing.timeSlicing.failRequestsGreaterThanOne: true, or a resource that is not shared",
        )
