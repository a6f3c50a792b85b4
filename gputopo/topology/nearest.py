"""The nearest NICs and NVMe of a GPU, ties included."""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.terms.path_level import PathLevel


def nearest(levels: Iterable[tuple[str, PathLevel | None, tuple[PathLevel, ...]]]) -> tuple[str, ...]:
    """levels: (device, level or None, candidates). Empty where an undecided one could be nearer.

    >>> nearest([("NIC0", PathLevel.PIX, ()), ("NIC1", PathLevel.SYS, ()), ("NIC2", PathLevel.PIX, ())])
    ('NIC0', 'NIC2')
    >>> nearest([("NIC0", PathLevel.NODE, ()), ("NIC1", None, (PathLevel.PIX, PathLevel.SYS))])
    ()
    """
    known = []
    undecided = []
    for device, level, candidates in levels:
        if level is not None:
            known.append((level, device))
        elif candidates:
            undecided.append(min(candidates))
    if not known:
        return ()
    best = min(level for level, _ in known)
    if any(could_be <= best for could_be in undecided):
        return ()
    return tuple(device for level, device in known if level == best)
