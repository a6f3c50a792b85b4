"""What lspci's words say: the vendor, the kind of device, its name. Shared by the readers of lspci.

lspci prints names out of pci.ids: `NVIDIA Corporation GH100 [H100 SXM5 80GB]`, or `NVIDIA Corporation
Device 2335` where its list is older than the card. A tree prints no class, so there the words decide:

    >>> kind_of("NVIDIA Corporation GH100 [H100 SXM5 80GB]"), kind_of("NVIDIA Corporation Device 22a3")
    ('gpu', 'nvswitch')
    >>> kind_of("NVIDIA Corporation TU102 High Definition Audio Controller") is None
    True
    >>> kind_of("Mellanox Technologies MT2910 Family [ConnectX-7]"), kind_of("Micron Technology Inc 7450 PRO NVMe SSD")
    ('nic', 'nvme')
    >>> vendor_of("Mellanox Technologies MT2910 Family [ConnectX-7]"), vendor_of("Device [1234:1111]")
    (5555, 4660)
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

NVIDIA, AMD, INTEL, MELLANOX, VIRTIO = 0x10DE, 0x1002, 0x8086, 0x15B3, 0x1AF4
# pci.ids prints one name for several ids of some makers: those are left out, or told apart by more words.
_VENDORS = (
    ("nvidia corporation", NVIDIA),
    ("advanced micro devices, inc. [amd/ati]", AMD),
    ("advanced micro devices [amd/ati]", AMD),
    ("advanced micro devices, inc. [amd]", 0x1022),
    ("ati technologies inc", AMD),
    ("intel corporation", INTEL),
    ("mellanox technologies", MELLANOX),
    ("amazon.com, inc.", 0x1D0F),
    ("google, inc.", 0x1AE0),
    ("microsoft corporation", 0x1414),
    ("red hat, inc. virtio", VIRTIO),
    ("red hat, inc. qemu", 0x1B36),
    ("red hat, inc. qxl", 0x1B36),
    ("vmware", 0x15AD),
    ("broadcom / lsi", 0x1000),
    ("plx technology, inc.", 0x10B5),
    ("pmc-sierra inc.", 0x11F8),
    ("microsemi / pmc / idt", 0x11F8),
    ("broadcom inc. and subsidiaries", 0x14E4),
    ("broadcom limited", 0x14E4),
    ("broadcom corporation", 0x14E4),
    ("chelsio communications inc", 0x1425),
    ("solarflare communications", 0x1924),
    ("qlogic corp.", 0x1077),
    ("pensando systems", 0x1DD8),
    ("habana labs ltd.", 0x1DA3),
    ("aspeed technology, inc.", 0x1A03),
    ("matrox electronics systems ltd.", 0x102B),
    ("cirrus logic", 0x1013),
    ("samsung electronics co ltd", 0x144D),
)
_VENDOR_WORD = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel"}
NVSWITCHES = frozenset((0x1AC2, 0x1AF1, 0x22A3))  # Volta, Ampere, Hopper: all of class 0680

_IDS = re.compile(r"\[?\b([0-9a-f]{4}):([0-9a-f]{4})\b\]?")
_TAIL = re.compile(r"\s*(?:\[[0-9a-f]{4}:[0-9a-f]{4}\]|\((?:rev|prog-if)[^()]*\))\s*$")
_NUMBERS = re.compile(r"[0-9a-f]{4}:[0-9a-f]{4}\Z")
_UNNAMED = re.compile(r"\bDevice \[?(?:[0-9a-f]{4}:)?([0-9a-f]{4})\]?$")
_PRODUCT = re.compile(r"\[[^\[\]]*\]")
_NO_GPU = (
    "Audio", "USB", "UCSI", "Ethernet", "SMBus", "Bridge", "Controller", "LPC", "SATA", "IDE", "Host", "Memory",
    "Root Port", "PCI Express", "PCIe", "System Management",
)  # fmt: skip
_AMD_GPU = ("Radeon", "Instinct", "FirePro", "FireGL", "Aqua Vanjaram", "Aldebaran", "Arcturus")
_INTEL_GPU = ("Graphics", "Data Center GPU", "[Arc ")
_OTHER_ACCELERATOR = ("NeuronDevice", "Habana Labs", "AI Training Accelerator")
_NIC = (
    "ethernet", "connectx", "infiniband", "infinihost", "bluefield", "netxtreme", "elastic fabric adapter",
    "elastic network adapter", "network adapter", "network connection", "network device", "network controller",
    "omni-path", "hfi silicon", "gvnic", "wi-fi", "wireless", "10gbase", "vmxnet", "gigabit",
)  # fmt: skip
_NO_NIC = (
    "bridge", "management", "dma ", "flash recovery", "nvme", "crypto", "audio", "switch", "thunderbolt", "usb",
    "serial", "raid", "fibre channel", "root port",
)  # fmt: skip


def ids_of(name: str) -> tuple[int, int] | None:
    """`[10de:2335]` behind a name (`-nn`), or a name that is nothing but `10de:2335` (`-n`)."""
    found = _IDS.findall(name)
    return (int(found[-1][0], 16), int(found[-1][1], 16)) if found else None


def bare(name: str) -> str:
    """The name without ids, revision and programming interface."""
    while True:
        shorter = _TAIL.sub("", name)
        if shorter == name or _UNNAMED.search(name):
            return name.strip()
        name = shorter


def vendor_of(name: str) -> int | None:
    """The vendor's PCI id, printed or by its words."""
    ids = ids_of(name)
    if ids is not None:
        return ids[0]
    lower = name.lower()
    return next((vendor for words, vendor in _VENDORS if lower.startswith(words)), None)


