"""GT320 slice-not-used

What it says
    A ResourceSlice is well formed and the scheduler still passes it over, or its whole pool.

Why it matters
    Nothing says so: the devices are simply never allocated.

What to do
    Say for which nodes the slice is (nodeName, allNodes, nodeSelector or perDeviceNodeSelection), how many slices the
    pool has (resourceSliceCount), and give each device a name of its own.

When it is silent
    The slice names its nodes, counts its pool, and no device name comes twice. Several slices of one pool are not
    compared.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: resource.k8s.io/v1
    ... kind: ResourceSlice
    ... metadata: {name: s}
    ... spec: {driver: d.example.com, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: a}]}
    ... ''')
    >>> [found.message for found in check(own, Context())]
    ['the slice names no nodes: it is passed over']
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.read_slices import slice_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import WrongShape
from gputopo.terms.manifest import Manifest

CODE = "GT320"
SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    try:
        own = slice_of(manifest.object)
    except WrongShape:
        return  # GT300
    if own.node_name is None and own.node_selector is None and not own.all_nodes and not own.per_device:
        remedy = "nodeName, allNodes, nodeSelector or perDeviceNodeSelection"
        yield problem(
            CODE, SEVERITY, manifest, ("spec",), "the slice names no nodes: it is passed over", "", remedy
        )  # fmt: skip
    if own.slice_count < 1:
        message = "resourceSliceCount is missing: the pool is never complete, its devices are not allocated"
        yield problem(CODE, SEVERITY, manifest, ("spec", "pool", "resourceSliceCount"), message)
    seen: set[str] = set()
    for place, device in enumerate(own.devices):
        if device.name in seen:
            message = f"a second device {device.name}: the pool is invalid, none of its devices is allocated"
            yield problem(CODE, SEVERITY, manifest, ("spec", "devices", place, "name"), message)
        seen.add(device.name)
