"""Which attributes and capacities NVIDIA's DRA driver publishes, by line of versions; what a wrong name meant.

Source: allocate/dra/published.py for full GPUs; cmd/gpu-kubelet-plugin/{deviceinfo,mig,partitions}.go of
kubernetes-sigs/dra-driver-nvidia-gpu v25.3 to v0.5-dev for MIG and VFIO devices.
"""

from __future__ import annotations

from gputopo.allocate.dra import published

STANDARD = "resource.kubernetes.io"
STANDARD_NAMES = ("numaNode", "pciBusID", "pcieRoot")
MIG = ("profile", "parentUUID")
VFIO = ("numa",)
_FABRIC = ("gpuModuleID", "partition1", "partition2", "partition4", "partition8")
CAPACITIES = ("memory", "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
_MEANT = {
    "model": "productName", "name": "productName", "product": "productName", "gpuModel": "productName",
    "productname": "productName", "computeCapability": "cudaComputeCapability", "cudaVersion": "cudaDriverVersion",
    "numa": f"{STANDARD}/numaNode", "numaNode": f"{STANDARD}/numaNode", "pcieRoot": f"{STANDARD}/pcieRoot",
    "pciBusID": f"{STANDARD}/pciBusID", "pciAddress": f"{STANDARD}/pciBusID", "busID": f"{STANDARD}/pciBusID",
}  # fmt: skip
_NVLINK = "no version publishes NVLink; 0.5 with its gate FabricManagerPartitioning publishes partition1, 2, 4 and 8"


def in_line(name: str, line: str) -> bool:
    """Whether a line publishes a name: bare for the driver's own, qualified for a standard one."""
    return name in published.attributes_of(line) or name in MIG + VFIO or (line == "0.5" and name in _FABRIC)


def ever(name: str) -> bool:
    return any(in_line(name, line) for line in published.LINES)


def is_capacity(name: str) -> bool:
    return name in CAPACITIES or (name.startswith("memorySlice") and name[11:].isdigit())


def lines_with(name: str) -> str:
    """The lines that publish a name.

    >>> lines_with("index"), lines_with("resource.kubernetes.io/numaNode")
    ('25.3', '0.5')
    """
    if name in _FABRIC:
        return "0.5 with its gate FabricManagerPartitioning"
    return ", ".join(line for line in published.LINES if in_line(name, line))


def instead(name: str, line: str) -> str:
    """What to read in place of a name that is not published; "" where nothing is near.

    >>> instead("model", "0.4"), instead("nvlinkDomain", "0.4").partition(";")[0]
    ('productName', 'no version publishes NVLink')
    >>> instead("numaNode", "0.4")
    'resource.kubernetes.io/numaNode (0.5)'
    """
    if "nvlink" in name.lower() or "nvswitch" in name.lower():
        return _NVLINK
    known = (*published.attributes_of(line), *MIG)
    meant = _MEANT.get(name)
    if meant is None:
        from difflib import get_close_matches

        near = get_close_matches(name, known, 1, 0.75)
        return near[0] if near else ""
    return meant if in_line(meant, line) else f"{meant} ({lines_with(meant)})"
