"""Kubernetes objects for tests, as kubectl prints them."""

from __future__ import annotations

import json
from typing import Any

from gputopo.holdings import HoldingRecords
from gputopo.parsers.object_holdings import parse

Body = dict[str, Any]


def pod(name: str, node: str | None = "n1", *gpus: str, uid: str | None = None, **more: Any) -> Body:
    """A running pod of one container `c`; `gpus` stand in allocatedResourcesStatus."""
    status: Body = {"phase": "Running", "containerStatuses": [{"name": "c"}]}
    if gpus:
        given = {"name": "nvidia.com/gpu", "resources": [{"resourceID": one, "health": "Healthy"} for one in gpus]}
        status["containerStatuses"][0]["allocatedResourcesStatus"] = [given]
    asks = {"limits": {"nvidia.com/gpu": str(len(gpus))}} if gpus else {}
    metadata: Body = {"namespace": "ml", "name": name, "uid": uid or f"uid-{name}", **more.pop("metadata", {})}
    spec: Body = {"containers": [{"name": "c", "resources": asks}], **more.pop("spec", {})}
    if node is not None:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec,
            "status": {**status, **more.pop("status", {})}}  # fmt: skip


def listed(*objects: Body) -> str:
    """What `kubectl get … -o json` prints of several."""
    body = {"apiVersion": "v1", "items": list(objects), "kind": "List", "metadata": {"resourceVersion": ""}}
    return json.dumps(body, indent=4)


def said(*objects: Body) -> tuple[HoldingRecords, ...]:
    return parse(listed(*objects))
