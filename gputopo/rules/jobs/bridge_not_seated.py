"""GT516 bridge-not-seated

What it says
    Two GPUs are joined by an odd number of NVLinks, three or more: bridges have two or four (or twelve) links.

Why it matters
    A bridge that is not fully seated loses single links; NCCL hangs or slows down on it (nccl issue 557, where
    `nvidia-smi topo -m` itself took two minutes).

What to do
    `nvidia-smi nvlink -s` of both GPUs; reseat the bridge. An odd number is right on some boards (POWER9).

When it is silent
    The links go into an NVSwitch, the number is even or 1, or the CPUs are POWER's, whose GPUs have three.

Example
    >>> from gputopo.jobs.join import Asked
    >>> from gputopo.rules.jobs.example import diagnosis, node
    >>> [found] = check(diagnosis(node(3), asked=Asked(gpus=("GPU0", "GPU1"))))
    >>> found.severity, found.message
    ('info', 'GPU0-GPU1 have NV3: an odd link count, where a bridge has 2 or 4')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import pairs as named

CODE = "GT516"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    if any((one.arch or "").startswith("ppc") for one in diagnosis.node.packages or ()):
        return
    odd = [
        pair for pair in diagnosis.pairs
        if pair.nvlinks is not None and pair.nvlinks > 1 and pair.nvlinks % 2 and not pair.via_switch
    ]  # fmt: skip
    if not odd:
        return
    levels = "/".join(dict.fromkeys(pair.level or "" for pair in odd))
    yield Finding(
        CODE,
        SEVERITY,
        tuple(dict.fromkeys(id for pair in odd for id in (pair.a, pair.b))),
        f"{named([(pair.a, pair.b) for pair in odd])} have {levels}: an odd link count, where a bridge has 2 or 4",
        matters="a link may be down: a bridge that is partially seated; confirm with nvidia-smi nvlink -s",
        because="a connector without full contact, or a board that is built so",
        remedy="nvidia-smi nvlink -s of both GPUs; reseat the bridge",
        evidence=tuple(Evidence(None, None, f"{pair.a}-{pair.b} {pair.level}") for pair in odd[:3]),
    )
