"""How NCCL connected the ranks of this node: its peer lines, as pairs of GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from gputopo.jobs.model import Hop
from gputopo.nccl_records import CommunicatorRecord


def hops(communicator: CommunicatorRecord, gpus: Mapping[int, str], source: str) -> tuple[Hop, ...]:
    """Each connected pair once, in the order of the log; a pair with several transports once for each."""
    found: dict[tuple[frozenset[int], str], Hop] = {}
    for one in communicator.peers:
        a, b = gpus.get(one.sender), gpus.get(one.receiver)
        if a is None or b is None or a == b:
            continue
        key = (frozenset((one.sender, one.receiver)), one.kind)
        found.setdefault(key, Hop(a, b, (one.sender, one.receiver), one.kind, one.transport, source, one.line))
    return tuple(found.values())
