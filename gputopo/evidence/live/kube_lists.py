"""Which lists the API server is asked for, and what it means when one of them is refused: the table behind
deploy/rbac.yaml, which grants `list` on each of these and nothing else.
"""

from __future__ import annotations

from typing import NamedTuple


class Listed(NamedTuple):
    """One resource. `needed`: without it there is no answer; else a refusal is a note."""

    plural: str
    kind: str
    group: str = ""  # "": the core group
    versions: tuple[str, ...] = ("v1",)  # newest first
    namespaced: bool = True
    needed: bool = False
    without: str = ""  # what is not known without it
    namespace: str = ""  # asked for there only
    fields: tuple[str, ...] = ()  # field selectors, one request each
    on_fake: bool = False  # only where a node is the fake-gpu-operator's


PODS = Listed("pods", "Pod", needed=True)
NODES = Listed(
    "nodes", "Node", namespaced=False, without="how many GPUs nodes have, and which nodes are fake, is not known"
)
_DRA = "resource.k8s.io"
_DRA_VERSIONS = ("v1", "v1beta2", "v1beta1")
LISTS: tuple[Listed, ...] = (
    PODS,
    NODES,
    Listed("resourceclaims", "ResourceClaim", _DRA, _DRA_VERSIONS, without="devices of claims are not known"),
    Listed("resourceslices", "ResourceSlice", _DRA, _DRA_VERSIONS, namespaced=False,
           without="which GPU a device of a claim is, is not known"),
    Listed("events", "Event", fields=("reason=FailedScheduling", "reason=TopologyAffinityError",
                                      "reason=UnexpectedAdmissionError"),
           without="why pods that are gone were refused is not known"),
    Listed("noderesourcetopologies", "NodeResourceTopology", "topology.node.k8s.io", ("v1alpha2", "v1alpha1"),
           namespaced=False, without="zones of NUMA nodes are not known"),
    Listed("devices", "Device", "scheduling.koordinator.sh", ("v1alpha1",), namespaced=False,
           without="which GPU a minor number of Koordinator is, is not known"),
    Listed("configmaps", "ConfigMap", namespace="gpu-operator", on_fake=True,
           without="which GPUs the fake-gpu-operator made up is not known"),
)  # fmt: skip
