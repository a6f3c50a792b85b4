"""GT105 nvlink-without-peer-copies

What it says
    Two GPUs have NVLinks between them, and the driver refuses peer-to-peer copies.

Why it matters
    NCCL stops with "P2P is disabled between NVLINK connected GPUs", or the pair falls back to PCIe.

What to do
    `nvidia-smi nvlink -s` and `dmesg | grep -i xid`; on an NVSwitch board start nvidia-fabricmanager in the driver's
    version; reset the GPUs, else reseat the bridge or replace the board.

When it is silent
    No source prints the status, or a GPU is in MIG mode, which has no peer-to-peer by design. Atomics and `prop` are
    other capabilities.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Pair
    >>> pair = Pair("GPU0", "GPU1", "NV4", nvlinks=4, p2p={"read": "NS", "write": "NS"})
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"), Gpu("GPU1")), pairs=(pair,)))
    >>> finding.severity, finding.message
    ('error', 'GPU0-GPU1 have NVLinks, and the driver refuses copies between them: NS, not supported')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, in_node_order
from gputopo.rules.wording import pairs as named
from gputopo.terms.peer_status import REFUSALS, refusal
from gputopo.topology.node import NodeTopology, Pair, pair_id

CODE = "GT105"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    whole = {gpu.id for gpu in node.gpus if not gpu.mig}
    alike: dict[str, list[Pair]] = {}
    for pair in node.pairs:
        status = refusal(pair.p2p) if pair.a in whole and pair.b in whole and pair.nvlinks else None
        if status is not None:
            alike.setdefault(status, []).append(pair)
    for status, some in alike.items():
        yield Finding(
            CODE,
            SEVERITY,
            in_node_order(node, (id for pair in some for id in (pair.a, pair.b))),
            f"{named([(pair.a, pair.b) for pair in some])} have NVLinks, and the driver refuses copies between them: "
            f"{status}, {REFUSALS[status]}",
            matters="NCCL stops (P2P is disabled between NVLINK connected GPUs), or falls back to PCIe",
            because="a bridge or board fault, or the fabric manager does not run in the driver's version",
            remedy="nvidia-smi nvlink -s; dmesg | grep -i xid; systemctl status nvidia-fabricmanager; reset the GPUs",
            evidence=tuple(claimed(node, f"{pair_id(pair.a, pair.b)} {pair.level}: {status}") for pair in some[:4]),
        )
