"""GT104 peer-copies-refused

What it says
    The driver refuses peer-to-peer copies over PCIe between two GPUs that have no NVLink (`topo -p2p`: CNS, GNS, TNS
    or NS).

Why it matters
    NCCL then copies through the host's memory (SHM): a pair below one switch loses its short path, and the switch's
    uplink carries every byte twice.

What to do
    GeForce cards have no peer-to-peer on the stock driver: nothing to mend. On a data-centre GPU look at ACS
    (GT101), the IOMMU (GT103) and the driver's kernel modules.

When it is silent
    No source prints the status of reads or writes, all are OK, or the pair has NVLinks (then GT105). Information on
    GeForce cards and others of a model without it (GNS), and where the path is PHB, NODE or SYS, which NCCL leaves to
    SHM by default.

Example
    >>> from gputopo.terms.path_level import PathLevel
    >>> from gputopo.topology.node import Gpu, NodeTopology, Pair
    >>> gpus = (Gpu("GPU0", name="NVIDIA L40S"), Gpu("GPU1", name="NVIDIA L40S"))
    >>> pair = Pair("GPU0", "GPU1", "PIX", PathLevel.PIX, nvlinks=0, p2p={"read": "CNS"})
    >>> [finding] = check(NodeTopology(gpus=gpus, pairs=(pair,)))
    >>> finding.severity, finding.message
    ('warning', 'no peer-to-peer over PCIe between GPU0-GPU1 (PIX): the driver says CNS, chipset not supported')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, in_node_order
from gputopo.rules.wording import pairs as named
from gputopo.terms.path_level import PathLevel
from gputopo.terms.peer_status import REFUSALS, refusal
from gputopo.topology.node import NodeTopology, Pair, pair_id

CODE = "GT104"
SEVERITY = "warning"

_BY_MODEL = "GNS"
_NEAR = (PathLevel.PIX, PathLevel.PXB)


def check(node: NodeTopology) -> Iterator[Finding]:
    models = {gpu.id: gpu.name or "" for gpu in node.gpus}
    alike: dict[tuple[str, bool, bool], list[Pair]] = {}
    for pair in node.pairs:
        status = refusal(pair.p2p) if pair.a in models and pair.b in models else None
        if status is None or pair.nvlinks:
            continue
        consumer = status == _BY_MODEL or "GeForce" in models[pair.a] or "GeForce" in models[pair.b]
        alike.setdefault((status, pair.pcie in _NEAR, consumer), []).append(pair)
    for (status, near, consumer), some in alike.items():
        yield _finding(node, status, near, consumer, some)


def _finding(node: NodeTopology, status: str, near: bool, consumer: bool, some: list[Pair]) -> Finding:
    levels = "/".join(dict.fromkeys(pair.pcie.name for pair in some if pair.pcie is not None))
    where = f" ({levels})" if levels else ""
    if consumer:
        because, remedy = "the driver has no peer-to-peer for these GPUs, as for GeForce cards", ""
    else:
        because = "the platform, the driver, or a setting such as ACS or the IOMMU is against it"
        remedy = "see GT101 (ACS) and GT103 (IOMMU); nvidia-smi topo -p2p r and -p2p w show it again"
    return Finding(
        CODE,
        SEVERITY if near and not consumer else "info",
        in_node_order(node, (id for pair in some for id in (pair.a, pair.b))),
        f"no peer-to-peer over PCIe between {named([(pair.a, pair.b) for pair in some])}{where}: "
        f"the driver says {status}, {REFUSALS[status]}",
        matters="NCCL copies through the host's memory (SHM)"
        + (", twice over the uplink of their switch" if near else ", as it does by default at this distance"),
        because=because,
        remedy=remedy,
        evidence=tuple(claimed(node, f"{pair_id(pair.a, pair.b)}: {status}") for pair in some[:4]),
    )
