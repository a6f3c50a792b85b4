"""Which GPUs are GeForce cards: by name, or in NCCL's files by the PCI device id.

    >>> from gputopo.topology.node import Gpu, NodeTopology
    >>> is_geforce(NodeTopology(), Gpu("GPU0", name="NVIDIA GeForce RTX 5090"))
    'NVIDIA GeForce RTX 5090'
    >>> is_geforce(NodeTopology(), Gpu("GPU0", name="NVIDIA L40S")) is None
    True

Device ids: https://pci-ids.ucw.cz, vendor 10de.
"""

from __future__ import annotations

from gputopo.topology.node import Gpu, NodeTopology

# NCCL's files name no model, but the device id stands in `device`; sm alone does not tell a 4090 from an L40S.
DEVICES = {
    "0x2204": "GeForce RTX 3090", "0x2203": "GeForce RTX 3090 Ti", "0x2206": "GeForce RTX 3080",
    "0x2684": "GeForce RTX 4090", "0x2685": "GeForce RTX 4090 D", "0x2704": "GeForce RTX 4080",
    "0x2b85": "GeForce RTX 5090", "0x2b87": "GeForce RTX 5090 D", "0x1e04": "GeForce RTX 2080 Ti",
    "0x1e07": "GeForce RTX 2080 Ti", "0x1b06": "GeForce GTX 1080 Ti",
}  # fmt: skip


def is_geforce(node: NodeTopology, gpu: Gpu) -> str | None:
    """The model's name where it is one."""
    if gpu.name is not None:
        return gpu.name if "GeForce" in gpu.name else None
    said = (seen.text for seen in node.observations if seen.kind == "gpu-device-id" and gpu.id in seen.subjects)
    return DEVICES.get(next(said, ""))
