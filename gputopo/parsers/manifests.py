"""Objects and configurations of a file with the place of each value: what lint reads.

    >>> [one] = read("kind: Pod\\napiVersion: v1\\nspec:\\n  nodeName: |-\\n    n1\\n")
    >>> one.at(("spec", "nodeName")), one.key(("spec", "nodeName")), one.inside(("spec", "nodeName"), 1, 2)
    (Place(line=4, column=13), Place(line=4, column=3), Place(line=5, column=6))

JSON is read as the YAML that it nearly always is; where it is not, or is too long for that, a place is the line of
the object. A document without a kind is a configuration: a mapping with `version: v1`, `flags` or `kubeletconfig`, or
`nodePools` or `gpuProduct`, which are the fake-gpu-operator's. One with `cdiVersion` is a specification of CDI, whose
`kind` is that of its devices (`nvidia.com/gpu`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.parsers.kube_objects import read as read_objects
from gputopo.parsers.kube_objects import yaml_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.manifest import Manifest, SourceText

_CONFIGURATION = ("flags", "sharing", "kubeletconfig", "nodePools", "gpuProduct")
_INSIDE = ("KubeletConfiguration", "flags:", "sharing:", "migStrategy", "nodePools:", "gpuProduct:")


def read(text: str) -> tuple[Manifest, ...]:
    """Raises Unreadable: no object, or not YAML and not JSON."""
    source = SourceText(text)
    try:
        found = tuple(one for node, body in yaml_nodes(text) for one in _manifests(node, body, source, node))
    except Unreadable:
        if text.lstrip()[:1] not in ("{", "["):
            raise
        return tuple(Manifest(one, source, None, _line(one)) for one in read_objects(text))
    if not found:
        raise Unreadable("no Kubernetes object in it")
    return found


def _line(one: KubeObject) -> int:
    return int(one.where.removeprefix("line "))


def _manifests(node: Any, body: Any, source: SourceText, document: Any) -> Iterator[Manifest]:
    line = node.start_mark.line + 1
    if body is None:
        return
    if isinstance(body, list):
        for place, one in enumerate(body):
            yield from _manifests(node.value[place], one, source, document)
        return
    if not isinstance(body, dict):
        raise Unreadable("a document is no mapping, so no Kubernetes object", line)
    kind = body.get("kind")
    # Charts and linters have a `version` too, but not `v1`.
    configures = body.get("version") == "v1" or any(key in body for key in _CONFIGURATION)
    if "cdiVersion" in body or (kind is None and configures):
        yield Manifest(KubeObject(body, f"line {line}"), source, node, line, None, document)
        return
    if not isinstance(kind, str) or not kind:
        raise Unreadable("an object without a kind", line)
    if not kind.endswith("List") or "items" not in body:
        own = Manifest(KubeObject(body, f"line {line}"), source, node, line, None, document)
        yield from (_configurations(own) if kind == "ConfigMap" else ()) or (own,)
        return
    yield from _items(node, body, kind, source, document)


def _configurations(own: Manifest) -> tuple[Manifest, ...]:
    """What a ConfigMap holds: configurations, each as the file that it is mounted as."""
    data = own.object.body.get("data")
    found: list[Manifest] = []
    for key, text in data.items() if isinstance(data, dict) else ():
        if isinstance(text, str) and any(word in text for word in _INSIDE):
            try:
                inner = read(text)
            except Unreadable:
                continue
            found += [one._replace(outer=(own, ("data", key))) for one in inner if one.outer is None]
    return tuple(found)


def _items(
    node: Any, body: dict[str, Any], kind: str, source: SourceText, document: Any
) -> Iterator[Manifest]:  # fmt: skip
    items = body["items"]
    if items is not None and not isinstance(items, list):
        raise Unreadable(f"items of {kind} is no list", node.start_mark.line + 1)
    typed = {"kind": kind.removesuffix("List"), "apiVersion": body.get("apiVersion")} if kind != "List" else {}
    of_items = next(value for key, value in reversed(node.value) if key.value == "items")
    for place, one in enumerate(items or []):
        whole = typed | one if isinstance(one, dict) else one
        yield from _manifests(of_items.value[place], whole, source, document)
