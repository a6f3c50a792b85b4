"""What the observations of a node say that bears on peer traffic: modules, ACS, ATS, IOMMU, the chains of bridges.

    >>> acs_of("ACSCtl: SrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd+ EgressCtrl- DirectTrans-")
    Acs(redirects=False, lets_translated_pass=False, validates=True)
    >>> acs_of("ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+")
    Acs(redirects=True, lets_translated_pass=True, validates=True)
    >>> kernel_version("5.15.0-1064-nvidia"), kernel_version("6.8"), kernel_version("unknown")
    ((5, 15), (6, 8), None)
    >>> [passes_through(options) for options in ("intel_iommu=on iommu=pt", "iommu=pt iommu=nopt", "iommu=force,pt")]
    ['iommu=pt', '', 'iommu=force,pt']
    >>> is_backporting("4.18.0-553.el8_10.x86_64"), is_backporting("5.4.0-1101-generic")
    (True, False)
    >>> group_and_type("0000:18:00.0: group 12 (DMA-FQ)"), group_and_type("0000:18:00.0: group 12")
    (('12', 'DMA-FQ'), ('12', None))
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.topology.node import Gpu, Nic, NodeTopology, Nvme, Observed

_GROUP = re.compile(r"group ([\w-]+)(?: \(([\w-]+)\))?")
_ARM = ("aarch64", "arm64")


class Acs(NamedTuple):
    """An access control word, as far as it matters to peer traffic.

    Redirects are ReqRedir, CmpltRedir and EgressCtrl (Linux, drivers/pci/p2pdma.c). SrcValid only checks who sends;
    UpstreamFwd only passes on what a port below has redirected.
    """

    redirects: bool
    lets_translated_pass: bool  # DirectTrans without TransBlk
    validates: bool  # SrcValid


class Facts(NamedTuple):
    loaded: frozenset[str]  # kernel modules
    absent: frozenset[str]  # kernel modules that are known not to be loaded
    registered: bool | None  # a client of NVIDIA's among the RDMA stack's memory peers
    is_open_module: bool | None
    kernel: tuple[int, int] | None
    has_backports: bool  # of a distribution that takes much of later kernels into older ones
    storage_drivers: frozenset[str] | None  # those that nvidia_fs serves
    disk_drivers: dict[str, str]  # kernel driver by disk
    acs: dict[str, Acs]  # by bridge; what was not read is not there
    ats: dict[str, bool]  # by device
    groups: dict[str, str]  # IOMMU group by device
    group_types: dict[str, str]
    iommu_off: bool
    pass_through: str  # the kernel option that turns translation off, "" = none seen
    chains: dict[str, tuple[str, ...]]  # bridges above a device, host bridge first
    is_arm: bool
    virtual: bool | None

    def kernel_from(self, wanted: tuple[int, int]) -> bool | None:
        return None if self.kernel is None else self.kernel >= wanted


def facts_of(node: NodeTopology) -> Facts:
    kinds: dict[str, list[Observed]] = {}
    for seen in node.observations:
        kinds.setdefault(seen.kind, []).append(seen)
    groups, types = _groups([*kinds.get("iommu-groups", ()), *kinds.get("iommu-groups-of-peers", ())])
    peers = [seen.text for seen in kinds.get("gpudirect-memory-peers", ())]
    module = [seen.text for seen in kinds.get("nvidia-kernel-module", ())]
    options = [seen.text for seen in kinds.get("kernel-iommu-options", ())]
    release = (node.system.kernel or "") if node.system is not None else ""
    served = kinds.get("gpudirect-storage-drivers")
    return Facts(
        loaded=_first_words(kinds.get("gpudirect-module", ())),
        absent=_first_words(kinds.get("gpudirect-module-absent", ())),
        registered=not peers[0].endswith("no nv_mem") if peers else None,
        is_open_module="open" in module[0].split() if module else None,
        kernel=kernel_version(release),
        has_backports=is_backporting(release),
        storage_drivers=frozenset(word for seen in served for word in seen.text.split()) if served else None,
        disk_drivers={id: seen.text for seen in kinds.get("nvme-driver", ()) for id in seen.subjects},
        acs=acs_words(node),
        ats={id: seen.text.endswith("+") for seen in kinds.get("ats", ()) for id in seen.subjects},
        groups=groups,
        group_types=types,
        iommu_off="iommu-off" in kinds,
        pass_through=next((word for text in options if (word := passes_through(text))), ""),
        chains=chains_of(node),
        is_arm=any(package.arch in _ARM for package in node.packages or ()),
        virtual=node.virtual,
    )


def acs_words(node: NodeTopology) -> dict[str, Acs]:
    """The control words that were read, by bridge."""
    return {
        id: acs_of(seen.text)
        for seen in node.observations
        if seen.kind in ("acs-enabled", "acs-off")
        for id in seen.subjects
    }


def acs_of(text: str) -> Acs:
    flags = text.split()
    return Acs(
        any(flag in flags for flag in ("ReqRedir+", "CmpltRedir+", "EgressCtrl+")),
        "DirectTrans+" in flags and "TransBlk+" not in flags,
        "SrcValid+" in flags,
    )


def chains_of(node: NodeTopology) -> dict[str, tuple[str, ...]]:
    """Device → the bridges above it, host bridge first; () where none is known.

    Of an excerpt of lspci that does not reach the root, the part that it shows.
    """
    parents = {bridge.id: bridge.parent for bridge in node.bridges}
    devices: tuple[Gpu | Nic | Nvme, ...] = (*node.gpus, *(node.nics or ()), *(node.nvme or ()))
    seen = [one for one in node.observations if one.kind == "bridges-above"]
    parts = {id: tuple(one.text.split()) for one in seen for id in one.subjects}
    return {device.id: above(device.parent, parents) or parts.get(device.id, ()) for device in devices}


def above(bridge: str | None, parents: dict[str, str | None]) -> tuple[str, ...]:
    """The chain that ends at a bridge; it ends where a document's parents run in a circle."""
    chain: list[str] = []
    while bridge is not None and bridge not in chain:
        chain.append(bridge)
        bridge = parents.get(bridge)
    return tuple(reversed(chain))


