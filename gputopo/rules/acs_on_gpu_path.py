"""GT101 acs-on-gpu-path

What it says
    Access Control Services (ACS) of a PCIe switch port send the traffic between a GPU and its neighbour on the
    same switch up to the CPU.

Why it matters
    GPUDirect RDMA and peer-to-peer copies lose the short path below the switch: they get slower, or hang where the
    root complex does not pass them on (nccl issues 304, 606).

What to do
    Bare metal: turn it off in the BIOS, or after each boot `setpci -s PORT ECAP_ACS+0x6.w=0000`. A host of virtual
    machines needs it: there leave it on, with ATS enabled on the NICs.

When it is silent
    No port above a GPU redirects (ReqRedir, CmpltRedir, EgressCtrl), or nothing is beside the GPU below its root
    port, so that all its traffic passes the CPU anyway. SrcValid alone only checks who sends: information, so is
    a redirect where the GPU is passed through to a virtual machine, where DirectTrans and ATS let translated
    requests pass, or where only NVLinked GPUs are neighbours.

Example
    >>> from gputopo.topology.node import Bridge, Gpu, Nic, NodeTopology, Observed
    >>> bridges = tuple(Bridge(id, above, "switch") for id, above in (
    ...     ("0000:18:00.0", None), ("0000:19:00.0", "0000:18:00.0"), ("0000:19:01.0", "0000:18:00.0")))
    >>> seen = Observed("acs-enabled", ("0000:19:00.0",), "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+", "s1", 9)
    >>> node = NodeTopology(bridges=bridges, gpus=(Gpu("GPU0", parent="0000:19:00.0"),),
    ...                     nics=(Nic("mlx5_0", parent="0000:19:01.0"),), observations=(seen,))
    >>> [finding] = check(node)
    >>> finding.severity, finding.message
    ('error', 'ACS at 0000:19:00.0 sends the traffic between GPU0 and mlx5_0 up to the CPU')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.rules.finding import SEVERITIES, Evidence, Finding
from gputopo.rules.witness import evidence, in_node_order, observed
from gputopo.rules.wording import listed, names
from gputopo.topology.gpudirect_facts import Acs, Facts, facts_of
from gputopo.topology.node import NodeTopology

CODE = "GT101"
SEVERITY = "error"

_SLOWER = "GPUDirect RDMA and peer-to-peer copies lose the short path below the switch; they get slower or hang"


class _Port(NamedTuple):
    """A bridge with GPUs below it or beside it; `beside` is what else hangs below the same root port."""

    id: str
    below: tuple[str, ...]
    beside: tuple[str, ...]


def check(node: NodeTopology) -> Iterator[Finding]:
    if not node.gpus:
        return
    facts = facts_of(node)
    redirecting = {id: acs for id, acs in facts.acs.items() if acs.redirects}
    ports = _ports(node, facts)
    if not redirecting:
        yield from _only_validating(node, facts, ports)
        return
    alike: dict[tuple[str, str], list[_Port]] = {}
    for port in ports:
        if port.id in redirecting:
            alike.setdefault(_judge(node, facts, port, redirecting[port.id]), []).append(port)
    for (severity, why), some in alike.items():
        yield _finding(node, severity, why, some)
    yield from _unplaced(node, facts, redirecting)


def needs(node: NodeTopology) -> str | None:
    facts = facts_of(node)
    if node.virtual or all(port.id in facts.acs for port in _ports(node, facts)):
        return None
    return "ACS of the PCIe switch ports above GPUs (root: lspci -vvv)"


# Ports that matter


def _ports(node: NodeTopology, facts: Facts) -> list[_Port]:
    """Downstream ports between a GPU and a neighbour below the same root port."""
    below: dict[str, list[str]] = {}
    for id, chain in facts.chains.items():
        for bridge in chain:
            below.setdefault(bridge, []).append(id)
    gpus = {gpu.id for gpu in node.gpus}
    found: dict[str, _Port] = {}
    for chain in facts.chains.values():
        bridges = chain[1:] if chain and chain[0].startswith("pci") else chain
        for place, port in enumerate(bridges[1:]):
            above = bridges[place]
            # What branches off at the bridge above reaches this port's devices past the CPU only if redirected.
            if port in found or len(below[port]) == len(below[above]):
                continue
            mine = below[port]
            others = [id for id in below[bridges[0]] if id not in mine]
            if gpus.intersection(mine) or gpus.intersection(others):
                found[port] = _Port(port, tuple(mine), tuple(others))
    return list(found.values())


# How much it matters


def _judge(node: NodeTopology, facts: Facts, port: _Port, acs: Acs) -> tuple[str, str]:
    """(severity, why it is only that; "" for what hurts)."""
    here = {*port.below, *port.beside}
    if node.virtual:
        return "info", "guest"
    if any(gpu.id in here and gpu.driver == "vfio-pci" for gpu in node.gpus):
        return "info", "passed-through"
    severity = min((_pair(node, a, b) for a in port.below for b in port.beside), key=SEVERITIES.index)
    if severity == "info":
        return "info", "nvlink"
    others = [id for id in here if id not in {gpu.id for gpu in node.gpus}]
    if acs.lets_translated_pass and others and all(facts.ats.get(id) for id in others):
        return "info", "direct"
    return ("warning", "arm") if facts.is_arm else (severity, "")


def _pair(node: NodeTopology, a: str, b: str) -> str:
    gpus = {gpu.id for gpu in node.gpus}
    disks = {disk.id for disk in node.nvme or ()}
    if not gpus.intersection((a, b)):
        return "info"
    if a in disks or b in disks:
        return "warning"
    if {a, b} <= gpus:
        links = next((pair.nvlinks for pair in node.pairs if {pair.a, pair.b} == {a, b}), None)
        return "warning" if links is None else "info" if links else SEVERITY
    return SEVERITY


_WHY = {
    "": ("the IOMMU or the BIOS turned ACS on at the switch's ports", _SLOWER),
    "guest": ("this is a virtual machine, whose ports are the hypervisor's", "nothing that can be changed from here"),
    "passed-through": (
        "a GPU there is passed through to a virtual machine (vfio-pci), which needs ACS",
        "nothing where the NICs have ATS on and the port DirectTrans: translated requests keep the short path",
    ),
    "direct": ("DirectTrans and ATS are on", "nothing: translated requests keep the short path"),
    "nvlink": ("ACS is on, and the GPUs there have NVLink to each other", "little: they do not use this path"),
    "arm": ("ACS is on; on Arm servers (Grace) it can be the maker's setting, with ATS", _SLOWER),
}
_OFF = (
    "turn it off in the BIOS, or after each boot: setpci -s PORT ECAP_ACS+0x6.w=0000 (not on a host of virtual "
    "machines)"
)


def _finding(node: NodeTopology, severity: str, why: str, ports: Sequence[_Port]) -> Finding:
    ids = in_node_order(node, {id for port in ports for id in (*port.below, *port.beside)})
    because, matters = _WHY[why]
    where = listed([port.id for port in ports], 3)
    verb = "redirects" if why else "sends"
    return Finding(
        CODE,
        severity,
        ids,
        f"ACS at {where} {verb} the traffic between {names(ids)} {'via' if why else 'up to'} the CPU",
        matters=matters,
        because=because,
        remedy=_OFF if why in ("", "arm") else "leave it; lspci -vvv (ACSCtl, ATSCtl) shows what is on",
        evidence=_words(node, [port.id for port in ports]),
    )


def _words(node: NodeTopology, ports: Sequence[str]) -> tuple[Evidence, ...]:
    seen = observed(node, "acs-enabled", "acs-off", "ats")
    return evidence(one for one in seen if set(one.subjects) & set(ports))


def _unplaced(node: NodeTopology, facts: Facts, redirecting: dict[str, Acs]) -> Iterator[Finding]:
    """Ports of an excerpt that does not show what is below them."""
    known = {bridge.id for bridge in node.bridges}
    ports = [id for id in redirecting if id not in known]
    if not ports or all(facts.chains.get(gpu.id) for gpu in node.gpus):
        return
    passed = node.virtual or any(gpu.driver == "vfio-pci" for gpu in node.gpus)
    direct = all(redirecting[id].lets_translated_pass for id in ports) and bool(facts.ats) and all(facts.ats.values())
    why = "guest" if node.virtual else "passed-through" if passed else "direct" if direct else ""
    because, matters = _WHY[why]
    yield Finding(
        CODE,
        "info" if why else "warning",
        in_node_order(node, (gpu.id for gpu in node.gpus)),
        f"ACS redirects at {listed(ports, 3)}; whether a GPU is below is not in this text",
        matters=matters,
        because=because,
        remedy="leave it; lspci -vvv (ACSCtl, ATSCtl) shows what is on" if why else "lspci -tv shows what is below",
        evidence=_words(node, ports),
    )


def _only_validating(node: NodeTopology, facts: Facts, ports: Sequence[_Port]) -> Iterator[Finding]:
    """Guides that grep for SrcValid+ would call this a fault."""
    placed = {port.id for port in ports}
    known = {bridge.id for bridge in node.bridges}
    some = [id for id, acs in facts.acs.items() if acs.validates and (id in placed or id not in known)]
    if not some:
        return
    yield Finding(
        CODE,
        "info",
        in_node_order(node, (gpu.id for gpu in node.gpus)),
        f"ACS is on at {listed(some, 3)} but redirects nothing (SrcValid alone)",
        matters="nothing: source validation checks who sends, peer traffic keeps the short path",
        because="ReqRedir, CmpltRedir and EgressCtrl are off",
        remedy="leave ACS as it is; for a hang or slow copies see dmesg and NCCL_DEBUG=INFO",
        evidence=_words(node, some),
    )
