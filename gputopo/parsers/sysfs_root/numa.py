"""NUMA nodes out of `sys/devices/system/node`.

`distance` has one column for every *online* node in ascending order, not one for every id: nodes
0,1,2,4,6,8,9 have seven. A node may lack CPUs: CXL or HBM memory, or a GPU's own memory, which
`proc/driver/nvidia/gpus/*/numa_status` names. `cpumap` wins over `cpulist`, cut to what is online.

    >>> total_bytes("Node 0 MemTotal:       65536000 kB\\nNode 0 MemFree:  1 kB\\n")
    67108864000
    >>> distances("10 21", (0, 4)), distances("10 21 21", (0, 4))
    ({0: 10, 4: 21}, Unknown(why='distance has 3 columns for 2 online nodes', settled_by=''))
"""

from __future__ import annotations

from gputopo.parsers.sysfs_root.read import Tree, cpu_list, cpu_set, integer, line, text
from gputopo.records import NumaNodeRecord
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Said, Unknown

NODE = "sys/devices/system/node"
_HIGHEST_NODE = 4_096  # MAX_NUMNODES is 1 << CONFIG_NODES_SHIFT, at most 10 bits


def numa_nodes(
    tree: Tree, online: CpuSet | None, package_of: dict[int, int], gpu_memory: frozenset[int]
) -> tuple[NumaNodeRecord, ...] | None:
    """One record a node, by number; `None` where the kernel knows no nodes or was not captured."""
    numbers = node_numbers(tree)
    if not numbers:
        return None
    return tuple(_node(tree, number, numbers, online, package_of, gpu_memory) for number in numbers)


def node_numbers(tree: Tree) -> tuple[int, ...]:
    """The nodes that are online; a capture without the list has the folders."""
    said = cpu_list(tree, f"{NODE}/online")
    if said:
        return tuple(number for number in said if number <= _HIGHEST_NODE)
    folders = (integer(name[4:]) for name in tree.names(NODE) or () if name.startswith("node"))
    return tuple(sorted(number for number in folders if number is not None and 0 <= number <= _HIGHEST_NODE))


def _node(
    tree: Tree,
    number: int,
    numbers: tuple[int, ...],
    online: CpuSet | None,
    package_of: dict[int, int],
    gpu_memory: frozenset[int],
) -> NumaNodeRecord:
    folder = f"{NODE}/node{number}"
    said = cpu_set(tree, f"{folder}/cpumap", f"{folder}/cpulist")
    cpus: Said[CpuSet]
    kind: Said[str]
    if said is None:
        cpus = kind = Unknown(f"node{number} has no cpumap or cpulist that can be read")
    else:
        cpus = said if online is None else said & online
        kind = _kind(number, said, gpu_memory)
    if number in gpu_memory:
        kind = "gpu-memory"
    memory = total_bytes(text(tree, f"{folder}/meminfo") or "")
    row = line(tree, f"{folder}/distance")
    return NumaNodeRecord(
        number,
        kind,
        cpus,
        _packages(cpus, package_of),
        memory,
        None if row is None else distances(row, numbers),
    )


def _kind(number: int, cpus: CpuSet, gpu_memory: frozenset[int]) -> str:
    """A node whose CPUs are all offline is still a CPU node: its map names them."""
    if number in gpu_memory:
        return "gpu-memory"
    return "cpu" if cpus else "memory"


def _packages(cpus: Said[CpuSet], package_of: dict[int, int]) -> Said[tuple[int, ...]]:
    if cpus is None or isinstance(cpus, Unknown):
        return Unknown("its CPUs are not known")
    found = {package_of.get(cpu) for cpu in cpus}
    if None in found:
        return Unknown("some of its CPUs do not say their package")
    return tuple(sorted(package for package in found if package is not None))


def total_bytes(meminfo: str) -> int | None:
    for row in meminfo.splitlines():
        words = row.split()
        if len(words) == 5 and words[2] == "MemTotal:" and words[4] == "kB":
            kilobytes = integer(words[3])
            return None if kilobytes is None or kilobytes < 0 else kilobytes * 1024
    return None


def distances(row: str, numbers: tuple[int, ...]) -> dict[int, int] | Unknown:
    values = [integer(word) for word in row.split()]
    if len(values) != len(numbers):
        return Unknown(f"distance has {len(values)} columns for {len(numbers)} online nodes")
    if any(value is None or value < 0 for value in values):
        return Unknown("distance holds something else than numbers")
    return {number: value for number, value in zip(numbers, values, strict=True) if value is not None}
