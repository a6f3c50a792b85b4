"""What an id that a device plugin, a container's environment or a runtime writes is made of.

    >>> space_of("GPU-0a1b"), space_of("MIG-0a1b"), space_of("0000:3b:02.1"), space_of("hca-3"), space_of("2")
    ('uuid', 'mig', 'pci', 'other', 'other')
    >>> space_of("GPU-0a1b::3")            # a replica has the space of its device
    'uuid'

Each plugin that shares a GPU has its own way to count the parts; HAMi and gpushare hand out other GPUs than the ids
that the kubelet chose, so that theirs are numbers only:

    >>> replica_of("GPU-0a1b::3"), replica_of("GPU-0a1b"), replica_of("GPU-0a1b/7")
    (('GPU-0a1b', '3'), ('GPU-0a1b', None), ('GPU-0a1b', '7'))
    >>> hami = "GPU-00000000-0000-4000-8000-000000000001-4"
    >>> replica_of(hami), is_placeholder(hami), is_placeholder("GPU-0a1b::3")
    (('GPU-00000000-0000-4000-8000-000000000001', '4'), True, False)

A number means an NVML index only in NVIDIA_VISIBLE_DEVICES and its kin; as a plugin's own id it may be an IOMMU
group. What names no device there (`all`, `none`, `void`, the folder of volume mounts) is in no answer:

    >>> visible("2,0"), visible("GPU-0a1b"), visible("nvidia.com/gpu=0"), visible("0:1")
    ((('2', 'index'), ('0', 'index')), (('GPU-0a1b', 'uuid'),), (('nvidia.com/gpu=0', 'cdi'),), (('0:1', 'other'),))
    >>> visible("void"), visible("all"), visible("/var/run/nvidia-container-devices")
    ((), (), ())
"""

from __future__ import annotations

import re

_PCI = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7]\Z")
_CDI = re.compile(r"[A-Za-z][\w.-]*/[A-Za-z][\w.-]*=[\w.:-]+\Z", re.ASCII)  # vendor/class=name
_INDEX_DIGITS = 4
REPLICA = "::"
_UUID = r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PLACEHOLDER = re.compile(rf"({_UUID})-(?:_-)?(\d{{1,4}})\Z")  # HAMi, volcano-vgpu-device-plugin: -n; gpushare: -_-n
_PART = re.compile(r"(GPU-[0-9a-fA-F-]+)/(\d{1,4})\Z")


def space_of(id: str) -> str:
    """The space (holdings.py) of an id that a device plugin gave out."""
    if id.startswith("GPU-"):
        return "uuid"
    if id.startswith("MIG-"):
        return "mig"
    return "pci" if _PCI.match(id) else "other"


def replica_of(id: str) -> tuple[str, str | None]:
    """(the device, which replica of it). A MIG device is none."""
    device, colons, replica = id.partition(REPLICA)
    if colons:
        return device, replica
    found = _PLACEHOLDER.match(id) or _PART.match(id)
    return (found[1], found[2]) if found else (id, None)


def is_placeholder(id: str) -> bool:
    """Whether an id says how many, not which: its plugin hands out what the scheduler wrote on the pod."""
    return _PLACEHOLDER.match(id) is not None


def is_cdi(name: str) -> bool:
    """Whether a text is a qualified CDI name, `nvidia.com/gpu=0`."""
    return _CDI.match(name) is not None


def visible(value: str) -> tuple[tuple[str, str], ...]:
    """(id, space) of each device that a value of NVIDIA_VISIBLE_DEVICES names.

    A MIG device by indexes, `0:1`, is of no space that another source has (nvidia-container-toolkit,
    internal/config/image).
    """
    words = [word.strip() for word in value.split(",")]
    return tuple((word, _visible_space(word)) for word in words if _names_a_device(word))


def _names_a_device(word: str) -> bool:
    return word not in ("", "all", "none", "void") and not word.startswith("/")


def _visible_space(word: str) -> str:
    if word.isascii() and word.isdigit() and len(word) <= _INDEX_DIGITS:
        return "index"
    return "cdi" if is_cdi(word) else space_of(word)
