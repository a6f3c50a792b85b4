"""GT307 too-many-devices

What it says
    The requests of a claim ask for more than 32 devices together.

Why it matters
    The status of a claim holds 32 devices at most: the scheduler gives the pod up with "exceeds the claim limit".

What to do
    Several claims; each has its own 32.

When it is silent
    32 or fewer. What `allocationMode: All` gives is known only with slices.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: 33}}]}}
    ... ''')
    >>> [found.message for found in check(claim, Context())]
    ['the claim asks for 33 devices; the scheduler allocates 32 at most']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.asks import CLAIMS, asks, devices_path
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CODE = "GT307"
SEVERITY = "error"
KINDS = CLAIMS
_MOST = 32


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    """Of alternatives the smallest counts: one of them is enough."""
    least: dict[Path, tuple[int, Path]] = {}
    requests = (*devices_path(manifest), "requests")
    for ask in asks(manifest):
        request = ask.path[: len(requests) + 1]
        count = ask.number if ask.mode == "ExactCount" else 1
        if request not in least or count < least[request][0]:
            least[request] = (count, ask.path)
    total = sum(count for count, _ in least.values())
    if total > _MOST:
        path = max(least.values(), key=lambda pair: pair[0])[1]
        message = f"the claim asks for {total} devices; the scheduler allocates {_MOST} at most"
        yield problem(CODE, SEVERITY, manifest, (*path, "count"), message)
