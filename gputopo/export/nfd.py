"""A feature file for Node Feature Discovery: /etc/kubernetes/node-feature-discovery/features.d/gputopo.

nfd-worker reads `NAMESPACE/NAME=VALUE` lines and makes labels of them; lines that begin with `#` are comments, those
that begin with `# +` are directives. A name without a namespace is prefixed by releases of today and will not be by
later ones. Read at kubernetes-sigs/node-feature-discovery 76e6cc8 (2026-07-30), docs/usage/customization-guide.md and
source/local/local.go. The values are the shape of the node, which a nodeSelector can ask for.
"""

from __future__ import annotations

import re

from gputopo.topology.node import NodeTopology

_NAMESPACE = "feature.node.kubernetes.io"
_VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def text(node: NodeTopology) -> str:
    says = _features(node)
    lines = [
        "# features.d/gputopo of Node Feature Discovery",
        "# not read by a real nfd-worker here: look at the node's labels after it",
    ]
    for name, value in says.items():
        if value is None or not _VALUE.fullmatch(value):
            lines.append(f"# gputopo-{name}: not in the evidence")
        else:
            lines.append(f"{_NAMESPACE}/gputopo-{name}={value}")
    return "\n".join(lines) + "\n"


def _features(node: NodeTopology) -> dict[str, str | None]:
    whole = node.sources and all(source.whole for source in node.sources)
    names = {gpu.name for gpu in node.gpus}
    sockets = node.packages
    nics = node.nics
    return {
        "gpu.count": str(len(node.gpus)) if whole else None,
        "gpu.product": _word(names.pop()) if len(names) == 1 else None,
        "gpu.nvlink": _nvlink(node),
        "gpu.numa-nodes": _spread([gpu.numa_nodes for gpu in node.gpus]),
        "gpu.sockets": _spread([gpu.packages for gpu in node.gpus]),
        "cpu.sockets": None if sockets is None else str(len(sockets)),
        "rdma.count": None if nics is None or not whole else str(len([nic for nic in nics if nic.device])),
    }


def _word(name: str | None) -> str | None:
    """As GPU Feature Discovery writes a product: blanks become `-`."""
    return None if name is None else "-".join(name.split())[:63]


def _nvlink(node: NodeTopology) -> str | None:
    """`none`, `direct`, `switch` or `mixed`; `None` where a pair of GPUs is undecided."""
    ids = {gpu.id for gpu in node.gpus}
    pairs = [pair for pair in node.pairs if pair.a in ids and pair.b in ids]
    undecided = [pair for pair in pairs if pair.nvlinks is None and not pair.via_switch]
    if len(pairs) != len(ids) * (len(ids) - 1) // 2 or undecided:
        return None
    ways = {pair.via_switch for pair in pairs if pair.nvlinks or pair.via_switch}
    if None in ways:
        return None
    return "none" if not ways else "mixed" if len(ways) == 2 else "switch" if True in ways else "direct"


def _spread(places: list[tuple[int, ...] | None] | list[tuple[str, ...] | None]) -> str | None:
    """Over how many the GPUs are spread; `None` where one's place is not known."""
    if not places or any(not place for place in places):
        return None
    return str(len({one for place in places for one in place or ()}))
