"""Which units the device plugin offers of a node, by resource name: GPUs, replicas, MIG devices.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 internal/rm/device_map.go and rm.go. A unit is named after the
GPU's id here (`GPU0`, `GPU0::3`); upstream's ids begin with the UUID instead. A MIG device is its UUID,
or `GPU0:1` by its index.

    >>> node = NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")))
    >>> offered(node, PluginConfig())
    {'nvidia.com/gpu': ('GPU0', 'GPU1')}
    >>> shared = Sharing("time-slicing", (Shared("nvidia.com/gpu", 2),), rename=True)
    >>> offered(node, PluginConfig(sharing=shared))
    {'nvidia.com/gpu.shared': ('GPU0::0', 'GPU0::1', 'GPU1::0', 'GPU1::1')}
"""

from __future__ import annotations

from gputopo.allocate.device_plugin.config import PluginConfig, Refused, Shared, Sharing
from gputopo.allocate.device_plugin.scores import seen_gpus
from gputopo.allocate.state import REPLICA
from gputopo.topology.node import Gpu, Mig, NodeTopology

__all__ = ["Shared", "Sharing", "label", "mig_unit", "offered", "unit_kind"]

GPU = "nvidia.com/gpu"
SUFFIX = ".shared"


def offered(node: NodeTopology, config: PluginConfig) -> dict[str, tuple[str, ...]]:
    """Resource → its units, in NVML's order. Raises Refused where the plugin does not start on this node."""
    units = _whole(node, config)
    if config.sharing is None:
        return units
    found: dict[str, tuple[str, ...]] = {}
    for resource, devices in units.items():
        replicas = config.sharing.replicas(resource)
        if replicas is None:
            found[resource] = devices
            continue
        name = resource + SUFFIX if config.sharing.rename else resource
        found[name] = tuple(f"{device}{REPLICA}{one}" for device in devices for one in range(replicas))
    if config.sharing.kind == "mps" and any(":" in unit.split(REPLICA)[0] or unit.startswith("MIG-")
                                            for units in found.values() for unit in units):  # fmt: skip
        raise Refused("sharing using MPS is not supported for MIG devices")
    return found


def _whole(node: NodeTopology, config: PluginConfig) -> dict[str, tuple[str, ...]]:
    gpus = seen_gpus(node)
    if config.mig_strategy == "none":
        return {GPU: tuple(gpu.id for gpu in gpus)}
    full = tuple(gpu.id for gpu in gpus if not gpu.mig)
    cut = [(gpu, mig) for gpu in gpus for mig in gpu.mig]
    if config.mig_strategy == "single":
        if full and cut:
            raise Refused(
                "invalid MIG configuration: all devices on the node must be configured with the same migEnabled value"
            )
        if len({mig.profile for _, mig in cut}) > 1:
            raise Refused("invalid MIG configuration: more than one MIG device type present on node")
        return {GPU: full or tuple(mig_unit(gpu, mig) for gpu, mig in cut)}
    found: dict[str, tuple[str, ...]] = {GPU: full} if full else {}
    for gpu, mig in cut:
        name = f"nvidia.com/mig-{(mig.profile or 'unknown').replace('+', '.')}"
        found[name] = (*found.get(name, ()), mig_unit(gpu, mig))
    return found


def mig_unit(gpu: Gpu, mig: Mig) -> str:
    """The name of a MIG device: its UUID, or its GPU and its place there."""
    return mig.uuid or f"{gpu.id}:{mig.number if mig.number is not None else gpu.mig.index(mig)}"


def label(node: NodeTopology, unit: str) -> str:
    """How a person reads a unit: a MIG device by its GPU and its place there, others as they are."""
    if not unit.startswith("MIG-"):
        return unit
    device, mark, replica = unit.partition(REPLICA)
    for gpu in node.gpus:
        for at, mig in enumerate(gpu.mig):
            if mig.uuid == device:
                return f"{gpu.id}:{mig.number if mig.number is not None else at}{mark}{replica}"
    return unit


def unit_kind(units: tuple[str, ...]) -> str:
    """`gpu`, `mig` or `replica`: what a resource's units are."""
    if any(REPLICA in unit for unit in units):
        return "replica"
    return "mig" if any(":" in unit or unit.startswith("MIG-") for unit in units) else "gpu"
