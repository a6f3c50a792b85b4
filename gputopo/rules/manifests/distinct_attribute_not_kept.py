"""GT309 distinct-attribute-not-kept

What it says
    distinctAttribute over a request of three or more devices, on a release that compares a device with the one before
    it only.

Why it matters
    Two devices with the same value are accepted if another stands between them (kubernetes/kubernetes issue 140438).

What to do
    One request a device, each named in the constraint; or Kubernetes 1.37.

When it is silent
    No request of the constraint asks for more than two devices, or the release is 1.37 or later.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec:
    ...   devices:
    ...     requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 3}}]
    ...     constraints: [{distinctAttribute: resource.kubernetes.io/numaNode}]
    ... ''')
    >>> [found.message for found in check(claim, Context())]
    ['distinctAttribute over 3 devices of request gpus: 1.36 compares neighbours only, two may be alike']
    >>> list(check(claim, Context(minor=37)))
    []
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.asks import CLAIMS, asks, constraints
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT309"
SEVERITY = "warning"
KINDS = CLAIMS
_FIXED = 37


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if context.minor >= _FIXED:
        return
    for limit in constraints(manifest):
        for ask in asks(manifest):
            if limit.key == "distinctAttribute" and limit.covers(ask) and ask.number >= 3:
                message = f"distinctAttribute over {ask.number} devices of request {ask.name}: " \
                          f"1.{context.minor} compares neighbours only, two may be alike"  # fmt: skip
                yield problem(CODE, SEVERITY, manifest, (*limit.path, limit.key), message, "", "one request a device")
