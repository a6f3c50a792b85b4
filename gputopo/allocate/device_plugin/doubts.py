"""NVLinks that the evidence shows in one direction only: where NVML says the same, the plugin dies.

    >>> from gputopo.topology.node import Conflict, Value
    >>> said = (Value("NV4", "nvidia-smi-topo"), Value("PHB", "nvidia-smi-topo"))
    >>> one_way_pairs(NodeTopology(conflicts=(Conflict(("GPU0", "GPU1"), "level", None, said),)))
    (OneWay(a='GPU0', b='GPU1', said=('NV4', 'PHB')),)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.topology.node import NodeTopology


class OneWay(NamedTuple):
    a: str
    b: str
    said: tuple[str, ...]  # by one source, of the same pair


def one_way_pairs(node: NodeTopology) -> tuple[OneWay, ...]:
    """Pairs for which one source prints NVLinks in one row and a PCIe level in the other."""
    found = []
    for conflict in node.conflicts:
        if conflict.attribute != "level" or len(conflict.subjects) != 2:
            continue
        for source in dict.fromkeys(value.source for value in conflict.values):
            said = tuple(str(value.value) for value in conflict.values if value.source == source)
            if len({word.startswith("NV") for word in said}) == 2:
                found.append(OneWay(conflict.subjects[0], conflict.subjects[1], said))
                break
    return tuple(found)
