"""GT031 nvswitch-fabric-unseen-by-allocators

What it says
    The GPUs share an NVSwitch fabric, which neither the NVIDIA device plugin nor DRA's attributes show.

Why it matters
    The device plugin's allocator counts only NVLinks that end at another GPU; behind an NVSwitch they
    end at the switch, so every pair scores by PCIe and NUMA alone. Which GPUs a pod gets follows that,
    although any set has the same NVLink bandwidth. `topo -m` prints NV18 and is no picture of the scores.

What to do
    Nothing is broken. To see what would be chosen: `gputopo allocate device-plugin -c N`.

When it is silent
    There is no NVSwitch, fewer than two GPUs use it, or the evidence does not tell switch from cable.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, NvLinks
    >>> gpus = tuple(Gpu(f"GPU{n}", nvlinks=NvLinks(18, 18, "switch")) for n in range(8))
    >>> [finding] = check(NodeTopology(gpus=gpus))
    >>> finding.message
    'the device plugin and DRA do not see the NVSwitch fabric of GPU0-GPU7: allocation follows PCIe/NUMA'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, in_node_order
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT031"
SEVERITY = "info"


def check(node: NodeTopology) -> Iterator[Finding]:
    on_switch = {g.id for g in node.gpus if g.nvlinks and g.nvlinks.via == "switch" and g.nvlinks.active != 0}
    on_switch |= {id for p in node.pairs if p.via_switch for id in (p.a, p.b)}
    on_switch &= {g.id for g in node.gpus if g.vendor in (None, "nvidia")}
    ids = in_node_order(node, on_switch)
    if len(ids) < 2:
        return
    yield Finding(
        CODE,
        SEVERITY,
        ids,
        f"the device plugin and DRA do not see the NVSwitch fabric of {names(ids)}: allocation follows PCIe/NUMA",
        matters="little for GPU-GPU traffic, which is the same for any set; which GPUs a pod gets is decided "
        "by PCIe and NUMA alone",
        because="they count only NVLinks whose far end is another GPU; here it is the switch",
        remedy="gputopo allocate device-plugin -c N shows what would be chosen",
        evidence=(claimed(node, f"{ids[0]}: NVLinks end at a switch"),),
    )
