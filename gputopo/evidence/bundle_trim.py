r"""Files of which a part is kept: the rows that a reader of topology needs, none that changes or tells more.

`/proc/cmdline` may hold a password, `/proc/version` who built the kernel, `meminfo` changes every
second. What is not on these lists does not leave the node.

    >>> trim("proc/cmdline", b"BOOT_IMAGE=/vmlinuz root=UUID=5e7f ro iommu=pt token=abc\n")
    b'iommu=pt\n'
    >>> trim("proc/version", b"Linux version 6.8.0-49-generic (buildd@lcy02) (gcc 13) #49 SMP Mon Nov 4\n")
    b'Linux version 6.8.0-49-generic\n'
    >>> trim("sys/devices/system/node/node0/distance", b"10 21\n")
    b'10 21\n'
"""

from __future__ import annotations

import re
from collections.abc import Callable

_KERNEL_OPTIONS = frozenset(
    [
        "iommu", "iommu.passthrough", "iommu.strict", "intel_iommu", "amd_iommu", "pci", "pcie_acs_override",
        "pcie_aspm", "pcie_ports", "numa", "numa_balancing", "nosmt", "maxcpus", "nr_cpus", "isolcpus",
        "nohz_full", "rcu_nocbs", "hugepages", "hugepagesz", "default_hugepagesz", "mitigations",
        "systemd.unified_cgroup_hierarchy", "cgroup_no_v1", "vfio-pci.ids",
    ]
)
_CPU_KEYS = frozenset(
    ("processor", "vendor_id", "cpu family", "model", "model name", "physical id", "cpu", "CPU implementer",
     "CPU architecture", "CPU part", "machine")
)
_CPU_KEYS_OF_THE_FIRST = frozenset(("flags", "Features"))
_GPU_KEYS = frozenset(
    ("Model", "IRQ", "GPU UUID", "Video BIOS", "Bus Type", "DMA Size", "DMA Mask", "Bus Location", "Device Minor",
     "GPU Firmware", "GPU Excluded")
)
_MOUNT_OPTIONS = frozenset(["rw", "ro", "cpuset", "cpu", "cpuacct", "memory", "devices", "noprefix"])
_PARTS = frozenset([
    "user.slice", "system.slice", "init.scope", "machine.slice", "kubepods", "kubepods.slice", "docker", "lxc",
    "lxc.payload", "kubepods-burstable.slice", "kubepods-besteffort.slice", "burstable", "besteffort", "slurm",
    "system",
])
_MAKERS = ("kubepods", "cri-containerd", "docker", "libpod", "crio", "lxc", "user", "session", "slurm", "job", "step")
# ACS (0x000D) and ATS (0x000F): where peer traffic goes. A serial number (0x0003) is next to them.
_EXTENDED = frozenset((0x000D, 0x000F))


def trim(path: str, data: bytes) -> bytes:
    """`path` is relative to the root; the content that is kept, the whole of it for most files."""
    if path.endswith("/config"):
        return pci_config(data)
    change = _change(path)
    if change is None:
        return data
    return change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def is_trimmed(path: str) -> bool:
    return path.endswith("/config") or _change(path) is not None


def _change(path: str) -> Callable[[str], str] | None:
    if path.endswith("/meminfo"):
        return lambda text: _rows(text, lambda row: "MemTotal:" in row)
    if path.startswith("proc/driver/nvidia/gpus/") and path.endswith("/information"):
        return lambda text: _rows(text, lambda row: _key(row) in _GPU_KEYS)
    return _CHANGES.get(path)


def _rows(text: str, keep: Callable[[str], bool]) -> str:
    return "".join(f"{row}\n" for row in text.splitlines() if keep(row))


def _key(row: str) -> str:
    return row.partition(":")[0].strip()


def _cpuinfo(text: str) -> str:
    first: set[str] = set()

    def keep(row: str) -> bool:
        key = _key(row)
        if key in _CPU_KEYS_OF_THE_FIRST and key not in first:
            first.add(key)
            return True
        return not row.strip() or key in _CPU_KEYS

    return _rows(text, keep)


def _cmdline(text: str) -> str:
    return " ".join(word for word in text.split() if word.partition("=")[0] in _KERNEL_OPTIONS) + "\n"


def _mounts(text: str) -> str:
    """The root's file system and where the control groups are."""
    found = []
    for row in text.splitlines():
        words = row.split()
        if len(words) >= 4 and (words[1] == "/" or words[2] in ("cgroup", "cgroup2", "cpuset")):
            options = [word for word in words[3].split(",") if word in _MOUNT_OPTIONS]
            found.append(f"none {words[1]} {words[2]} {','.join(options) or 'rw'} 0 0\n")
    return "".join(found)


def _cgroup(text: str) -> str:
    found = []
    for row in text.splitlines():
        number, _, rest = row.partition(":")
        controllers, colon, group = rest.partition(":")
        if colon:
            found.append(f"{number}:{controllers}:{group_path(group)}\n")
    return "".join(found)


def _module_version(text: str) -> str:
    """The open module says in brackets who built it, on which machine."""
    rows = (row.partition("(")[0].rstrip() for row in text.splitlines() if row.startswith("NVRM version:"))
    return "".join(f"{row}\n" for row in rows)


def group_path(group: str) -> str:
    """A control group by what kind of manager made it: its ids, users and jobs are nobody's business.

    >>> group_path("/kubepods.slice/kubepods-pod5e7f.slice/cri-containerd-0c42.scope"), group_path("/jupyter-ann")
    ('/kubepods.slice/kubepods-x.slice/cri-containerd-x.scope', '/x')
    """
    return "/".join(_group_part(part) for part in group.split("/"))


def _group_part(part: str) -> str:
    if part in _PARTS or part in ("", "..") or part.startswith(("cpuset.", "cpus", "effective_cpus")):
        return part
    ending = re.search(r"\.(?:slice|scope|service)\Z", part)
    maker = next((maker for maker in _MAKERS if part.startswith(maker)), "")
    return (f"{maker}-x" if maker else "x") + (ending[0] if ending else "")


def pci_config(data: bytes) -> bytes:
    """The first 256 bytes; behind them only what says how peer traffic is routed, the rest as zeros."""
    if len(data) <= 256:
        return data
    kept = bytearray(data[:256]) + bytes(len(data) - 256)
    place, steps = 256, 0
    while 256 <= place <= len(data) - 4 and steps < 480:
        header = int.from_bytes(data[place : place + 4], "little")
        size = 8 if header & 0xFFFF in _EXTENDED else 4
        kept[place : place + size] = data[place : place + size]
        place, steps = header >> 20 & 0xFFC, steps + 1
    return bytes(kept)


_CHANGES: dict[str, Callable[[str], str]] = {
    "proc/cpuinfo": _cpuinfo,
    "proc/cmdline": _cmdline,
    "proc/version": lambda text: " ".join(text.split()[:3]) + "\n",
    "proc/modules": lambda text: "".join(f"{row.partition(' ')[0]}\n" for row in text.splitlines()),
    "proc/mounts": _mounts,
    "proc/self/mounts": _mounts,
    "proc/self/cgroup": _cgroup,
    "proc/self/cpuset": lambda text: group_path(text.strip()) + "\n",
    "proc/self/status": lambda text: _rows(text, lambda row: _key(row) in ("Cpus_allowed_list", "Mems_allowed_list")),
    "proc/driver/nvidia/version": _module_version,
}
