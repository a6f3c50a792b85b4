"""What a finding over a set rests on: the kubelet's NUMA nodes, the pairs, the sockets."""

from __future__ import annotations

from gputopo.rules.finding import Evidence
from gputopo.rules.pods.audit import Audit, Unit
from gputopo.rules.wording import counted

_PAIRS = 4


def proof(audit: Audit, unit: Unit) -> tuple[Evidence, ...]:
    found = []
    numa: dict[int, int] = {}
    for one in unit.containers:
        for device in one.devices:
            for number in device.numa_nodes or ():
                numa[number] = numa.get(number, 0) + 1
    if numa:
        text = ", ".join(f"NUMA {number} holds {counted(count, 'id')}" for number, count in sorted(numa.items()))
        source = unit.containers[0].sources[0] if unit.containers[0].sources else None
        found.append(Evidence(source, None, f"the kubelet: {text}"))
    pairs = [pair for pair in audit.sight.pairs(unit.gpus) if pair is not None and pair.cross_package and pair.level]
    if pairs:
        said = ", ".join(f"{pair.a}-{pair.b} {pair.level}" for pair in pairs[:_PAIRS])
        more = f" and {len(pairs) - _PAIRS} more" if len(pairs) > _PAIRS else ""
        found.append(Evidence(None, None, said + more))
    return tuple(found)
