"""GT524 emulated-switch

What it says
    The topology that NCCL prints has a QEMU switch (XIO3130, 104c:8232) at 2.5 GT/s x1 above GPUs: 0.2 GB/s in its
    model.

Why it matters
    NCCL plans with that figure: it takes other paths, fewer channels, and rates what passes the switch as slow.

What to do
    Give NCCL a topology file with the real widths (NCCL_TOPO_FILE). On the hypervisor: root ports instead of such
    switches; ACS must stay on in a host of virtual machines, with ATS enabled on the NICs.

When it is silent
    The log prints no topology, or the switch has a real width. Where every GPU has its NIC below its own switch and
    NVLink to all others, nothing passes the uplink: information.

Example
    >>> from gputopo.nccl_records import SystemLink, SystemRecord
    >>> from gputopo.rules.jobs.example import HOST, diagnosis, log
    >>> link = SystemLink("CPU/0-0", "PCI", 0.2, "PCI/0-65000", "104c823200000000", 9)
    >>> said = log(0, 1, systems=(SystemRecord(None, None, (), (link,), (), True, HOST, 8),))
    >>> [found] = check(diagnosis(said=said))
    >>> found.severity, found.message
    ('warning', 'NCCL models 0.2 GB/s above PCI/0-65000: an emulated switch of QEMU (104c:8232)')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.nccl_records import SystemLink
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import listed

CODE = "GT524"
SEVERITY = "warning"

_QEMU = "104c8232"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    slow = slow_links(diagnosis)
    if not slow:
        return
    group = diagnosis.job.communicator
    systems = group.systems if group else ()
    names = list(dict.fromkeys(link.child for link in slow))
    kind = "an emulated switch of QEMU (104c:8232)" if _QEMU in slow[0].detail.lower() else "an emulated link"
    linked = any(link.kind == "NVL" for one in systems for link in one.links)
    harmless = linked and _nics_beside(systems[0].links, names)
    yield Finding(
        CODE,
        "info" if harmless else SEVERITY,
        (),
        f"NCCL models {slow[0].gbps:g} GB/s above {listed(names, 4)}: {kind}",
        matters="it plans with that figure: other paths, fewer channels"
        + ("; nothing passes it while P2P is on, every GPU has NVLink and its NIC below it" if harmless else ""),
        because="a virtual machine's switch reports 2.5 GT/s x1, whatever the host has",
        remedy="a topology file with the real widths: NCCL_TOPO_FILE; on the host of virtual machines leave ACS on and "
        "enable ATS on the NICs",
        evidence=tuple(
            diagnosis.line(link.line, f"PCI[{link.gbps:g}] - {link.child} ({link.detail})") for link in slow[:3]
        ),
    )


def slow_links(diagnosis: Diagnosis) -> list[SystemLink]:
    """The PCI links below 1 GB/s, or what a site says, that the log's topology has; QEMU's where there are any."""
    group = diagnosis.job.communicator
    links = [link for one in (group.systems if group else ()) for link in one.links]
    least = diagnosis.settings.threshold("emulated_link_gbps")
    slow = [link for link in links if link.kind == "PCI" and 0 < link.gbps < least]
    return [link for link in slow if _QEMU in link.detail.lower()] or slow


def _nics_beside(links: tuple[SystemLink, ...], switches: list[str]) -> bool:
    """Whether below each of these switches there are a GPU and a NIC."""
    below: dict[str, set[str]] = {}
    for link in links:
        below.setdefault(link.parent, set()).add(link.child)

    def reach(name: str) -> set[str]:
        found: set[str] = set()
        left = [name]
        while left:
            for child in below.get(left.pop(), ()):
                if child not in found:
                    found.add(child)
                    left.append(child)
        return found

    kinds = [{one.split("/")[0] for one in reach(name)} for name in switches]
    return bool(kinds) and all("GPU" in one and ("NIC" in one or "NET" in one) for one in kinds)
