"""What NVIDIA's DRA driver would publish for a node: its slice and its device classes, as far as the evidence goes.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{deviceinfo,driver}.go and the Helm chart's
device classes, v25.3 to v0.5-dev. One pool a node, named like it; the order of the devices is that of a Go map, so
it differs from start to start. An attribute that the driver publishes and the evidence does not hold is `unknown`:
not absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.dra.amount import binary
from gputopo.allocate.dra.objects import Attribute, Capacity, Device, DeviceClass, DeviceId, Selector, Slice
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, NodeTopology

DRIVER = "gpu.nvidia.com"
COMPUTE_DOMAIN = "compute-domain.nvidia.com"
NEWEST = "0.4.1"  # released; 0.5 was read in development
ROOT = "resource.kubernetes.io/pcieRoot"
BUS = "resource.kubernetes.io/pciBusID"
NUMA = "resource.kubernetes.io/numaNode"
_EVERY = ("type", "uuid", "productName", "brand", "architecture", "cudaComputeCapability", "driverVersion",
          "cudaDriverVersion", ROOT)  # fmt: skip
# Line of versions → what it publishes beside the above. 25.12 became 0.4.
_MORE: dict[str, tuple[str, ...]] = {
    "25.3": ("index", "minor", "pcieBusID"),
    "25.8": ("pcieBusID",),
    "25.12": (BUS, "addressingMode"),
    "0.4": (BUS, "addressingMode"),
    "0.5": (BUS, "addressingMode", NUMA),
}
_BY_FABRIC_MANAGER = ("gpuModuleID", "partition1", "partition2", "partition4", "partition8")
LINES = tuple(_MORE)


class Published(NamedTuple):
    """`gpus`: device → the node's GPU. `unknown`: published attributes that the evidence does not hold."""

    slices: tuple[Slice, ...]
    classes: Mapping[str, DeviceClass]
    gpus: Mapping[DeviceId, str]
    line: str
    named: bool  # the devices' names are the driver's (gpu-<minor>)
    unknown: frozenset[str]
    roots: str  # "tree" or "pairs": how it is known which GPUs have one PCIe root


def line_of(version: str) -> str | None:
    """The line of versions that is known to publish alike: `v25.3.2` → `25.3`; `None`: not one that was read.

    >>> line_of("v0.4.1"), line_of("25.8.1"), line_of("0.6.0")
    ('0.4', '25.8', None)
    """
    parts = version.removeprefix("v").split("-")[0].split(".")
    line = ".".join(parts[:2])
    return line if line in _MORE else None


def attributes_of(line: str) -> tuple[str, ...]:
    return (*_EVERY, *_MORE[line])


def since(attribute: str) -> str | None:
    """The lines that publish an attribute, where some do not.

    >>> since("resource.kubernetes.io/numaNode"), since("gpu.nvidia.com/uuid"), since("gpu.nvidia.com/nvlinkDomain")
    ('0.5', None, None)
    """
    name = attribute.removeprefix(f"{DRIVER}/")
    if name in _BY_FABRIC_MANAGER:
        return "0.5 with its gate FabricManagerPartitioning"
    lines = [line for line in _MORE if name in _MORE[line]]
    return ", ".join(lines) or None


def classes() -> dict[str, DeviceClass]:
    def of(driver: str, type: str, more: str = "") -> str:
        return f"device.driver == '{driver}' && device.attributes['{driver}'].type == '{type}'{more}"

    texts = {
        "gpu.nvidia.com": of(DRIVER, "gpu"),
        "mig.nvidia.com": of(DRIVER, "mig"),
        "vfio.gpu.nvidia.com": of(DRIVER, "vfio"),
        "compute-domain-daemon.nvidia.com": of(COMPUTE_DOMAIN, "daemon"),
        "compute-domain-default-channel.nvidia.com": of(
            COMPUTE_DOMAIN, "channel", f" && device.attributes['{COMPUTE_DOMAIN}'].id == 0"
        ),
    }
    return {name: DeviceClass(name, (Selector(text),)) for name, text in texts.items()}