def kernel_version(release: str) -> tuple[int, int] | None:
    match = re.match(r"(\d{1,3})\.(\d{1,3})", release)
    return None if match is None else (int(match[1]), int(match[2]))


def is_backporting(release: str) -> bool:
    """Red Hat and its rebuilds: the version says little of what is in the kernel."""
    return re.search(r"\.el\d", release) is not None


def passes_through(options: str) -> str:
    """The option by which the IOMMU is off or does not translate, "" where there is none; the last word counts."""
    found = ""
    for word in options.split():
        name, _, value = word.partition("=")
        values = value.split(",")
        if name == "iommu" and {"pt", "off", "nopt"}.intersection(values):
            found = "" if "nopt" in values else word
        elif (name in ("intel_iommu", "amd_iommu") and "off" in values) or (
            name == "iommu.passthrough" and value in ("1", "y", "on")
        ):
            found = word
        elif name == "iommu.passthrough" and value in ("0", "n", "off"):
            found = ""
    return found


def group_and_type(text: str) -> tuple[str, str | None] | None:
    match = _GROUP.search(text)
    return None if match is None else (match[1], match[2])


def _groups(observed: list[Observed]) -> tuple[dict[str, str], dict[str, str]]:
    """The texts name devices as their source did, in the order of the subjects."""
    groups: dict[str, str] = {}
    types: dict[str, str] = {}
    for seen in observed:
        for id, text in zip(seen.subjects, seen.text.split(", ")):
            found = group_and_type(text)
            if found is not None:
                groups[id] = found[0]
                if found[1] is not None:
                    types[id] = found[1]
    return groups, types


def _first_words(observed: list[Observed] | tuple[Observed, ...]) -> frozenset[str]:
    return frozenset(seen.text.partition(" ")[0] for seen in observed)
