"""Whether there is anything of NVIDIA's here, and the machines on which a GPU is not where it usually is.

    >>> Surroundings(False, False, False, False, False).why_no_gpus()
    'no PCI devices to be seen (sys/bus/pci/devices is absent); no NVIDIA driver (/proc/driver/nvidia is absent)'
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.evidence.tree import FolderTree

PCI = "sys/bus/pci/devices"
DRIVER = "proc/driver/nvidia"
_TEGRA = "etc/nv_tegra_release"
_WSL = "usr/lib/wsl"
_GPU_CLASSES = (b"0x03", b"0x12", b"0x0b40")


class Surroundings(NamedTuple):
    pci: bool  # the PCI devices can be seen
    pci_gpus: bool  # one of them is NVIDIA's
    driver: bool  # the kernel module is loaded
    wsl: bool  # Windows Subsystem for Linux: the GPU is behind /dev/dxg
    tegra: bool  # Jetson: the GPU is a part of the chip
    device: bool = False  # /dev/nvidiactl: also in sandboxes that show neither PCI nor /proc/driver

    @property
    def nvidia(self) -> bool:
        return self.pci_gpus or self.driver or self.wsl or self.tegra or self.device

    def why_no_gpus(self) -> str:
        """One line, for a node of which no source names a GPU."""
        if self.tegra:
            return self.special()
        reasons = ["no GPU on PCI" if self.pci else f"no PCI devices to be seen ({PCI} is absent)"]
        if self.wsl:
            reasons.append("Windows Subsystem for Linux keeps GPUs behind /dev/dxg, and the driver lists none")
        elif self.driver:
            reasons.append("the NVIDIA driver is loaded and lists none")
        else:
            reasons.append(f"no NVIDIA driver (/{DRIVER} is absent)")
        return "; ".join(reasons)

    def special(self) -> str:
        """Why a GPU that the driver names may have no place on PCI, or ""."""
        if self.tegra:
            return f"Tegra: its GPU is a part of the chip and not on PCI (/{_TEGRA})"
        if self.wsl:
            return "Windows Subsystem for Linux: the GPU is behind /dev/dxg and has no PCI device here"
        return ""


def look(tree: FolderTree) -> Surroundings:
    """A few names and, of each PCI function, the vendor: what decides whether the driver is worth asking."""
    functions = tree.names(PCI)
    dev = tree.names("dev") or ()
    return Surroundings(
        pci=functions is not None,
        pci_gpus=any(_is_nvidia_gpu(tree, f"{PCI}/{name}") for name in functions or ()),
        driver=tree.names(DRIVER) is not None,
        wsl="dxg" in dev and tree.names(_WSL) is not None,
        tegra=tree.read(_TEGRA) is not None,
        device="nvidiactl" in dev,
    )


def _is_nvidia_gpu(tree: FolderTree, function: str) -> bool:
    if (tree.read(f"{function}/vendor") or b"").strip() != b"0x10de":
        return False
    return (tree.read(f"{function}/class") or b"").startswith(_GPU_CLASSES)