def published(node: NodeTopology, line: str, coarse: bool = False) -> Published:
    """`coarse`: GPUs whose PCIe root may be one have one; else each such GPU has its own."""
    gpus = [gpu for gpu in node.gpus if gpu.vendor in (None, "nvidia", "0x10de", "10de")]
    roots, how = _roots(node, gpus, coarse)
    named = all(gpu.minor is not None for gpu in gpus)
    pool = node.name or "node"
    devices: list[Device] = []
    joined: dict[DeviceId, str] = {}
    unknown: set[str] = set()
    for gpu in gpus:
        name = f"gpu-{gpu.minor}" if named else gpu.id
        attributes = _attributes(gpu, node, line, roots.get(gpu.id))
        parts = [(name, attributes)] if not gpu.mig else [
            (mig.uuid or f"{name}-mig-{place}", _of_mig(attributes, gpu, mig.uuid, mig.profile))
            for place, mig in enumerate(gpu.mig)
        ]  # fmt: skip
        for own, found in parts:
            unknown |= {key for key in attributes_of(line) if key not in found}
            capacity = {} if gpu.memory_bytes is None or gpu.mig else {"memory": Capacity(binary(gpu.memory_bytes))}
            unknown |= set() if capacity else {"memory"}
            devices.append(Device(own, found, capacity))
            joined[DeviceId(DRIVER, pool, own)] = gpu.id
    if line == "0.5" and all(gpu.numa_nodes == () for gpu in gpus):
        unknown.discard(NUMA)
    own_slice = Slice(f"{pool}-{DRIVER}", DRIVER, pool, 1, 1, pool, devices=tuple(devices))
    return Published((own_slice,), classes(), joined, line, named, frozenset(unknown), how)


def _of_mig(
    attributes: Mapping[str, Attribute], gpu: Gpu, uuid: str | None, profile: str | None
) -> dict[str, Attribute]:
    own = {key: one for key, one in attributes.items() if key not in ("uuid", "index", "minor")}
    own["type"] = Attribute("string", "mig")
    for key, value in (("uuid", uuid), ("profile", profile), ("parentUUID", gpu.uuid)):
        if value is not None:
            own[key] = Attribute("string", value)
    return own


def _attributes(gpu: Gpu, node: NodeTopology, line: str, root: str | None) -> dict[str, Attribute]:
    system = node.system
    numa = gpu.numa_nodes[0] if gpu.numa_nodes is not None and len(gpu.numa_nodes) == 1 else None
    texts = {"type": "gpu", "uuid": gpu.uuid, "productName": gpu.name, "architecture": gpu.architecture, ROOT: root,
             BUS: gpu.pci, "pcieBusID": gpu.pci}  # fmt: skip
    numbers = {"index": gpu.nvml_index, "minor": gpu.minor, NUMA: numa}
    versions = {
        "cudaComputeCapability": _semver(gpu.compute_capability),
        "driverVersion": _semver(system.driver if system is not None else None),
        "cudaDriverVersion": _semver(system.cuda if system is not None else None),
    }
    found = {key: Attribute("string", value) for key, value in texts.items() if value is not None}
    found |= {key: Attribute("int", value) for key, value in numbers.items() if value is not None}
    found |= {key: Attribute("version", value) for key, value in versions.items() if value is not None}
    return {key: found[key] for key in attributes_of(line) if key in found}


def _semver(text: str | None) -> str | None:
    """Three numbers without leading zeros, as the driver writes versions: `580.105.08` → `580.105.8`."""
    parts = (text or "").split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    return ".".join(str(int(part)) for part in (*parts, "0")[:3])


def _roots(node: NodeTopology, gpus: list[Gpu], coarse: bool) -> tuple[dict[str, str], str]:
    """GPU → its PCIe root: by the tree of bridges, else which of them are one, by the levels of pairs."""
    parents = {bridge.id: bridge.parent for bridge in node.bridges}
    hosts = {bridge.id for bridge in node.bridges if bridge.kind == "hostBridge"}
    found = {}
    for gpu in gpus:
        at, steps = gpu.parent, 0
        while at is not None and at not in hosts and steps < 64:
            at, steps = parents.get(at), steps + 1
        if at is not None and at in hosts:
            found[gpu.id] = at
    if len(found) == len(gpus):
        return found, "tree"
    levels = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}
    group = {gpu.id: gpu.id for gpu in gpus}
    for place, gpu in enumerate(gpus):
        for other in gpus[:place]:
            pair = levels.get(frozenset((gpu.id, other.id)))
            candidates = pair.pcie_candidates if pair is not None else ()
            near = [level <= PathLevel.PHB for level in candidates]
            if (near and all(near)) or (coarse and (not near or any(near))):
                old, new = group[gpu.id], group[other.id]
                group = {id: new if own == old else own for id, own in group.items()}
    return {id: f"the root of {own}" for id, own in group.items()}, "pairs"
