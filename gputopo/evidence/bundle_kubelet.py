"""The kubelet's state files without the names that people gave: containers, claims, namespaces, pools.

    kubelet_internal_checkpoint   {"Data": {"PodDeviceEntries": [{"PodUID", "ContainerName", "DeviceIDs", …}]}}
    cpu_manager_state             {"entries": {POD UID: {CONTAINER: "2-5"}}}; memory_manager_state alike
    dra_manager_state             {"Data": "a JSON text: {\\"ClaimInfoStateList\\": [{ClaimName, Namespace, …}]}"}

(kubelet, pkg/kubelet/cm: devicemanager/checkpoint, cpumanager/state, memorymanager/state, dra/state.)
UIDs and device ids are left to redaction by shape, so that they stay equal over the files. The raw
answer of the device plugin (`AllocResp`) names the devices once more, with environment variables and
paths: it is dropped. The checksum is that of another text now, and unknown.
"""

from __future__ import annotations

import json
from typing import Any

from gputopo.evidence.redact import Redactor

# Field → the kind of name in it, a text or a list of texts.
_NAMES = {
    "ContainerName": "pod", "ClaimName": "pod", "Namespace": "pod", "PodName": "pod", "PodNamespace": "pod",
    "RequestNames": "pod", "PoolName": "host",
}  # fmt: skip
_DROPPED = ("AllocResp", "Checksum", "checksum", "dataChecksum")
_BY_POD = ("entries", "baselines")  # of a pod's UID: by container
_INNER = ("Data", "data")  # the whole state once more, as a text (`data`: since 1.37)


def names_replaced(data: bytes, redactor: Redactor) -> bytes | None:
    """The file as JSON again; `None` where it is none."""
    try:
        document = json.loads(data)
        return (json.dumps(_replaced(document, redactor)) + "\n").encode()
    except (ValueError, RecursionError):
        return None


def _replaced(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, list):
        return [_replaced(one, redactor) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: _field(key, one, redactor) for key, one in value.items()}


def _field(key: str, value: Any, redactor: Redactor) -> Any:
    if key in _DROPPED:
        return None
    if key in _NAMES:
        return _named(_NAMES[key], value, redactor)
    if key in _BY_POD and isinstance(value, dict):
        return {pod: _containers(held, redactor) for pod, held in value.items()}
    if key in _INNER and isinstance(value, str) and value:
        return json.dumps(_replaced(json.loads(value), redactor))
    return _replaced(value, redactor)


def _named(kind: str, value: Any, redactor: Redactor) -> Any:
    if isinstance(value, list):
        return [_named(kind, one, redactor) for one in value]
    return redactor.name(kind, value) if isinstance(value, str) and value else _replaced(value, redactor)


def _containers(held: Any, redactor: Redactor) -> Any:
    """Version 1 of cpu_manager_state has no pods: a container's id, and its CPUs."""
    if not isinstance(held, dict):
        return held
    return {redactor.name("pod", name): _replaced(value, redactor) for name, value in held.items()}
