"""GT120 gpu-without-near-nic

What it says
    A GPU has no NIC under its own PCIe switch (PIX or PXB), where other GPUs of the node have one.

Why it matters
    GPUDirect RDMA from that GPU passes a host bridge or the socket link, which is slower, may be
    refused by NCCL (`NCCL_NET_GDR_LEVEL`), and makes its rail the slow one of a job over many nodes.

What to do
    `lspci -tv` and `ibdev2netdev` on the node: is a NIC missing, down or bound to another driver? If the
    node is built like this, prefer the other GPUs for jobs over several nodes.

When it is silent
    No GPU has such a NIC (a flat or small machine), all have one, the levels are not known, or the node
    has no NIC. Where no more than half of the GPUs have one it is information: built so.

Example
    >>> from gputopo.terms.path_level import PathLevel
    >>> from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair
    >>> gpus, nics = (Gpu("GPU0"), Gpu("GPU1")), (Nic("NIC0"),)
    >>> pairs = (Pair("GPU0", "NIC0", pcie=PathLevel.PIX), Pair("GPU1", "NIC0", pcie=PathLevel.NODE))
    >>> [finding] = check(NodeTopology(gpus=gpus, nics=nics, pairs=pairs))
    >>> finding.message
    'GPU1 has no NIC under its PCIe switch; nearest is NIC0 at NODE, while GPU0 has one'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import NodeTopology, Pair, pair_id

CODE = "GT120"
SEVERITY = "warning"


def check(node: NodeTopology) -> Iterator[Finding]:
    near: list[str] = []
    far: list[str] = []
    to_nics = _pairs_to_nics(node)
    for gpu in node.gpus:
        has = _has_near_nic(to_nics[gpu.id], len(node.nics or ()))
        if has is not None:
            (near if has else far).append(gpu.id)
    if not near or not far:
        return
    one = len(far) == 1
    yield Finding(
        CODE,
        SEVERITY if len(near) > len(far) else "info",
        tuple(far),
        f"{names(far)} {'has' if one else 'have'} no NIC under {'its' if one else 'their'} PCIe switch"
        f"{_nearest(to_nics[far[0]], far)}, "
        f"while {names(near)} {'has' if len(near) == 1 else 'have'} one",
        matters="GPUDirect RDMA of this GPU passes a host bridge or the socket link; its rail is slow",
        because="the node is built like this, or a NIC is missing, down or not listed",
        remedy="lspci -tv; ibdev2netdev; for jobs over several nodes prefer the other GPUs",
        evidence=tuple(
            claimed(node, f"{pair_id(p.a, p.b)} {p.pcie.name}")
            for id in far[:3]
            for p in to_nics[id][:4]
            if p.pcie is not None
        ),
    )


def needs(node: NodeTopology) -> str | None:
    if len(node.gpus) < 2 or node.nics is not None:
        return None
    return "the NICs (nvidia-smi topo -m that lists them, or a sysfs root)"


def _pairs_to_nics(node: NodeTopology) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {g.id: [] for g in node.gpus}
    nics = {n.id for n in node.nics or ()}
    for pair in node.pairs:
        if pair.a in found and pair.b in nics:
            found[pair.a].append(pair)
        elif pair.b in found and pair.a in nics:
            found[pair.b].append(pair)
    return found


def _has_near_nic(pairs: list[Pair], nics: int) -> bool | None:
    """`None`: some pair could still be near, or is not in the evidence at all."""
    if any(p.pcie is not None and p.pcie <= PathLevel.PXB for p in pairs):
        return True
    if len(pairs) < nics:
        return None
    for pair in pairs:
        possible = pair.pcie_candidates or ((pair.pcie,) if pair.pcie is not None else ())
        if not possible or min(possible) <= PathLevel.PXB:
            return None
    return False


def _nearest(pairs: list[Pair], far: list[str]) -> str:
    """The nearest NIC of the one GPU that the finding is about."""
    known = [(p.pcie, p) for p in pairs if p.pcie is not None]
    if len(far) != 1 or not known:
        return ""
    level = min(level for level, _ in known)
    ids = [p.b if p.a == far[0] else p.a for found, p in known if found is level]
    return f"; nearest is {names(ids, 3)} at {level.name}"
