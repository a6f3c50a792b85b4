"""GT372 vgpu-annotation

What it says
    An annotation by which HAMi or Volcano shares GPUs does not decode, contradicts the node, or has no effect. Of a
    Volcano node with several GPUs also that its scheduler cannot see their topology.

Why it matters
    The scheduler passes over a node whose annotation it cannot read, without a word to the pod that waits for it; a
    policy that it does not know is taken for another.

What to do
    As the message says. The node's annotations are written by the device plugin: restart it, and run the plugin and
    the scheduler in one release.

When it is silent
    The annotations decode, and what they say agrees with the node's capacity and labels. How old a handshake is is not
    judged, since the file does not say when it was saved.

    Source: hami_annotations.py and volcano_annotations.py of objects name the repositories and functions.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [pod] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata:
    ...   name: p
    ...   annotations: {hami.io/gpu-scheduler-policy: topology}
    ... ''')
    >>> [(found.place, found.message) for found in check(pod, Context())]
    [(Place(line=5, column=47), 'hami.io/gpu-scheduler-policy topology is taken as spread')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.objects import hami_annotations, volcano_annotations
from gputopo.rules.manifests.objects.hami_annotations import Said
from gputopo.rules.manifests.objects.node_parts import ANNOTATIONS, NodePart, node_part
from gputopo.rules.manifests.objects.node_selection import chooses, chosen
from gputopo.rules.manifests.objects.pod_parts import POD_KINDS, PodPart, mapping_of, pod_parts
from gputopo.rules.manifests.objects.together import nodes
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest

CODE = "GT372"
SEVERITY = "warning"
KINDS = ("Node", *POD_KINDS)


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        node = node_part(manifest)
        if node is not None:
            for one in (*hami_annotations.of_node(node), *volcano_annotations.of_node(node)):
                yield _problem(manifest, (), one)
        return
    for part in pod_parts(manifest):
        annotations = mapping_of(part.metadata, "annotations")
        texts = {str(key): value for key, value in annotations.items() if isinstance(value, str)}
        where = _nodes(part, texts, context) if hami_annotations.OF_PODS & texts.keys() else []
        for one in (*hami_annotations.of_pod(texts, where), *volcano_annotations.of_pod(texts)):
            yield _problem(manifest, part.path, one)


def _problem(manifest: Manifest, above: tuple[str | int, ...], one: Said) -> Problem:
    path = (*above, *ANNOTATIONS, one.annotation)
    return problem(CODE, one.severity, manifest, path, one.message, one.because, one.remedy)


def _nodes(part: PodPart, annotations: dict[str, str], context: Context) -> list[NodePart]:
    """Registered with HAMi, and where the pod is or can be."""
    named = annotations.get(hami_annotations.NODE)
    found = chosen(part, context) if not named and chooses(part) else (node for _, node in nodes(context))
    return [node for node in found if hami_annotations.gpus_of(node) and named in (None, "", node.name)]
