"""Broadcom's switches that show themselves in two levels are one to NCCL.

Source: src/graph/topo.cc of NVIDIA/nccl v2.30.7 (ncclTopoFlattenBcmSwitches, getBcmGen). The merged switch keeps the
link of its upper level, and what hung below goes behind what it has.
"""

from __future__ import annotations

from gputopo.nccl.draft import Draft, Node
from gputopo.nccl.system import Kind

_GEN4 = 0x1000C0101000A000
_GEN5 = 0x1000C03010000000
_SUBDEVICE = 0xFFF
_DONE = 0xFFFF


def _generation(device: int, level: int) -> int:
    known = device & ~_SUBDEVICE
    if known == _GEN4:
        return 4
    return 5 if known == (_GEN5 | level * 0x1000) else 0


def flatten(draft: Draft) -> None:
    for upper in draft.of(Kind.PCI):
        generation = 0 if upper.removed else _generation(upper.device, 0)
        if generation:
            _merge(draft, upper, generation)
            upper.device |= _DONE


def _merge(draft: Draft, upper: Node, generation: int) -> None:
    lower = [
        node
        for edge in upper.edges
        if (node := draft.nodes[edge.target]).kind is Kind.PCI and _generation(node.device, 1) == generation
    ]
    numbers = {node.number for node in lower}
    upper.edges = [edge for edge in upper.edges if edge.target not in numbers]
    for switch in lower:
        for edge in switch.edges:
            if edge.target == upper.number:
                continue
            upper.edges.append(edge)
            back = next((one for one in draft.nodes[edge.target].edges if one.target == switch.number), None)
            if back is not None:
                back.target = upper.number
        switch.removed = True
        switch.edges = []
    for node in draft.nodes:
        node.edges = [edge for edge in node.edges if edge.target not in numbers]
