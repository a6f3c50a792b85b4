"""CPUs as NCCL tells them apart: the link between NUMA nodes, and how far it lets P2P go by itself.

Source: src/graph/topo.cc (ncclTopoGetInterCpuBw, ncclTopoAddCpu), paths.cc (ncclTopoCheckP2p) at the tags of
NVIDIA/nccl. Every two NUMA nodes are joined, also those of one socket.

    >>> emerald = Cpu("x86", "intel", "erp")
    >>> between_gbps(emerald, (2, 30, 7)), between_gbps(emerald, (2, 24, 3)), between_gbps(Cpu("arm"), (2, 30, 7))
    (40.0, 10.0, 6.0)
    >>> default_p2p(Cpu("x86", "amd"), 2, (2, 30, 7)).name, default_p2p(Cpu("x86", "amd"), 8, (2, 30, 7)).name
    ('SYS', 'PXB')
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.nccl.path_types import PathType, Version

_ARCH = (("x86_64", "x86"), ("arm64", "arm"), ("ppc64", "power"))
_VENDOR = (
    ("GenuineIntel", "intel"),
    ("AuthenticAMD", "amd"),
    ("CentaurHauls", "zhaoxin"),
    ("  Shanghai  ", "zhaoxin"),
)
# Intel family 6 from this model on (2.26; before it only Skylake and later was told from the rest).
_INTEL_MODELS = ((0xCF, "erp"), (0x8F, "srp"), (0x55, "skl"))
_INTEL = {"erp": 40.0, "srp": 22.0, "skl": 10.0, "bdw": 6.0}
_NO_LIMIT = 5000.0  # a CPU of which NCCL knows nothing


class Cpu(NamedTuple):
    """arch: x86 · arm · power · None; vendor (of x86): intel · amd · zhaoxin · None."""

    arch: str | None = None
    vendor: str | None = None
    model: str | None = None


def cpu_of(arch: str, vendor: str, family: int, model: int) -> Cpu:
    """By the strings of the file (compared by prefix, as NCCL does) and the numbers of CPUID."""
    kind = next((name for text, name in _ARCH if arch.startswith(text)), None)
    if kind != "x86":
        return Cpu(kind)
    maker = next((name for text, name in _VENDOR if vendor.startswith(text)), None)
    found = None
    if maker == "intel":
        found = next((name for first, name in _INTEL_MODELS if family == 6 and model >= first), "bdw")
    elif maker == "zhaoxin" and (family, model) == (7, 0x5B):
        found = "yongfeng"
    return Cpu(kind, maker, found)


def between_gbps(cpu: Cpu, version: Version) -> float:
    """From this NUMA node to any other, GB/s in one direction."""
    if cpu.arch == "power":
        return 32.0
    if cpu.arch == "arm":
        return 6.0
    if cpu.vendor == "intel":
        return _intel(cpu.model or "bdw", version)
    if cpu.vendor == "amd":
        return 16.0 if version >= (2, 19, 1) or version == (2, 16, 2) else _NO_LIMIT
    if cpu.vendor == "zhaoxin":
        return 9.0 if cpu.model == "yongfeng" else 6.0
    return _NO_LIMIT


def _intel(model: str, version: Version) -> float:
    if version >= (2, 26, 2):
        return _INTEL[model]
    if model == "bdw":
        return 6.0
    return 10.0 if version >= (2, 18, 1) else 9.0


def default_p2p(cpu: Cpu, gpus: int, version: Version) -> PathType:
    """The farthest pair that NCCL joins by P2P when nothing is set; `gpus` in the communicator."""
    x86 = cpu.arch == "x86"
    if version >= (2, 23, 4):
        return PathType.SYS if x86 and cpu.vendor == "amd" and gpus <= 2 else PathType.PXB
    if cpu.arch == "arm" or (x86 and cpu.vendor == "zhaoxin" and version >= (2, 8, 4)):
        return PathType.PXB
    if x86 and cpu.vendor == "intel":
        if version >= (2, 9, 6) or cpu.model == "bdw":
            return PathType.PXB
        return PathType.PHB if version >= (2, 7, 3) else PathType.SYS
    return PathType.SYS
