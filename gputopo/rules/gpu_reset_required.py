"""GT142 gpu-reset-required

What it says
    The driver itself asks for an action on a GPU: a reset, a reboot of the node, or to drain it.

Why it matters
    Until then new work on it fails, or runs without its NVLinks.

What to do
    Drain the node and do what the driver asks for: `nvidia-smi --gpu-reset -i N`, or reboot. On an NVSwitch
    board all GPUs are reset together.

When it is silent
    Reset Required is No, GPU Recovery Action is None, or neither is printed.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("gpu-reset-required", ("GPU1",), "GPU Recovery Action: Reset", "s1", 12)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU1"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'the driver asks for an action on GPU1: GPU Recovery Action: Reset')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import NodeTopology, Observed

CODE = "GT142"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    alike: dict[str, list[Observed]] = {}
    for seen in observed(node, "gpu-reset-required"):
        alike.setdefault(one_line(seen.text), []).append(seen)
    for text, seen_of in alike.items():
        ids = subjects(node, seen_of)
        yield Finding(
            CODE,
            SEVERITY,
            ids,
            f"the driver asks for an action on {names(ids)}: {text}",
            matters="until then new work on it fails, or runs without its NVLinks",
            because="a fault that the driver could not clear while the GPU was in use",
            remedy="drain the node, then nvidia-smi --gpu-reset (or the reboot it asks for); dmesg | grep -i xid",
            evidence=evidence(seen_of),
        )
