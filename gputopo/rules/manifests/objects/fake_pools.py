"""Pools of run-ai/fake-gpu-operator: how many GPUs a node of a pool is to have, and what a node's own ConfigMap says.

Source: run-ai/fake-gpu-operator 3a3f644 (2026-07-01): internal/common/topology (types.go, normalize.go: a pool with
`gpu` makes the whole document one of the new form; resolve.go), internal/common/profile (DeviceCount),
deploy/fake-gpu-operator/templates/profiles/builtin.yaml (the GPUs of a profile).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gputopo.rules.manifests.objects.pod_parts import mapping_of, text_of
from gputopo.rules.manifests.objects.together import of_kind
from gputopo.rules.manifests.problem import Context
from gputopo.terms.kube_object import Body
from gputopo.terms.manifest import Manifest

KEY = "topology.yml"
_PROFILES = {"a100": 8, "b200": 8, "gb200": 8, "gb300": 8, "h100": 8, "l40s": 8, "t4": 4}


class Cluster(NamedTuple):
    """The ConfigMap that the operator is installed with."""

    body: Body
    namespace: str
    name: str

    @property
    def label(self) -> str:
        return text_of(self.body, "nodePoolLabelKey")

    @property
    def pools(self) -> Body:
        return mapping_of(self.body, "nodePools")


def clusters(context: Context) -> Iterator[Cluster]:
    for one in of_kind(context, ""):
        if is_topology(one) and "nodePools" in one.object.body:
            yield Cluster(one.object.body, *_owner(one))


def gpus_of_node(context: Context, cluster: Cluster, node: str) -> int | None:
    """What the node's own ConfigMap lists. None: it is not among the files."""
    for one in of_kind(context, ""):
        listed = one.object.body.get("gpus")
        if is_topology(one) and isinstance(listed, list):
            namespace, name = _owner(one)
            if name == f"{cluster.name}-{node}" and namespace == cluster.namespace:
                return len(listed)
    return None


def is_topology(manifest: Manifest) -> bool:
    """A text below `topology.yml` of a ConfigMap."""
    return manifest.outer is not None and manifest.outer[1] == ("data", KEY)


def _owner(manifest: Manifest) -> tuple[str, str]:
    assert manifest.outer is not None
    metadata = mapping_of(manifest.outer[0].object.body, "metadata")
    return text_of(metadata, "namespace"), text_of(metadata, "name")


def is_new_form(body: Body) -> bool:
    pools = [one for one in mapping_of(body, "nodePools").values() if isinstance(one, dict)]
    if any("gpu" in one for one in pools):
        return True
    return not any(key in one for one in pools for key in ("gpuProduct", "gpuCount")) and "gpuOperator" in body


def gpu_count(pool: Body, new_form: bool) -> int | None:
    """None: the files do not say it.

    >>> gpu_count({"gpuCount": 2}, False), gpu_count({"gpu": {"profile": "t4"}}, True)
    (2, 4)
    >>> gpu_count({"gpu": {"profile": "mine", "overrides": {"device_count": 3}}}, True)
    3
    """
    if not new_form:
        count = pool.get("gpuCount", 0)
        return count if type(count) is int else None
    gpu = mapping_of(pool, "gpu")
    overrides = mapping_of(gpu, "overrides")
    count, devices = overrides.get("device_count"), overrides.get("devices")
    if type(count) is int and count > 0:
        return count
    if isinstance(devices, list):
        return len(devices)
    profile = text_of(gpu, "profile")
    return _PROFILES.get(profile) if profile else 0
