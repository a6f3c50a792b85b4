"""What Volcano's vGPU makes of the annotations of a node and of a pod.

Source: volcano-sh/volcano ed72c7c (2026-08-20) pkg/scheduler/api/devices/nvidia/vgpu (NewGPUDevices,
decodeNodeDevices, getSharingMode, checkNodeGPUSharingPredicateAndScore);
Project-HAMi/volcano-vgpu-device-plugin 4fb76ba pkg/util (EncodeNodeDevices).
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.manifests.objects.hami_annotations import Said
from gputopo.rules.manifests.objects.node_parts import NodePart, whole

REGISTER, MODE = "volcano.sh/node-vgpu-register", "volcano.sh/vgpu-mode"
_NEEDED = tuple(f"volcano.sh/vgpu-{last}" for last in ("number", "cores", "memory"))
_FIELDS = 6
_NONE = "Volcano's scheduler knows no GPU of this node"
_MODES = ("hami-core", "mig")  # of a node; every other word of the annotation counts as the first


def of_node(node: NodePart) -> Iterator[Said]:
    text = node.annotations.get(REGISTER)
    if text is None:
        return
    rows = [row.split(",") for row in text.split(":") if "," in row]
    short = next((row for row in rows if len(row) < _FIELDS), None)
    if ":" not in text or not rows:
        yield Said(REGISTER, "error", "node-vgpu-register lists no device that ends with a colon", _NONE)
        return
    if short is not None:
        message = f"node-vgpu-register: {short[0]} has {len(short)} fields, not {_FIELDS}"
        because = f"{_NONE}; older releases of the device plugin write fewer"
        yield Said(REGISTER, "error", message, because, "UUID,count,memory,type,health,mode:")
        return
    for row in rows:
        for field, word in (("count", row[1]), ("memory", row[2])):
            if whole(word) is None:
                yield Said(REGISTER, "warning", f"node-vgpu-register: {field} {word} of {row[0]} counts as 0")
    missing = [name for name in _NEEDED if not node.allocatable.get(name)]
    if missing and node.allocatable:
        message = f"the node registers vGPUs, and {missing[0]} is not allocatable"
        yield Said(REGISTER, "warning", message, f"{_NONE} unless all of {', '.join(_NEEDED)} are")
    if len(rows) > 1:
        message = "Volcano's vGPU is blind to topology: no NUMA node and no NVLink of a GPU is registered"
        yield Said(REGISTER, "info", message, "it takes the first GPUs that fit")


def of_pod(annotations: dict[str, str]) -> Iterator[Said]:
    mode = annotations.get(MODE)
    if mode is not None and mode not in _MODES:
        message = f"{MODE} is {mode}, and no node is of that mode"
        yield Said(MODE, "warning", message, "Volcano ed72c7c knows nodes of two modes", " or ".join(_MODES))
