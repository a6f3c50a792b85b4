r"""Processes with GPUs' device files open, in a tree of /proc: where no driver can be asked for its list.

    PID/fd         links to /dev/nvidia0, /dev/nvidia-uvm
    PID/numa_maps  file=/dev/nvidia0 of a mapping; PID/maps ends with the file: where the links cannot be read

    >>> class Proc(dict):
    ...     def read(self, path): return self.get(path)
    ...     def names(self, path): return tuple({key.split("/")[0] for key in self}) if not path else None
    ...     def resolve(self, path): return None
    >>> maps = b"7f0 rw-s 00000000 00:05 7 /dev/nvidia3\n7f1 rw-s 00000000 00:05 8 /dev/nvidia-uvm\n"
    >>> devices_of(Proc({"41/maps": maps, "42/maps": b"7f0 r--p 0 00:00 7 /dev/nvidia0\n", "self/maps": maps}))
    {41: (DeviceHeld(resource='gpu', id='3', space='minor', numa_nodes=None, health='', by='open', share=''),)}

A program that computes has nvidia-uvm open, too; a monitor, which only reads NVML, has not (cuInit opens it). CUDA
opens every GPU that it may see, so it may use fewer than are open.
"""

from __future__ import annotations

import re
from typing import Protocol

from gputopo.holdings import DeviceHeld

_GPU = re.compile(r"(?:^|/)dev/nvidia(\d{1,4})\Z", re.ASCII)
_UVM = "dev/nvidia-uvm"
_MAPPED = re.compile(rb"/dev/(nvidia\d{1,4}|nvidia-uvm)(?=[\s]|\Z)")
_MOST_PROCESSES = 32_768
_MOST_FILES = 4_096  # of one process


class Tree(Protocol):
    def read(self, path: str) -> bytes | None: ...
    def names(self, path: str) -> tuple[str, ...] | None: ...
    def resolve(self, path: str) -> str | None: ...


class Below:
    """A folder of a tree, as a tree."""

    def __init__(self, tree: Tree, folder: str) -> None:
        self._tree = tree
        self._folder = folder

    def read(self, path: str) -> bytes | None:
        return self._tree.read(f"{self._folder}/{path}")

    def names(self, path: str) -> tuple[str, ...] | None:
        return self._tree.names(f"{self._folder}/{path}" if path else self._folder)

    def resolve(self, path: str) -> str | None:
        return self._tree.resolve(f"{self._folder}/{path}")


def devices_of(proc: Tree) -> dict[int, tuple[DeviceHeld, ...]]:
    """Process id → GPUs that it has open, by minor number, of all that compute."""
    names = [name for name in proc.names("") or () if name.isascii() and name.isdigit() and len(name) <= 7]
    found = {int(name): _open(proc, name) for name in sorted(names, key=int)[:_MOST_PROCESSES]}
    return {
        pid: tuple(DeviceHeld("gpu", number, "minor", by="open") for number in sorted(numbers, key=int))
        for pid, numbers in found.items()
        if numbers
    }


def _open(proc: Tree, pid: str) -> set[str]:
    """Minor numbers; none of what does not compute."""
    files = proc.names(f"{pid}/fd")
    if files:
        places = [proc.resolve(f"{pid}/fd/{name}") or "" for name in files[:_MOST_FILES]]
        computes = any(place.endswith(_UVM) for place in places)
        return {match[1] for place in places if computes and (match := _GPU.search(place))}
    for name in ("maps", "numa_maps"):
        mapped = set(_MAPPED.findall(proc.read(f"{pid}/{name}") or b""))
        if mapped:
            computes = b"nvidia-uvm" in mapped
            return {one[6:].decode() for one in mapped if computes and one[6:].isdigit()}
    return set()
