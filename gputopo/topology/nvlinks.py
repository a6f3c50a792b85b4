"""NVLinks of a pair: how many, and whether directly or through the NVSwitch fabric.

A link list names far ends (`nvlink -R`, NVML, NCCL's targets); a matrix only prints NV#, which on
an NVSwitch machine counts a GPU's links into the fabric, not a bundle between the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gputopo.records import LinkRecord

# NVML_NVLINK_MAX_LINKS of the newest header (nvidia-ml-py 13.6xx): no GPU has more NVLinks.
MOST_LINKS = 36
# Links of one GPU by architecture (P100 4, V100 6, A100 12, H100 and B200 18).
_MOST_BY_MODEL = (("P100", 4), ("V100", 6), ("A100", 12), ("A800", 12), ("H100", 18), ("H800", 18),
                  ("H200", 18), ("H20", 18), ("B200", 18), ("B300", 18))  # fmt: skip


class PairLinks(NamedTuple):
    """What one source's link lists say of a pair."""

    forward: int | None  # links from the first to the second; None: cannot tell
    backward: int | None
    via_switch: bool | None


def active(links: Sequence[LinkRecord]) -> int:
    return sum(link.times for link in links if link.state in (None, "active"))


def to_fabric(links: Sequence[LinkRecord]) -> int:
    """Active links that end at an NVSwitch, its address visible or not."""
    return sum(link.times for link in links if link.state in (None, "active") and link.remote_kind == "switch")


def between(
    first: Sequence[LinkRecord] | None, second: Sequence[LinkRecord] | None,
    first_pci: str | None, second_pci: str | None,
) -> PairLinks:  # fmt: skip
    """Link lists of two GPUs of one source → their common NVLinks."""
    if first is None or second is None:
        return PairLinks(None, None, None)
    forward, backward = _direct(first, second_pci), _direct(second, first_pci)
    if forward or backward:
        return PairLinks(forward, backward, False)
    if _switches(first) and _switches(second):
        # Also where no switch is common: the boards of a DGX-2 are joined from switch to switch, and
        # NCCL takes all NVSwitches of a machine for one node (src/graph/topo.cc).
        count = min(to_fabric(first), to_fabric(second))
        return PairLinks(count, count, True)
    if to_fabric(first) and to_fabric(second):
        return PairLinks(None, None, True)  # both enter a fabric whose switches are not visible
    return PairLinks(forward, backward, None)


def _direct(links: Sequence[LinkRecord], peer: str | None) -> int | None:
    """Links to the peer; `None` where an active link's far end is not visible, so it may be the peer."""
    count = 0
    hidden = False
    for link in links:
        if link.state not in (None, "active"):
            continue
        if link.remote is None or peer is None:
            hidden = hidden or link.remote_kind != "switch"
        elif str(link.remote) == peer:
            count += link.times
    return None if hidden and not count else count


def _switches(links: Sequence[LinkRecord]) -> set[str]:
    return {str(link.remote) for link in links
            if link.remote is not None and link.remote_kind == "switch" and link.state in (None, "active")}  # fmt: skip


def via_switch_by_count(counts: Mapping[int, Mapping[int, int]], models: Sequence[str | None]) -> dict[int, bool]:
    """Per GPU of a matrix: whether its NV# can only be a fabric (True) or only cables (False).

    counts[gpu][peer] = printed NV# (0 where a letter is printed). The sum over the peers of cables
    cannot exceed the links a GPU has; a fabric gives the same number to every peer that has no fewer
    links itself. Both fit: absent.

    >>> via_switch_by_count({0: {1: 17, 2: 18, 3: 18}}, [None])  # GPU1 has a link that is down
    {0: True}
    >>> via_switch_by_count({0: {1: 1, 2: 2, 3: 2}}, [None])
    {0: False}
    """
    decided = {}
    for gpu, peers in counts.items():
        linked = [count for count in peers.values() if count]
        if not linked:
            continue
        if sum(linked) > _most(models[gpu]):
            decided[gpu] = True
        elif len(set(linked)) > 1:
            decided[gpu] = False
        elif len(linked) < len(peers):
            decided[gpu] = False  # some peers have no link: a fabric leaves none of its GPUs out
    return decided


def _most(model: str | None) -> int:
    if model:
        for name, links in _MOST_BY_MODEL:
            if name in model:
                return links
    return MOST_LINKS
