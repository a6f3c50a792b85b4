"""GT121 nics-unevenly-shared

What it says
    Two GPUs have the same single nearest NIC, while another NIC of the same rate on their branch of the PCIe tree is
    nearest to none.

Why it matters
    In a job over several nodes both GPUs send through one NIC, and the other idles: half the bandwidth.

What to do
    Compare the tree with the machine's manual: a virtual bridge inside a switch (PEX88096) can put a NIC a level too
    far. Give NCCL a topology file that says how it is (`NCCL_TOPO_FILE`).

When it is silent
    The GPUs tie over several NICs (NCCL alternates), the machine has one NIC for two GPUs, the idle NIC is behind
    another host bridge (storage, management), or the levels of some GPU are not known. Virtual machines.

Example
    >>> from gputopo.terms.path_level import PathLevel
    >>> from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair
    >>> gpus = tuple(Gpu(f"GPU{n}", nearest_nics=("mlx5_0",)) for n in (0, 1))
    >>> pairs = tuple(Pair(f"GPU{n}", nic, pcie=level) for n in (0, 1)
    ...               for nic, level in (("mlx5_0", PathLevel.PIX), ("mlx5_1", PathLevel.PXB)))
    >>> [finding] = check(NodeTopology(gpus=gpus, nics=(Nic("mlx5_0"), Nic("mlx5_1")), pairs=pairs))
    >>> finding.message
    'GPU0 and GPU1 share mlx5_0 as nearest NIC, and mlx5_1 on their branch is nearest to no GPU'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import names
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, NodeTopology, Pair, pair_id

CODE = "GT121"
SEVERITY = "warning"

_BRANCH = (PathLevel.PIX, PathLevel.PXB)


def check(node: NodeTopology) -> Iterator[Finding]:
    if node.virtual or not all(gpu.nearest_nics for gpu in node.gpus):
        return  # a GPU whose levels are not known may be the one that the idle NIC is near
    used = {nic for gpu in node.gpus for nic in gpu.nearest_nics}
    idle = [nic for nic in node.nics or () if nic.id not in used and nic.virtual_function_of is None]
    if not idle:
        return
    rates = {nic.id: nic.rate_gbps for nic in node.nics or ()}
    near = {(pair.a, pair.b): pair for pair in node.pairs if pair.pcie in _BRANCH}
    sharing: dict[str, list[Gpu]] = {}
    for gpu in node.gpus:
        if len(gpu.nearest_nics) == 1:
            sharing.setdefault(gpu.nearest_nics[0], []).append(gpu)
    for shared, gpus in sharing.items():
        other = next((nic for nic in idle if rates[nic.id] == rates.get(shared)
                      and all((gpu.id, nic.id) in near for gpu in gpus)), None)  # fmt: skip
        if len(gpus) > 1 and other is not None:
            yield _finding(node, gpus, shared, other.id, near)


def _finding(
    node: NodeTopology, gpus: list[Gpu], shared: str, other: str, near: dict[tuple[str, str], Pair]
) -> Finding:  # fmt: skip
    ids = tuple(gpu.id for gpu in gpus)
    told = [near[gpu.id, nic] for gpu in gpus[:3] for nic in (shared, other) if (gpu.id, nic) in near]
    return Finding(
        CODE,
        SEVERITY,
        (*ids, shared, other),
        f"{names(ids)} share {shared} as nearest NIC, and {other} on their branch is nearest to no GPU",
        matters="in a job over several nodes they send through one NIC, and the other idles",
        because="a bridge inside the switch puts it one level further off, or the cards sit in the wrong slots",
        remedy="lspci -tv against the machine's manual; a corrected NCCL_TOPO_FILE",
        evidence=tuple(
            claimed(node, f"{pair_id(pair.a, pair.b)} {pair.pcie.name}") for pair in told if pair.pcie is not None
        ),
    )