def device_of(name: str) -> int | None:
    """The device's PCI id, where it is printed."""
    ids = ids_of(name)
    if ids is not None:
        return ids[1]
    match = _UNNAMED.search(bare(name))
    return int(match[1], 16) if match else None


def vendor_word(vendor: int | None) -> str | None:
    """`nvidia`, `amd`, `intel`, else the number."""
    return None if vendor is None else _VENDOR_WORD.get(vendor, f"0x{vendor:04x}")


def vendor_number(vendor: int | None) -> str | None:
    return None if vendor is None else f"0x{vendor:04x}"


def is_unnamed(name: str) -> bool:
    """Whether lspci's list had no name for the device."""
    words = bare(name)
    return not words or _NUMBERS.match(words) is not None or _UNNAMED.search(words) is not None


def product(name: str) -> Said[str]:
    """The name without the vendor's: `GH100 [H100 SXM5 80GB]`."""
    if is_unnamed(name):
        device = device_of(name)
        what = "the device" if device is None else f"device {device:04x}"
        return Unknown(f"lspci's id list has no name for {what}", "nvidia-smi -L")
    text = bare(name)
    for words, _ in _VENDORS:
        if text.lower().startswith(words) and not words.startswith("red hat"):
            return text[len(words) :].strip() or text
    return text


def kind_of(name: str) -> str | None:
    """`gpu`, `nvswitch`, `nic`, `nvme` by the words alone; `None`: something else, or not known."""
    vendor, words = vendor_of(name), bare(name)
    chip = _PRODUCT.sub("", words)  # `GA100 [A100 PCIe 40GB]` is no PCIe part
    if vendor == NVIDIA:
        if "NVSwitch" in words or device_of(name) in NVSWITCHES:
            return "nvswitch"
        if "ConnectX" in words or "BlueField" in words:
            return _nic(words.lower())
        return None if any(word in chip for word in _NO_GPU) else "gpu"
    if vendor in (AMD, 0x1022) and any(word in words for word in _AMD_GPU):
        return None if any(word in chip for word in _NO_GPU) else "gpu"
    if vendor == INTEL and any(word in words for word in _INTEL_GPU) and "Audio" not in words:
        return "gpu"
    if any(word in words for word in _OTHER_ACCELERATOR):
        return "gpu"
    lower = words.lower()
    if "nvme" in lower or "nvm express" in lower:
        return "nvme"
    if vendor == MELLANOX and is_unnamed(name):
        return "nic"
    return _nic(lower)


def _nic(words: str) -> str | None:
    if any(word in words for word in _NIC) and not any(word in words for word in _NO_NIC):
        return "nic"
    return None


def is_supposed(name: str) -> bool:
    """Whether `kind_of` rests on the maker alone: `NVIDIA Corporation Device 2335` could be another part."""
    return is_unnamed(name) and device_of(name) not in NVSWITCHES


def shares(functions: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Labels of virtual functions of cards (vGPU), out of (label, name) of functions of one kind.

    A PCIe link has one device, number 0: where its bus also has functions of the same name, one of them
    beside 0 of a device, those are virtual. Bus 00 is a root's, where each device stands for itself.

        >>> sorted(shares([("0000:3b:00.0", "A40"), ("0000:3b:00.4", "A40"), ("0000:3c:00.0", "A40")]))
        ['0000:3b:00.4']
    """
    cards: dict[tuple[str, str], list[str]] = {}
    for label, name in functions:
        cards.setdefault((label.rpartition(":")[0], name), []).append(label)
    found: set[str] = set()
    for (bus, _), labels in cards.items():
        odd = any(not label.endswith(".0") for label in labels)
        if odd and bus[-2:] != "00" and f"{bus}:00.0" in labels:
            found.update(label for label in labels if not label.endswith(":00.0"))
    return frozenset(found)


_VIRTUAL = ("qemu", "vmware", "virtualbox", "xen platform", "hyper-v", "82441fx pmc [natoma]", "parallels", "qxl")
_METAL = ("memory map/vt-d", " mesh ", "root complex", "ras configuration", " ras", "ubox", "pcu ", "data fabric")


_Q35 = "82G33/G31/P35/P31 Express DRAM Controller"
# A real board with the host bridge that QEMU's Q35 copies has bridges in these places only: the graphics
# port, the ports and the PCI bridge of its ICH9 (datasheets of Intel's 3 Series chipsets and of ICH9).
_P35_BRIDGES = ((0x01, 0), (0x06, 0), (0x1E, 0), *((0x1C, function) for function in range(6)))


def is_q35(host_bridge: str, bridges: Iterable[PciAddress]) -> bool:
    """Whether this host bridge with these bridges on its bus is QEMU's."""
    return _Q35 in host_bridge and any((place.device, place.function) not in _P35_BRIDGES for place in bridges)


def hypervisor_name(names: tuple[str, ...]) -> str | None:
    """A name that only a hypervisor's machine has, or `None`.

    A virtio device alone is none beside the parts of a server's own processor: DPUs offer virtio to
    the bare machine too. For Q35 see `is_q35`.
    """
    virtio = None
    for name in names:
        lower = name.lower()
        if any(word in lower for word in _VIRTUAL):
            return bare(name)
        if virtio is None and lower.startswith("red hat, inc."):
            virtio = bare(name)
    if virtio is not None and any(word in name.lower() for name in names for word in _METAL):
        return None
    return virtio
