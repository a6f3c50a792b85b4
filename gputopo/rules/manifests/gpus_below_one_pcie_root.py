"""GT308 gpus-below-one-pcie-root

What it says
    A constraint wants several of NVIDIA's GPUs below one PCIe root.

Why it matters
    On an HGX H100 every GPU has a root of its own: there the claim is never satisfied. Where roots
    are shared, pcieRoot does not tell which GPUs are near each other below it.

What to do
    One GPU and one NIC in each constraint: a request each, a constraint a pair. For GPUs of one NUMA node
    matchAttribute resource.kubernetes.io/numaNode, which version 0.5 of the driver publishes.

When it is silent
    The constraint covers one GPU only.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec:
    ...   devices:
    ...     requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]
    ...     constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot, requests: [gpus]}]
    ... ''')
    >>> [found.message for found in check(claim, Context())]
    ['4 GPUs of one PCIe root: on HGX and DGX H100 every GPU has its own']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.published import ROOT
from gputopo.rules.manifests.asks import CLAIMS, Ask, asks, constraints
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT308"
SEVERITY = "warning"
KINDS = CLAIMS
_REMEDY = "one GPU and one NIC a constraint; for GPUs of one NUMA node resource.kubernetes.io/numaNode (driver 0.5)"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for limit in constraints(manifest):
        if limit.key != "matchAttribute" or limit.attribute != ROOT:
            continue
        count = _least(ask for ask in asks(manifest, context.together) if ask.of_nvidia and limit.covers(ask))
        if count > 1:
            message = f"{count} GPUs of one PCIe root: on HGX and DGX H100 every GPU has its own"
            yield problem(CODE, SEVERITY, manifest, (*limit.path, limit.key), message, "", _REMEDY)


def _least(covered: Iterator[Ask]) -> int:
    """GPUs together; of the alternatives of one request the smallest counts."""
    counts: dict[str, int] = {}
    for ask in covered:
        name = ask.name.partition("/")[0]
        counts[name] = min(counts.get(name, ask.number), ask.number)
    return sum(counts.values())
