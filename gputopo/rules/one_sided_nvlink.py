"""GT110 one-sided-nvlink

What it says
    One GPU has NVLinks to another, which has none (or fewer) back.

Why it matters
    An NVLink is a cable with two ends. The device plugin's allocator (go-gpuallocator) panics when one
    end of a pair lists an NVLink and the other none, which kills the plugin on every request for two
    or more GPUs; HAMi scores such a pair 0; NCCL may build a ring that works in one direction.

What to do
    `nvidia-smi nvlink -s` and `nvidia-smi nvlink -R` on the node; reset or reseat the GPU (bridge)
    whose links are inactive.

When it is silent
    Both ends agree, or the evidence shows only one end, or a switch as the far end.

Example
    >>> from gputopo.topology.node import NodeTopology, Observed
    >>> seen = Observed("one-sided-nvlink", ("GPU0", "GPU1"), "row GPU0: NV4, row GPU1: PHB", "s1", 2)
    >>> [finding] = check(NodeTopology(observations=(seen,)))
    >>> finding.message
    'NVLink of GPU0-GPU1 is seen from one end only (row GPU0: NV4, row GPU1: PHB)'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.witness import claimed, evidence, in_node_order, observed
from gputopo.rules.wording import one_line, pairs
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT110"
SEVERITY = "error"


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "one-sided-nvlink")
    said = {(o.subjects[0], o.subjects[1]): one_line(o.text) for o in seen if len(o.subjects) > 1}
    witnesses: list[Evidence] = list(evidence(seen))
    for couple, text in _uneven_pairs(node):
        if couple not in said and couple[::-1] not in said:
            said[couple] = text
            witnesses.append(claimed(node, text))
    if not said:
        return
    couples = list(said)
    example = f" ({said[couples[0]]})" if len(couples) == 1 and said[couples[0]] else ""
    yield Finding(
        CODE,
        SEVERITY,
        in_node_order(node, (id for couple in couples for id in couple)),
        f"NVLink of {pairs(couples)} is seen from one end only{example}",
        matters="an NVLink has two ends, so one side is down or damaged; the device plugin's allocator "
        "panics on a link that only one GPU of a pair has",
        because="links of one GPU are inactive, or one row of the text is damaged",
        remedy="nvidia-smi nvlink -s; nvidia-smi nvlink -R; reset or reseat the GPU whose links are inactive",
        evidence=tuple(witnesses),
    )


def needs(node: NodeTopology) -> str | None:
    nvidia = [g for g in node.gpus if g.vendor in (None, "nvidia")]
    if len(nvidia) < 2 or any(g.nvlinks or g.links for g in nvidia):
        return None
    if any(p.nvlinks is not None for p in node.pairs):
        return None
    return "NVLinks of both ends (nvidia-smi topo -m, nvidia-smi nvlink -R, or NVML)"


def _uneven_pairs(node: NodeTopology) -> Iterator[tuple[tuple[str, str], str]]:
    """Pairs whose two ends list a different number of active links to each other."""
    counts = {g.id: far for g in node.gpus if (far := _links_to_gpus(g)) is not None}
    ids = list(counts)
    for position, a in enumerate(ids):
        for b in ids[position + 1 :]:
            there, back = counts[a].get(b, 0), counts[b].get(a, 0)
            if there != back:
                yield (a, b), f"{a} lists {there} to {b}, {b} lists {back} to {a}"


def _links_to_gpus(gpu: Gpu) -> dict[str, int] | None:
    """Far GPU → active links; `None` where the state or far end of some link is not known."""
    if not gpu.links:
        return None
    far: dict[str, int] = {}
    for link in gpu.links:
        if link.state is None:
            return None
        if link.state != "active":
            continue
        if link.remote is None or link.remote_kind is None:
            return None
        if link.remote_kind == "gpu":
            far[link.remote] = far.get(link.remote, 0) + link.times
    return far
