"""`proc/cpuinfo`: maker, family and model of each CPU; and the architecture, from what says it.

>>> text = "processor\\t: 0\\nvendor_id\\t: GenuineIntel\\ncpu family\\t: 6\\nmodel\\t\\t: 143\\n\\nprocessor\\t: 1\\n"
>>> stanzas(text)[0]["cpu family"]
'6'
>>> identity(stanzas(text)[0])
CpuIdentity(vendor='GenuineIntel', family=6, model=143)
>>> architecture_in_release("3.10.0-1160.15.2.el7.x86_64"), architecture_in_release("6.17.0-1014-nvidia")
('x86_64', None)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.sysfs_root.read import Tree, integer, line, text

# MIDR_EL1 implementer codes, as util-linux's sys-utils/lscpu-arm.c names them.
_ARM_VENDORS = {
    0x41: "ARM",
    0x43: "Cavium",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x51: "Qualcomm",
    0xC0: "Ampere",
}
_ARCHITECTURES = {
    "x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64", "ppc64le": "ppc64le",
    "ppc64el": "ppc64le", "ppc64": "ppc64", "riscv64": "riscv64", "s390x": "s390x", "i686": "i686",
}  # fmt: skip


class CpuIdentity(NamedTuple):
    vendor: str | None = None
    family: int | None = None
    model: int | None = None


class CpuFacts(NamedTuple):
    by_cpu: dict[int, CpuIdentity]
    arch: str | None
    flags: frozenset[str]  # of the first CPU; empty where the file does not say

    def of_cpu(self, cpu: int) -> CpuIdentity:
        return self.by_cpu.get(cpu, CpuIdentity())


def cpu_facts(tree: Tree, release: str | None) -> CpuFacts:
    found = stanzas(text(tree, "proc/cpuinfo") or "")
    by_cpu = {}
    for stanza in found:
        cpu = integer(stanza.get("processor"))
        if cpu is not None:
            by_cpu[cpu] = identity(stanza)
    first = found[0] if found else {}
    flags = frozenset((first.get("flags") or first.get("Features") or "").split())
    return CpuFacts(by_cpu, _architecture(tree, release, first, flags), flags)


def stanzas(content: str) -> list[dict[str, str]]:
    """The `key : value` blocks that begin with `processor`."""
    found: list[dict[str, str]] = []
    for row in content.splitlines():
        key, colon, value = row.partition(":")
        key = key.strip()
        if not colon:
            continue
        if key == "processor":
            found.append({})
        if found:
            found[-1].setdefault(key, value.strip())
    return found


def identity(stanza: dict[str, str]) -> CpuIdentity:
    vendor = stanza.get("vendor_id") or _arm_vendor(stanza.get("CPU implementer")) or _power_vendor(stanza)
    return CpuIdentity(vendor, integer(stanza.get("cpu family")), integer(stanza.get("model")))


def _arm_vendor(code: str | None) -> str | None:
    if code is None or not code.startswith("0x"):
        return None
    try:
        return _ARM_VENDORS.get(int(code, 16))
    except ValueError:
        return None


def _power_vendor(stanza: dict[str, str]) -> str | None:
    return "IBM" if stanza.get("cpu", "").startswith("POWER") else None


def _architecture(tree: Tree, release: str | None, first: dict[str, str], flags: frozenset[str]) -> str | None:
    said = nofile_info(tree).get("Architecture") or line(tree, "proc/sys/kernel/arch")
    if said:
        return _ARCHITECTURES.get(said.lower(), said)
    if "lm" in flags:  # long mode: the CPU can, and every kernel that runs GPUs does
        return "x86_64"
    if first.get("CPU architecture") == "8":
        return "aarch64"
    return architecture_in_release(release)


def architecture_in_release(release: str | None) -> str | None:
    """Distributions put it at the end of the kernel release: `….el7.x86_64`, `…-amd64`."""
    if not release:
        return None
    return _ARCHITECTURES.get(release.replace("-", ".").rpartition(".")[2])


def nofile_info(tree: Tree) -> dict[str, str]:
    """What hwloc-gather-topology writes for things that are not files: OSRelease, Architecture …"""
    found = {}
    for row in (text(tree, "proc/hwloc-nofile-info") or "").splitlines():
        key, colon, value = row.partition(":")
        if colon and value.strip():
            found[key.strip()] = value.strip()
    return found
