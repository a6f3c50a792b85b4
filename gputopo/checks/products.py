"""What a model of GPU has wherever it is: the expectations of `gputopo check` without a specification.

Links: an H100 on an HGX board has 18 and with NVL bridges 12 (Azure/azhpc-images issue 162, NVIDIA Health Validation's
thresholds); a card without its bridge has none, which is no fault. An A100 has 12 (six NVSwitches with 2 each,
NVIDIA/nccl issue 1505), a B200 and a GB200 18. A board of SXM modules carries 4 or 8 GPUs, that of V100 in a DGX-2 16;
fewer are told only of what is known to be bare metal.

Cables without a switch end at neighbours: 8 V100-SXM2 of one board have all 6 in use, boards of 4 (AWS p3.8xlarge: 4
or 5, IBM AC922: 3 to the CPU) do not. One GPU of a board that was passed through alone has none: a partition of one GPU
has its NVLinks off (Fabric Manager User Guide, shared NVSwitch), so that is no fault where it may be a VM.

    >>> product("NVIDIA H100 80GB HBM3").nvlinks, product("NVIDIA H100 NVL").nvlinks, product("Tesla T4")
    ((18,), (0, 12), None)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.checks.expect import Expect, met
from gputopo.checks.facets import listed_gpus
from gputopo.checks.result import Mismatch, Open
from gputopo.checks.values import Has, values
from gputopo.checks.weigh import weigh
from gputopo.topology.node import NodeTopology


class Product(NamedTuple):
    pattern: str
    nvlinks: tuple[int, ...]
    on_a_board: tuple[int, ...] = ()  # GPUs of one
    cabled: int | None = None  # so many GPUs of the node, or the links are not known


# The first that fits counts.
PRODUCTS = (
    Product("*H100 NVL*", (0, 12)),
    Product("*H100 PCIe*", (0, 12)),
    Product("*H100*HBM3*", (18,), (4, 8)),
    Product("*H200 NVL*", (0, 18)),
    Product("*GH200*", (0, 18)),
    Product("*H200*", (18,), (4, 8)),
    Product("*GB200*", (18,), (2, 4)),
    Product("*B200*", (18,), (4, 8)),
    Product("*A100-SXM4*", (12,), (4, 8)),
    Product("*A100*PCI*", (0, 12)),
    Product("*V100-SXM3*", (6,), (8, 16)),
    Product("*V100-SXM2*", (6,), (4, 8), cabled=8),
)


_ALONE = "is 0: right for one GPU that was passed through alone, wrong for one of a board"


def product(name: str) -> Product | None:
    return next((one for one in PRODUCTS if met(one.pattern, name)), None)


def weigh_products(node: NodeTopology) -> tuple[list[Mismatch], list[Open]]:
    """Each GPU against what its model has. GPUs with MIG devices are left out: MIG turns NVLink off."""
    mismatches: list[Mismatch] = []
    undecided: list[Open] = []
    nameless = [Has("gpus[].name", (gpu.id,), None) for gpu in node.gpus if gpu.name is None]
    if not node.gpus and listed_gpus(node) is not None:
        undecided.append(Open("gpus", (), "are none, and nothing is expected of such a node", "--spec FILE"))
    elif nameless or not node.gpus:
        undecided += weigh("gpus.name", Expect(("*",)), nameless or values(node, "gpus.name"))[1]
    links = {one.subjects[0]: one for one in values(node, "gpus.nvlinks") if one.subjects}
    groups: dict[Product, list[Has]] = {}
    for gpu in node.gpus:
        found = product(gpu.name) if gpu.name is not None and not gpu.mig else None
        if found is not None:
            groups.setdefault(found, []).append(links[gpu.id])
    for one, has in groups.items():
        if one.cabled not in (None, len(has)):
            continue
        if one.on_a_board and node.virtual is not False and len(node.gpus) == 1 and has[0].value == 0:
            undecided.append(Open(has[0].field, has[0].subjects, _ALONE, "nvidia-smi -q of the host"))
            continue
        wrong, unknown = weigh("gpus.nvlinks", Expect(one.nvlinks), has)
        mismatches += wrong
        undecided += unknown
    if len(groups) == 1 and node.virtual is False and node.view == "host":
        [one] = groups
        if one.on_a_board:
            mismatches += weigh("gpus.count", Expect(one.on_a_board), values(node, "gpus.count"))[0]
    return mismatches, undecided
