"""The ResourceSlice that NVIDIA's DRA driver publishes for a node, as a manifest to try claims against.

What the driver publishes, by its line of versions, is in allocate/dra/published.py. The order of the devices in
a real slice is that of a Go map and differs from start to start; here it is the GPUs' own.
"""

from __future__ import annotations

from typing import Any

from gputopo.allocate.dra import published as driver
from gputopo.allocate.dra.objects import Device
from gputopo.errors import GputopoError
from gputopo.export.kube_yaml import render
from gputopo.export.missing import need_distinct, need_name, need_no_mig, need_nvidia
from gputopo.topology.node import NodeTopology


def text(node: NodeTopology, version: str | None = None) -> str:
    """The manifest (v1). Raises GputopoError where the names of the devices are not known."""
    line = driver.line_of(version or driver.NEWEST)
    if line is None:
        known = ", ".join(driver.LINES)
        raise GputopoError(f"what version {version} publishes is not known", "--driver-version", f"known: {known}")
    need_nvidia(node, "resourceslice")
    need_no_mig(node, "the driver's names for them are made of placements, which are not in the evidence")
    need_distinct(node.gpus, "minor", "device minor", "nvidia-smi -q -x")
    name = need_name(node)
    found = driver.published(node, line)
    made = found.slices[0]
    # A root that is known only as "the same as another's" has no name to publish.
    left_out = sorted(found.unknown | ({driver.ROOT} if found.roots != "tree" else set()))
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": made.name},
        "spec": {
            "driver": made.driver,
            "nodeName": name,
            "pool": {"name": made.pool, "generation": made.generation, "resourceSliceCount": made.slice_count},
            "devices": [_device(device, with_root=found.roots == "tree") for device in made.devices],
        },
    }
    comments = [
        f"what driver {driver.DRIVER} {line} publishes; the order of the devices differs from start to start there"
    ]
    if left_out:
        comments.append(f"not in the evidence, for one GPU or all: {', '.join(left_out)}")
    return render(body, comments)


def _device(device: Device, *, with_root: bool) -> dict[str, Any]:
    attributes = {
        key: {one.kind: one.value} for key, one in device.attributes.items() if with_root or key != driver.ROOT
    }
    body: dict[str, Any] = {"name": device.name, "attributes": attributes}
    if device.capacity:
        body["capacity"] = {key: {"value": str(one.value)} for key, one in device.capacity.items()}
    return body
