"""ConfigMaps of run-ai/fake-gpu-operator among the files: its pools, and what a node's own one says.

What a pool says is read in terms/fake_gpu_pools.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gputopo.rules.manifests.objects.pod_parts import mapping_of, text_of
from gputopo.rules.manifests.objects.together import of_kind
from gputopo.rules.manifests.problem import Context
from gputopo.terms.fake_gpu_pools import KEY
from gputopo.terms.kube_object import Body
from gputopo.terms.manifest import Manifest


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
