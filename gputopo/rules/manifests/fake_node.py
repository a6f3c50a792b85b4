"""GT373 fake-node

What it says
    A node is fake: KWOK's, without a kubelet, or one whose GPUs are those of the fake-gpu-operator. And where such a
    node has another number of GPUs than its pool: which restarts mend it.

Why it matters
    Labels and capacity of such a node are no hardware: nothing about wiring, NUMA nodes or links follows from them.
    A pool that is changed later does not reach the nodes that are there: their ConfigMaps stay as they are.

What to do
    Nothing about a fake node as such. After a change of the pool delete the node's ConfigMap, restart status-updater,
    which makes it anew, and then the device plugin's pod of the node.

When it is silent
    The node carries none of these marks. GPUs are counted where the ConfigMaps of the operator are among the files.

    Source: kubernetes-sigs/kwok 172defa kustomize/kwok/kwok.yaml (the annotation; a label where it is so configured);
    run-ai/fake-gpu-operator 3a3f644 internal/status-exporter/export/labels/labels_builder.go (run.ai/fake.gpu),
    internal/status-updater/handlers/node/topology_cm.go (a node's ConfigMap is made once and kept), cmd/device-plugin
    (reads it at its start), internal/kwok-gpu-device-plugin/controllers/configmap (acts when it is made).

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [node] = read('''apiVersion: v1
    ... kind: Node
    ... metadata: {name: a, annotations: {kwok.x-k8s.io/node: fake}}
    ... ''')
    >>> [(found.severity, found.message) for found in check(node, Context())]
    [('info', 'the node is of KWOK: no kubelet, no GPU and no wiring stands behind it')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.objects.fake_pools import Cluster, clusters, gpus_of_node
from gputopo.rules.manifests.objects.node_parts import ALLOCATABLE, ANNOTATIONS, LABELS, NodePart, node_part
from gputopo.rules.manifests.objects.pod_parts import GPU
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.fake_gpu_pools import FAKE_LABEL as _FAKE_GPU
from gputopo.terms.fake_gpu_pools import KWOK_KEY as _KWOK
from gputopo.terms.fake_gpu_pools import gpu_count, is_mock, is_new_form, mended
from gputopo.terms.manifest import Manifest

CODE = "GT373"
SEVERITY = "info"
KINDS = ("Node",)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    node = node_part(manifest)
    if node is None:
        return
    for above, texts in ((ANNOTATIONS, node.annotations), (LABELS, node.labels)):
        if texts.get(_KWOK) == "fake":
            message = "the node is of KWOK: no kubelet, no GPU and no wiring stands behind it"
            yield problem(CODE, SEVERITY, manifest, (*above, _KWOK), message)
            break
    if node.labels.get(_FAKE_GPU) == "true":
        message = "the node's GPUs are fake: its labels and its capacity are no hardware"
        because = "the fake-gpu-operator writes what its pool says; of topology that is NUMA nodes at most"
        yield problem(CODE, SEVERITY, manifest, (*LABELS, _FAKE_GPU), message, because)
    for cluster in clusters(context):
        yield from _pool(manifest, node, cluster, context)


def _pool(manifest: Manifest, node: NodePart, cluster: Cluster, context: Context) -> Iterator[Problem]:
    label = cluster.label
    name = node.labels.get(label) if label else None
    if name is None:
        return
    pool = cluster.pools.get(name)
    if not isinstance(pool, dict):
        message = f"the node's pool {name} is not in ConfigMap {cluster.name}"
        because = "status-updater logs an error, and the node gets no GPU"
        remedy = ", ".join(map(str, cluster.pools))
        yield problem(CODE, "warning", manifest, (*LABELS, label), message, because, remedy)
        return
    there = node.allocatable.get(GPU)
    new_form = is_new_form(cluster.body)
    if there is None or (new_form and is_mock(pool)):
        return
    own, wanted = gpus_of_node(context, cluster, node.name), gpu_count(pool, new_form)
    made = there if own is None else own
    said = [f"{GPU} is {there}"]
    said += [f"ConfigMap {cluster.name}-{node.name} lists {own}"] if own not in (None, there) else []
    said += [f"pool {name} says {wanted}"] if wanted not in (None, made) else []
    if len(said) > 1:
        because, remedy = mended(f"{cluster.name}-{node.name}", wanted not in (None, made), _is_kwok(node))
        yield problem(CODE, "warning", manifest, (*ALLOCATABLE, GPU), ", ".join(said), because, remedy)


def _is_kwok(node: NodePart) -> bool:
    return node.annotations.get(_KWOK) == "fake"  # the operator looks at the annotation only
