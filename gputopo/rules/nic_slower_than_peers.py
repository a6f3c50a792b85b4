"""GT122 nic-slower-than-peers

What it says
    A NIC that is nearest to a GPU runs at a lower rate than the others of its kind that are, or faster than its PCIe
    link can carry.

Why it matters
    Its rail is the slow one: a collective over several nodes runs at the pace of the slowest.

What to do
    Cable, switch port and `mlxlink -d DEVICE`; for the slot `lspci -vv` (LnkSta).

When it is silent
    Rates are equal or not known; NICs that are nearest to no GPU (storage, management); 10 Gb/s and less, which NCCL's
    files also write where nothing is known. Two ports of one card share its slot: information.

Example
    >>> from gputopo.topology.node import Gpu, Nic, NodeTopology
    >>> gpus = tuple(Gpu(f"GPU{n}", nearest_nics=(f"mlx5_{n}",)) for n in range(3))
    >>> nics = tuple(Nic(f"mlx5_{n}", vendor="0x15b3", rate_gbps=rate) for n, rate in enumerate((400, 400, 200)))
    >>> [finding] = check(NodeTopology(gpus=gpus, nics=nics))
    >>> finding.message
    'mlx5_2 runs at 200 Gb/s, mlx5_0 and mlx5_1 at 400'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names
from gputopo.terms.pcie_rate import pcie_gbytes
from gputopo.topology.node import Nic, NodeTopology

CODE = "GT122"
SEVERITY = "warning"

_PLACEHOLDER = 10.0  # Gb/s


def check(node: NodeTopology) -> Iterator[Finding]:
    used = {nic for gpu in node.gpus for nic in gpu.nearest_nics}
    mine = [
        nic for nic in node.nics or ()
        if nic.id in used and nic.rate_gbps is not None and nic.rate_gbps > _PLACEHOLDER
        and nic.virtual_function_of is None
    ]  # fmt: skip
    alike: dict[tuple[str | None, str | None], list[Nic]] = {}
    for nic in mine:
        alike.setdefault((nic.vendor, nic.link_layer), []).append(nic)
    for nics in alike.values():
        yield from _slower(node, nics)
    if not node.virtual:
        yield from _above_their_slot(node, mine)


def _slower(node: NodeTopology, nics: list[Nic]) -> Iterator[Finding]:
    most = max(_rate(nic) for nic in nics)
    full = [nic for nic in nics if _rate(nic) == most]
    slow = [nic for nic in nics if _rate(nic) < most]
    if not slow or len(slow) >= len(full):
        return
    rates = "/".join(f"{rate:g}" for rate in sorted({_rate(nic) for nic in slow}))
    yield Finding(
        CODE,
        SEVERITY,
        tuple(nic.id for nic in slow),
        f"{names(nic.id for nic in slow)} {'runs' if len(slow) == 1 else 'run'} at {rates} Gb/s, "
        f"{names(nic.id for nic in full)} at {most:g}",
        matters="its rail is the slow one of a job over several nodes",
        because="a cable, a switch port or a setting that does not carry the full rate",
        remedy=f"mlxlink -d {slow[0].device or slow[0].id}; compare cable and switch port with those of {full[0].id}",
        evidence=tuple(claimed(node, f"{nic.id}: {_rate(nic):g} Gb/s") for nic in (*slow[:4], full[0])),
    )


def _above_their_slot(node: NodeTopology, nics: list[Nic]) -> Iterator[Finding]:
    """A port faster than the link of its card; several ports that only together are."""
    cards: dict[str, list[Nic]] = {}
    for nic in nics:
        cards.setdefault((nic.pci or nic.id).rpartition(".")[0] or nic.id, []).append(nic)
    for ports in cards.values():
        link = ports[0].pcie
        carries = pcie_gbytes(link.max_generation, link.max_width) if link is not None else None
        if carries is None:
            continue
        single = [nic for nic in ports if _rate(nic) / 8 > carries]
        together = sum(_rate(nic) for nic in ports) / 8
        if not single and together <= carries:
            continue
        ids = tuple(nic.id for nic in single or ports)
        rate = _rate(single[0]) if single else sum(_rate(nic) for nic in ports)
        yield Finding(
            CODE,
            SEVERITY if single else "info",
            ids,
            f"{names(ids)} {'carries' if len(ids) == 1 else 'carry'} {rate:g} Gb/s, more than the PCIe link: "
            f"{carries:.1f} GB/s at most",
            matters="the slot is the limit of this rail" if single else "the ports share the slot's bandwidth",
            because="a slot of fewer lanes or an older generation than the card's" if single else "built so",
            remedy="lspci -vv (LnkCap against LnkSta); a slot with more lanes" if single else "",
            evidence=(claimed(node, f"{ids[0]}: {rate:g} Gb/s = {rate / 8:g} GB/s"),),
        )


def _rate(nic: Nic) -> float:
    return nic.rate_gbps or 0.0
