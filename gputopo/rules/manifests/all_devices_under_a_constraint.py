"""GT314 all-devices-under-a-constraint

What it says
    A request with `allocationMode: All` is covered by a constraint.

Why it matters
    All means every matching device of the node. Where one of them does not fit the constraint there is no other
    choice, and the allocator ends with "cannot add device ... because a claim constraint would not be satisfied"
    instead of leaving the device out or going on to the next node.

What to do
    A count, so that devices that fit together can be chosen; or a selector that leaves the same devices as the
    constraint; or the constraint without this request.

When it is silent
    The constraint does not name the request, or the request asks for a count. Whether the devices of a node do fit is
    known only with slices: `gputopo allocate dra`.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [claim] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceClaim
    ... metadata: {name: c}
    ... spec:
    ...   devices:
    ...     requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]
    ...     constraints: [{matchAttribute: gpu.nvidia.com/productName}]
    ... ''')
    >>> [found.message for found in check(claim, Context())]
    ['request gpus takes all devices: one with another productName is an error']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.published import BUS, DRIVER
from gputopo.rules.manifests.asks import CLAIMS, asks, constraints
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT314"
SEVERITY = "warning"
KINDS = CLAIMS
# Of which every device has its own.
_OWN = (BUS, *(f"{DRIVER}/{name}" for name in ("uuid", "index", "minor", "pcieBusID", "gpuModuleID")))


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    for limit in constraints(manifest):
        name = limit.attribute.rpartition("/")[2]
        for ask in asks(manifest):
            if ask.mode != "All" or not limit.covers(ask):
                continue
            if limit.key == "distinctAttribute":
                why = f"two with the same {name} are an error"
            elif limit.attribute in _OWN:
                why = f"every device has its own {name}, so that a second one is an error"
            else:
                why = f"one with another {name} is an error"
            message = f"request {ask.name} takes all devices: {why}"
            path = (*limit.path, limit.key)
            yield problem(CODE, SEVERITY, manifest, path, message, "", "a count instead of allocationMode: All")
