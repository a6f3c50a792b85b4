"""GT413 not-given-by-kubelet

What it says
    A process or container uses a GPU that no allocation of the kubelet, of DRA or of a scheduler gave it.

Why it matters
    The GPU counts as free: the next pod gets it too.

What to do
    End what should not run there, or take the GPU out of the plugin's sight (a container started with docker --gpus,
    a systemd service, a pod with NVIDIA_VISIBLE_DEVICES=all).

When it is silent
    No source lists what the kubelet gave, so that nothing can be missing from it; display servers, and what merely
    has a GPU's device file open, as monitors have.

Example
    >>> from gputopo.rules.pods.example import container, held, node
    >>> on = node()
    >>> alone = container(("GPU1",), on)._replace(given=False, uses=("GPU1",), pids=(4711,))
    >>> [found] = check(Audit(held(on, container(("GPU0",), on, "own"), alone)))
    >>> found.message
    'GPU1 is used by ml/job/main, which was not given it'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.pods.model import Container
from gputopo.pods.spoken import NOT_GIVEN
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import names

CODE = "GT413"
SEVERITY = "warning"


def _of_pod(one: Container) -> bool:
    """A container that a runtime was told to give GPUs, but not by Kubernetes, is of none (docker run --gpus)."""
    return bool(one.pod or one.uid)


def check(audit: Audit) -> Iterator[Finding]:
    if not any(one.given and _of_pod(one) for one in audit.held.containers):
        return
    for one in audit.held.containers:
        uses = one.uses or ((one.placed.gpus or ()) if one.by not in NOT_GIVEN else ())
        if (one.given and _of_pod(one)) or not uses:
            continue
        pids = f" (process {', '.join(map(str, one.pids[:4]))})" if one.pids and one.name else ""
        yield Finding(
            CODE,
            SEVERITY,
            (*uses, one.title),
            f"{names(uses)} {'is' if len(uses) == 1 else 'are'} used by {one.title}, which was not given it",
            matters=f"Kubernetes counts it as free and gives it to the next pod{pids}",
            remedy="end it, or keep it from seeing GPUs that Kubernetes hands out",
        )
