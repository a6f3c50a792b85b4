"""What is kept of an object that the API server gave: environments and commands, where secrets are, never leave the
process that asked, and a list of pods becomes a tenth.

    >>> pod = {"metadata": {"name": "a", "managedFields": [1]}, "spec": {"containers": [{"name": "c", "env": [1]}]}}
    >>> kept("Pod", pod)
    {'metadata': {'name': 'a'}, 'spec': {'containers': [{'name': 'c'}]}}
"""

from __future__ import annotations

from typing import Any

_METADATA = ("name", "namespace", "uid", "labels", "annotations", "ownerReferences", "creationTimestamp",
             "deletionTimestamp")  # fmt: skip
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SPEC = ("nodeName", "resourceClaims", "containers", "initContainers", "schedulerName", "resources")
_CONTAINERS = ("containers", "initContainers")
_CONTAINER = ("name", "resources", "restartPolicy")
_OF_NODE = ("allocatable", "capacity", "conditions", "nodeInfo")

Body = dict[str, Any]


def kept(kind: str, body: Body) -> Body:
    """A new object; of kinds other than Pod and Node only the bookkeeping is left out."""
    found = dict(body)
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        own = {key: metadata[key] for key in _METADATA if key in metadata}
        notes = own.get("annotations")
        if isinstance(notes, dict) and _APPLIED in notes:
            own["annotations"] = {key: value for key, value in notes.items() if key != _APPLIED}
        found["metadata"] = own
    if kind == "Pod" and isinstance(body.get("spec"), dict):
        spec = {key: body["spec"][key] for key in _SPEC if key in body["spec"]}
        for key in _CONTAINERS:
            if isinstance(spec.get(key), list):
                spec[key] = [_container(one) for one in spec[key]]
        found["spec"] = spec
    if kind == "Node" and isinstance(body.get("status"), dict):
        found["status"] = {key: body["status"][key] for key in _OF_NODE if key in body["status"]}
    return found


def _container(body: Any) -> Any:
    return {key: body[key] for key in _CONTAINER if key in body} if isinstance(body, dict) else body
