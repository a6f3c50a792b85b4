"""What the kernel does or shows that bears on jobs: NUMA balancing, and whether a container has all of /sys.

    proc/sys/kernel/numa_balancing   1: pages move to the node that uses them; 2: between memory tiers only; 0: off
    sys/class/pci_bus                where NCCL looks for the PCIe tree

Kernel Documentation/admin-guide/sysctl/kernel.rst. Facts without a verdict. A capture that left sys/class out says
nothing: `mem` and `tty` are in every kernel's, so that with them the folder was taken, or mounted, as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.parsers.sysfs_root.read import Tree, line
from gputopo.records import Observation

_BALANCING = "proc/sys/kernel/numa_balancing"
_BUSES = "sys/class/pci_bus"
_ALWAYS = ("sys/class/mem", "sys/class/tty")


def observations(tree: Tree, view: str | None) -> Iterator[Observation]:
    said = line(tree, _BALANCING) or ""
    if said.isdecimal() and int(said[:9]) & 1:
        yield Observation("numa-balancing", (), f"{_BALANCING}: {said[:9]}")
    if view == "container":
        yield from _class_missing(tree)


def _class_missing(tree: Tree) -> Iterator[Observation]:
    if tree.resolve("sys/class") is None:
        if tree.names("sys") == ():
            yield Observation("pci-class-missing", (), "sys is empty")
    elif tree.resolve(_BUSES) is None and all(tree.resolve(place) is not None for place in _ALWAYS):
        yield Observation("pci-class-missing", (), f"there is no {_BUSES}")
