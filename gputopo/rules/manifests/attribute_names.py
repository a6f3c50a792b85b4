"""Which attributes and capacities NVIDIA's DRA driver publishes, by line of versions; what a wrong name meant.

Source: allocate/dra/published.py for full GPUs; cmd/gpu-kubelet-plugin/{deviceinfo,mig,partitions,consumable_shares}.go
of kubernetes-sigs/dra-driver-nvidia-gpu (branches release-25.3, 25.8, 25.12, 0.4 and main 95932046) for MIG and VFIO
devices and for what its feature gates add.
"""

from __future__ import annotations

from gputopo.allocate.dra import published
from gputopo.rules.manifests.fixes.nearest import meant

STANDARD = "resource.kubernetes.io"
STANDARD_NAMES = ("numaNode", "pciBusID", "pcieRoot")
_MIG = ("profile", "parentUUID")
# Attributes and capacities of VFIO devices, and what only MIG devices of 25.3 had.
_MORE = {
    "25.3": ("parentIndex",),
    "25.8": (),
    "25.12": ("numa", "deviceID", "vendorID"),
    "0.4": ("numa", "deviceID", "vendorID", "iommuFDEnabled"),
    "0.5": ("deviceID", "vendorID", "iommuFDEnabled"),
}
# Behind a feature gate of 0.5.
_GATED = {
    **dict.fromkeys(("gpuModuleID", "partition1", "partition2", "partition4", "partition8"),
                    "0.5 with its gate FabricManagerPartitioning"),
    "shares": "0.5 with its gate ConsumableShares",
}  # fmt: skip
CAPACITIES = ("memory", "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
_OF_VFIO = "addressableMemory"
_MEANT = {
    "model": "productName", "name": "productName", "product": "productName", "gpuModel": "productName",
    "productname": "productName", "computeCapability": "cudaComputeCapability", "cudaVersion": "cudaDriverVersion",
    "numa": f"{STANDARD}/numaNode", "numaNode": f"{STANDARD}/numaNode", "pcieRoot": f"{STANDARD}/pcieRoot",
    "pciBusID": f"{STANDARD}/pciBusID", "pciAddress": f"{STANDARD}/pciBusID", "busID": f"{STANDARD}/pciBusID",
}  # fmt: skip
_DOUBTFUL = ("name",)  # of the device, perhaps
_NVLINK = "no version publishes NVLink; 0.5 with its gate FabricManagerPartitioning publishes partition1, 2, 4 and 8"
_VERSIONS = ("driverVersion", "cudaDriverVersion", "cudaComputeCapability")
_NUMBERS = ("index", "minor", "parentIndex", "numa", "gpuModuleID", "partition1", "partition2", "partition4",
            "partition8", f"{STANDARD}/numaNode")  # fmt: skip


def in_line(name: str, line: str) -> bool:
    """Whether a line publishes an attribute: bare for the driver's own, qualified for a standard one."""
    if name == "shares":
        return False
    return name in published.attributes_of(line) or name in _MIG + _MORE[line] or (line == "0.5" and name in _GATED)


def ever(name: str) -> bool:
    return any(in_line(name, line) for line in published.LINES)


def kind_of_value(name: str) -> str:
    """The type of a published attribute: string, int, bool or version.

    >>> kind_of_value("index"), kind_of_value("resource.kubernetes.io/pcieRoot"), kind_of_value("iommuFDEnabled")
    ('int', 'string', 'bool')
    """
    if name in _VERSIONS:
        return "version"
    if name in _NUMBERS:
        return "int"
    return "bool" if name == "iommuFDEnabled" else "string"


def is_capacity(name: str) -> bool:
    """Whether some line publishes it as a capacity."""
    slices = name.startswith("memorySlice") and name[11:].isascii() and name[11:].isdigit()
    return name in (*CAPACITIES, _OF_VFIO, "shares") or slices


def capacity_lines(name: str) -> tuple[str, ...]:
    """
    >>> capacity_lines("addressableMemory"), capacity_lines("vram")
    (('25.12', '0.4', '0.5'), ())
    """
    if not is_capacity(name):
        return ()
    if name == "shares":
        return ("0.5",)
    return published.LINES[2:] if name == _OF_VFIO else published.LINES


def lines_with(name: str) -> str:
    """The lines that publish an attribute or capacity, in words.

    >>> lines_with("index"), lines_with("resource.kubernetes.io/numaNode"), lines_with("shares")
    ('25.3', '0.5', '0.5 with its gate ConsumableShares')
    """
    if name in _GATED:
        return _GATED[name]
    return ", ".join(line for line in published.LINES if in_line(name, line)) or ", ".join(capacity_lines(name))


def instead(name: str, line: str) -> str:
    """What to read in place of a name that is not published; "" where nothing is near.

    >>> instead("model", "0.4"), instead("nvlinkDomain", "0.4").partition(";")[0]
    ('productName', 'no version publishes NVLink')
    >>> instead("numaNode", "0.4")
    'resource.kubernetes.io/numaNode (0.5)'
    """
    if is_nvlink(name):
        return _NVLINK
    known = (*published.attributes_of(line), *_MIG)
    found = _MEANT.get(name)
    if found is None:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1, 0.75)
        return near[0] if near else ""
    return found if in_line(found, line) else f"{found} ({lines_with(found)})"


def is_nvlink(name: str) -> bool:
    return "nvlink" in name.lower() or "nvswitch" in name.lower()


def certain(name: str, line: str, only_line: bool) -> str:
    """The attribute with its domain that a wrong name of the driver's own domain must mean; "": none is certain.

    `only_line`: other lines do not count; else what a newer one publishes is fine.

    >>> certain("model", "0.4", True), certain("numaNode", "0.4", False), certain("numaNode", "0.4", True)
    ('gpu.nvidia.com/productName', 'resource.kubernetes.io/numaNode', '')
    >>> certain("produktName", "0.4", True), certain("pcieroot", "0.4", True), certain("name", "0.4", True)
    ('gpu.nvidia.com/productName', 'resource.kubernetes.io/pcieRoot', '')
    """
    bare = {one.rpartition("/")[2]: one for one in (*published.attributes_of(line), *_MIG)}
    found = _MEANT.get(name, "") if name in (*_MEANT, *_DOUBTFUL) else bare.get(meant(name, bare), "")
    if name in _DOUBTFUL or not found or not (in_line(found, line) or (not only_line and newer(found, line))):
        return ""
    return found if "/" in found else f"{published.DRIVER}/{found}"


def newer(name: str, line: str) -> bool:
    """Whether a line behind this one publishes a name."""
    behind = published.LINES[published.LINES.index(line) + 1 :]
    return any(in_line(name, one) for one in behind)
