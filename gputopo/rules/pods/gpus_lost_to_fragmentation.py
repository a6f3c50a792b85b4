"""GT421 gpus-lost-to-fragmentation

What it says
    GPUs are free, but lie on several sockets, so that no set of that size is on one, though a socket is large enough.

Why it matters
    A pod that wants them all crosses sockets, or is refused under `restricted` and `single-numa-node`.

What to do
    Move the smallest pod to the socket with fewer free GPUs: delete it and let it start again.

When it is silent
    Fewer than two GPUs are free, or the free ones are on one socket, or no socket holds that many.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> [found] = check(audit(("GPU0",), ("GPU2",)))
    >>> found.message
    '2 GPUs are free, at most 1 of one socket: GPU1 | GPU3'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit, split

CODE = "GT421"
SEVERITY = "info"


def check(audit: Audit) -> Iterator[Finding]:
    gpus = audit.sight.gpus
    free = audit.free or ()
    sockets = [gpus[gpu].packages for gpu in free]
    if len(free) < 2 or any(one is None or len(one) != 1 for one in sockets):
        return
    most = max(Counter(sockets).values())
    sizes = Counter(gpu.packages for gpu in audit.node.gpus)
    if most == len(free) or max(sizes.values()) < len(free):
        return
    yield Finding(
        CODE,
        SEVERITY,
        tuple(free),
        f"{len(free)} GPUs are free, at most {most} of one socket: {split(free, audit)}",
        matters=f"a pod of {len(free)} crosses sockets, or is refused where alignment is demanded",
        remedy="gputopo allocate sequence says what restarting which pods in which order gives",
    )
