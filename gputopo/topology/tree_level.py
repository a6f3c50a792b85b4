"""Which letters two places in a PCI tree allow.

Two grains, never spliced. *sysfs*: an element a bridge, rooted at a host bridge; one switch is two
elements (upstream and downstream port), so one further bridge on each side of the common one is
still PIX. *nccl*: an element a switch, rooted at a NUMA node; PIX is the same last switch.
NVML's rule was checked on machines whose letters are known (hwloc's DGX-2 tree, club-3090 issues
1125, 1140, 1229; nccl issue 1505).

    >>> from gputopo.topology.level_sets import names
    >>> root, port = "pci0000:00", "0000:00:01.0"
    >>> names(sysfs_level((root, port, "0000:01:00.0", "0000:02:00.0"),
    ...                   (root, port, "0000:01:00.0", "0000:02:01.0"), (0,), (0,)))
    ('PIX',)
    >>> names(sysfs_level((root, port), (root, "0000:00:03.0"), (0,), (0,)))
    ('PHB',)
    >>> names(sysfs_level((root, port), ("pci0000:40", "0000:40:01.0"), None, (0,)))
    ('NODE', 'SYS')
    >>> names(nccl_level(("cpu:0", "0000:01:00.0"), ("cpu:0", "0000:41:00.0"), (0,), (0,)))
    ('PHB', 'NODE')
"""

from __future__ import annotations

from gputopo.topology.level_sets import SYS_ONLY, of

Numa = tuple[int, ...] | None

_PIX, _PXB, _PHB, _NODE = of("PIX"), of("PXB"), of("PHB"), of("NODE")
_NODE_OR_SYS = of("NODE", "SYS")
_PHB_OR_NODE = of("PHB", "NODE")
_PHB_TO_SYS = of("PHB", "NODE", "SYS")


def sysfs_level(first: tuple[str, ...], second: tuple[str, ...], first_numa: Numa, second_numa: Numa) -> int:
    """The mask for two devices below `pciDDDD:BB` roots; chains are root first, without the device."""
    if first[0] != second[0]:
        # Where each device has a PCI domain of its own (GB200, Hyper-V), drivers print SYS inside a node.
        if _domain(first[0]) != _domain(second[0]):
            return _between_roots(first_numa, second_numa) | SYS_ONLY
        return _between_roots(first_numa, second_numa)
    common = _common(first, second)
    if common == 1:
        return _PHB
    # The last common element is a bridge; at most one further bridge on each side is one switch.
    return _PIX if len(first) - common <= 1 and len(second) - common <= 1 else _PXB


def nccl_level(first: tuple[str, ...], second: tuple[str, ...], first_numa: Numa, second_numa: Numa) -> int:
    """The mask for two devices below `<cpu>` elements: no host bridge is in this grain.

    Of two devices in different PCI domains the caller allows SYS too: see sysfs_level.
    """
    if first[0] != second[0]:
        if first_numa is None or second_numa is None:
            return _PHB_TO_SYS
        return SYS_ONLY
    common = _common(first, second)
    if common == 1:
        return _PHB_TO_SYS if first_numa is None else _PHB_OR_NODE
    return _PIX if len(first) == common and len(second) == common else _PXB


def _between_roots(first: Numa, second: Numa) -> int:
    if first is None or second is None:
        return _NODE_OR_SYS
    if first == second:
        return _NODE
    return SYS_ONLY if not set(first) & set(second) else _NODE_OR_SYS


def _domain(root: str) -> str:
    return root.partition(":")[0]


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    count = 0
    for one, other in zip(first, second):
        if one != other:
            break
        count += 1
    return count
