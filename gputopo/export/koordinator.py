"""Koordinator's Device object of a node, as koordlet reports it.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): apis/scheduling/v1alpha1/device_types.go and
pkg/koordlet/statesinformer/impl/states_device_linux.go. `pcieID` is the root complex, `pci0000:15`; `socketID`
is always -1 there. A GPU whose root complex is not known has no topology.
"""

from __future__ import annotations

import re
from typing import Any

from gputopo.allocate.koordinator.devices import CORE, GPU, MEMORY, RATIO, RDMA, RDMA_SHARE
from gputopo.export.kube_yaml import render
from gputopo.export.missing import missing, need, need_distinct, need_name, need_nvidia
from gputopo.topology.bridges_above import root
from gputopo.topology.node import Gpu, Nic, NodeTopology

_ROOT = re.compile(r"pci\d{4}:[0-9a-f]{2}")  # koordlet's own pattern: no hexadecimal domain
_Q = "nvidia-smi -q -x"


def text(node: NodeTopology) -> str:
    """The manifest. Raises GputopoError where minor, UUID, memory or NUMA node of a GPU is not known."""
    need_nvidia(node, "koordinator")
    need_distinct(node.gpus, "minor", "device minor", _Q)
    need_distinct(node.gpus, "uuid", "UUID", _Q)
    need(node.gpus, "memory_bytes", "memory", _Q)
    name = need_name(node)
    gpus = sorted(node.gpus, key=lambda gpu: gpu.minor or 0)
    nics = [nic for nic in node.nics or () if nic.device and nic.pci and nic.virtual_function_of is None]
    body = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {
            "devices": [
                *(_gpu(node, gpu) for gpu in gpus),
                *(_nic(node, nic, at) for at, nic in enumerate(nics)),
            ]
        },
    }
    return render(body, _comments(node, gpus, nics))


def _comments(node: NodeTopology, gpus: list[Gpu], nics: list[Nic]) -> list[str]:
    lines = ["health: a GPU that the evidence lists is taken as healthy"]
    devices: list[Gpu | Nic] = [*gpus, *nics]
    without = [one.id for one in devices if _topology(node, one) is None]
    if without:
        lines.append(f"no topology, since the root complex is not in the evidence: {', '.join(without)}")
    return lines


def _gpu(node: NodeTopology, gpu: Gpu) -> dict[str, Any]:
    body: dict[str, Any] = {"type": GPU, "id": gpu.uuid, "minor": gpu.minor, "health": True}
    if gpu.module_id is not None:
        body["moduleID"] = gpu.module_id
    body["resources"] = {CORE: "100", MEMORY: str(gpu.memory_bytes), RATIO: "100"}
    return body | _placed(_topology(node, gpu))


def _nic(node: NodeTopology, nic: Nic, minor: int) -> dict[str, Any]:
    body = {"type": RDMA, "id": nic.pci, "minor": minor, "health": True, "resources": {RDMA_SHARE: "100"}}
    return body | _placed(_topology(node, nic))


def _placed(topology: dict[str, Any] | None) -> dict[str, Any]:
    return {} if topology is None else {"topology": topology}


def _topology(node: NodeTopology, device: Gpu | Nic) -> dict[str, Any] | None:
    """Raises GputopoError where a device has a root complex and no NUMA node: koordlet's 0 would be a guess."""
    above = root(node, device)
    if above is None or not _ROOT.fullmatch(above) or device.pci is None:
        return None
    numa = device.numa_nodes
    if numa is None or len(numa) != 1:
        raise missing("NUMA node unknown", [device.id], "/sys/bus/pci/devices/*/numa_node of the host")
    return {"socketID": -1, "nodeID": numa[0], "pcieID": above, "busID": device.pci}
