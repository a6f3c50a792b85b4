"""GT374 fake-gpu-topology

What it says
    The ConfigMap `topology` of the fake-gpu-operator has a pool that is not what it looks like, or cannot be read.

Why it matters
    Keys that the operator does not know are passed over in silence, and the nodes of the pool have no GPUs or no NUMA
    nodes. What it cannot read ends status-updater at its start.

What to do
    Write all pools in one form: `gpu: {backend, profile, overrides}`, or gpuProduct, gpuCount and gpuMemory.

When it is silent
    Every key is known, the pools have one form, and the GPUs of the NUMA zones add up to those of the pool. Whether a
    profile exists is not looked at.

    Source: run-ai/fake-gpu-operator 3a3f644 (2026-07-01) internal/common/topology (normalize.go, types.go; YAML is not
    read strictly), internal/status-updater/controllers/node/controller.go (pruneTopologyConfigMaps),
    internal/status-exporter/export/numazones/layout.go (distributeGPUs).

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: v1
    ... kind: ConfigMap
    ... metadata: {name: topology}
    ... data:
    ...   topology.yml: |
    ...     nodePoolLabelKey: run.ai/simulated-gpu-node-pool
    ...     nodePools:
    ...       big: {gpu: {backend: fake, profile: h100}, numa: {zones: 2, gpusPerZone: [6, 1]}}
    ... ''')
    >>> [(found.place, found.message) for found in check(own, Context())]
    [(Place(line=8, column=80), 'gpusPerZone sums to 7 but the pool has 8 GPUs')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests.objects.pod_parts import mapping_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.fake_gpu_pools import gpu_count, is_new_form
from gputopo.terms.kube_object import Body, type_name
from gputopo.terms.manifest import Manifest, Path

CODE = "GT374"
SEVERITY = "error"
KINDS = ("FakeGpuTopology",)
_TOP = ("nodePools", "nodePoolLabelKey", "migStrategy", "gpuOperator")
_OLD = ("gpuCount", "gpuMemory", "gpuProduct", "otherDevices")
_NEW = ("gpu", "numa", "resources")
_GPU = ("backend", "profile", "overrides")
_NUMA = (
    "zones", "gpusPerZone", "topologyManagerPolicy", "topologyManagerScope", "cpuPerZone", "memPerZone", "distances",
)  # fmt: skip
_WHOLE = ("gpuCount", "gpuMemory", "zones")
_ENDS = "status-updater ends at its start"
_NO_ZONES = "no NodeResourceTopology of these nodes is published"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body = manifest.object.body
    if "nodePools" not in body:
        return  # of one node: the operator writes it
    if not body.get("nodePoolLabelKey"):
        remedy = "nodePoolLabelKey: run.ai/simulated-gpu-node-pool"
        path: Path = ("nodePools",)
        yield problem(CODE, SEVERITY, manifest, path, "nodePoolLabelKey is missing", _ENDS, remedy, manifest.key(path))
    yield from _unknown(manifest, (), body, _TOP)
    pools = body["nodePools"]
    if pools is not None and not isinstance(pools, dict):
        message = f"nodePools is {type_name(pools)}, not a mapping"
        yield problem(CODE, SEVERITY, manifest, ("nodePools",), message, _ENDS)
        return
    new_form = is_new_form(body)
    for name, pool in (pools or {}).items():
        path = ("nodePools", name)
        if isinstance(pool, dict):
            yield from _pool(manifest, path, pool, new_form)
        elif pool is not None:
            message = f"pool {name} is {type_name(pool)}, not a mapping"
            yield problem(CODE, SEVERITY, manifest, path, message, _ENDS)


def _pool(manifest: Manifest, path: Path, pool: Body, new_form: bool) -> Iterator[Problem]:
    yield from _unknown(manifest, path, pool, _NEW if new_form else _OLD)
    for key in () if new_form else _WHOLE:
        yield from _number(manifest, (*path, key), pool.get(key))
    if new_form:
        yield from _unknown(manifest, (*path, "gpu"), mapping_of(pool, "gpu"), _GPU)
        yield from _zones(manifest, path, pool)
        if "gpu" not in pool and any(key in pool for key in _OLD):
            message = f"pool {path[-1]} has no gpu: its nodes get no GPU"
            because = "another pool has one, so the whole document is read in the new form"
            yield problem(CODE, "warning", manifest, path, message, because, "gpu: {...}", manifest.key(path))
    elif "numa" in pool:
        where: Path = (*path, "numa")
        message = f"numa of pool {path[-1]} has no effect"
        because = "no pool has the key gpu, so the document is read in the old form, which knows no NUMA nodes"
        yield problem(CODE, "warning", manifest, where, message, because, "gpu: {...}", manifest.key(where))


def _zones(manifest: Manifest, path: Path, pool: Body) -> Iterator[Problem]:
    numa = mapping_of(pool, "numa")
    above = (*path, "numa")
    yield from _unknown(manifest, above, numa, _NUMA)
    yield from _number(manifest, (*above, "zones"), numa.get("zones"))
    zones, each = numa.get("zones", 0), numa.get("gpusPerZone")
    if not numa or type(zones) is not int:
        return
    if zones < 1:
        message = f"numa of pool {path[-1]} has no zones: {_NO_ZONES}"
        yield problem(CODE, "warning", manifest, above, message, "", "zones: 2", manifest.key(above))
    elif isinstance(each, list) and each and all(type(one) is int for one in each):
        gpus = gpu_count(pool, True)
        message = ""
        if len(each) != zones:
            message = f"gpusPerZone has {len(each)} entries but zones is {zones}"
        elif gpus is not None and sum(each) != gpus:
            message = f"gpusPerZone sums to {sum(each)} but the pool has {gpus} GPUs"
        if message:
            yield problem(CODE, SEVERITY, manifest, (*above, "gpusPerZone"), message, _NO_ZONES)


def _number(manifest: Manifest, path: Path, value: Any) -> Iterator[Problem]:
    """A text where the operator wants a whole number: YAML in quotes."""
    if isinstance(value, (str, bool, list, dict)):
        message = f"{path[-1]} is {type_name(value)}, not a whole number"
        remedy = value if isinstance(value, str) and value.isdigit() else ""
        yield problem(CODE, SEVERITY, manifest, path, message, _ENDS, remedy)


def _unknown(manifest: Manifest, above: Path, body: Body, known: tuple[str, ...]) -> Iterator[Problem]:
    """Keys that look like a known one that is missing."""
    from difflib import get_close_matches

    missing = [key for key in known if key not in body]
    for key in body:
        near = [] if key in known else get_close_matches(str(key), missing, 1, 0.8)
        if near:
            path = (*above, key)
            message = f"{key} has no effect"
            yield problem(CODE, "warning", manifest, path, message, "", near[0], manifest.key(path))
