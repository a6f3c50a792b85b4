"""Models of GPUs and NICs, without a place; `place` and `nic` put them somewhere.

>>> place(H100, 3, "0000:5b:00.0", "0000:58:01.0", 0).uuid
'GPU-00000000-0000-4000-8000-000000000003'
"""

from __future__ import annotations

from typing import Any

from tests.machines.hosts import GIB
from tests.machines.machine import Gpu, Nic


def _model(name: str, device: str, sm: int, memory_bytes: int, generation: int, **more: Any) -> Gpu:
    return Gpu(-1, "", "", name, device, sm, None, memory_bytes, generation, **more)


H100 = _model("NVIDIA H100 80GB HBM3", "0x2330", 90, 80 * GIB, 5, link_mbps=26562, nvlink_version=4)
H200 = _model("NVIDIA H200", "0x2335", 90, 141 * GIB, 5, link_mbps=26562, nvlink_version=4)
B200 = _model("NVIDIA B200", "0x2901", 100, 180 * GIB, 5, link_mbps=53125, nvlink_version=5)
GB200 = _model("NVIDIA GB200", "0x2941", 100, 185 * GIB, 5, link_mbps=53125, nvlink_version=5, c2c=(5, 44712))
A100_SXM = _model("NVIDIA A100-SXM4-80GB", "0x20b2", 80, 80 * GIB, 4, link_mbps=25000, nvlink_version=3)
V100_SXM2 = _model("Tesla V100-SXM2-16GB", "0x1db1", 70, 16 * GIB, 3, link_mbps=25781, nvlink_version=2)
V100_SXM3 = _model("Tesla V100-SXM3-32GB", "0x1db8", 70, 32 * GIB, 3, link_mbps=25781, nvlink_version=2)
A40 = _model("NVIDIA A40", "0x2235", 86, 46068 << 20, 4, link_mbps=14062, nvlink_version=4)
A30 = _model("NVIDIA A30", "0x20b7", 80, 24 * GIB, 4)
A10 = _model("NVIDIA A10", "0x2236", 86, 23028 << 20, 4)
L40S = _model("NVIDIA L40S", "0x26b9", 89, 46068 << 20, 4)
P40 = _model("Tesla P40", "0x1b38", 61, 24 * GIB, 3)
T4 = _model("Tesla T4", "0x1eb8", 75, 15360 << 20, 3)
RTX_A4000 = _model("NVIDIA RTX A4000", "0x24b0", 86, 16376 << 20, 4, vga=True)
RTX_A5000 = _model("NVIDIA RTX A5000", "0x2231", 86, 24564 << 20, 4)
RTX_3060 = _model("NVIDIA GeForce RTX 3060", "0x2503", 86, 12288 << 20, 4, vga=True, p2p=False)
RTX_3090 = _model("NVIDIA GeForce RTX 3090", "0x2204", 86, 24576 << 20, 4, vga=True, p2p=False)
RTX_4090 = _model("NVIDIA GeForce RTX 4090", "0x2684", 89, 24564 << 20, 4, vga=True, p2p=False)

# ConnectX device ids: 4 (0x1013), 5 (0x1017), 6 (0x101b), 6 Dx (0x101d), 7 (0x1021), 8 (0x1023).
_CONNECTX = {3: "0x1011", 4: "0x1013", 5: "0x1017", 6: "0x101b", 7: "0x1021", 8: "0x1023"}
_GENERATION = {3: 3, 4: 3, 5: 3, 6: 4, 7: 5, 8: 5}


def place(model: Gpu, number: int, pci: str, parent: str, numa: int | None, **more: Any) -> Gpu:
    return model._replace(number=number, pci=pci, parent=parent, numa=numa, **more)


def infiniband(connectx: int, number: int, pci: str, parent: str, numa: int, netdev: str, rate: int) -> Nic:
    """mlx5_NUMBER, a ConnectX of this generation on InfiniBand."""
    return Nic(f"mlx5_{number}", pci, parent, numa, netdev, rate, _GENERATION[connectx], device_id=_CONNECTX[connectx])


def ethernet(connectx: int, number: int, pci: str, parent: str, numa: int, netdev: str, rate: int) -> Nic:
    """The same with RoCE."""
    return infiniband(connectx, number, pci, parent, numa, netdev, rate)._replace(link_layer="Ethernet")
