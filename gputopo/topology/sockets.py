"""NUMA nodes and packages (sockets) of the node, and which of them a device belongs to.

A socket is never derived from the number of NUMA nodes: SNC and NPS put several into one, GB200
has NUMA nodes of GPU memory, and a node can span packages. Where no source says, it is `None`,
unless the user assumes `sockets=numa`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.records import NumaNodeRecord, PackageRecord
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.attributes import LSCPU
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.node import NoteAssumption, NumaNode, Package


class Sockets(NamedTuple):
    numa_nodes: tuple[NumaNode, ...] | None
    packages: tuple[Package, ...] | None
    assumptions: tuple[NoteAssumption, ...]

    def packages_of(self, numa: tuple[int, ...] | None) -> tuple[str, ...] | None:
        """Ids of the packages whose CPUs are local to these NUMA nodes; `None` = not known."""
        if not numa or self.numa_nodes is None:
            return None
        found: dict[str, None] = {}
        for node in self.numa_nodes:
            if node.number in numa:
                if node.packages is None:
                    return None
                found.update(dict.fromkeys(node.packages))
        return tuple(sorted(found, key=_package_order)) or None


def build_sockets(
    sources: Sequence[Spoken], gpu_numa: Iterable[tuple[int, ...] | None], memory_nodes: Mapping[int, str],
    ledger: Ledger, assume_numa: bool,
) -> Sockets:  # fmt: skip
    """Merge the tables of all sources; numbers join, since the kernel's ids are the same in all."""
    numbers: dict[int, list[tuple[Spoken, NumaNodeRecord]]] = {}
    for spoken in sources:
        for record in spoken.records.numa_nodes or ():
            numbers.setdefault(record.number, []).append((spoken, record))
    implied = {number for numa in gpu_numa if numa for number in numa}
    if not numbers and not implied:
        return Sockets(None, _packages(sources, ledger), ())
    packages = _packages(sources, ledger)
    assumptions: list[NoteAssumption] = []
    nodes = []
    listed = bool(numbers)
    for number in sorted(set(numbers) | (set() if listed else implied)):
        nodes.append(_numa_node(number, numbers.get(number, ()), memory_nodes, packages, ledger))
    if packages is None and assume_numa:
        packages, nodes = _assume_sockets(nodes)
        ids = tuple(package.id for package in packages)
        assumptions.append(NoteAssumption(ids, "each NUMA node with CPUs is a socket (--assume sockets=numa)", None))
    return Sockets(tuple(nodes), packages, tuple(assumptions))


def _numa_node(
    number: int, records: Sequence[tuple[Spoken, NumaNodeRecord]], memory_nodes: Mapping[int, str],
    packages: tuple[Package, ...] | None, ledger: Ledger,
) -> NumaNode:  # fmt: skip
    id = f"NUMA{number}"

    def settle(field: str) -> Any:
        claims = [
            Claim(value, spoken.source) for spoken, record in records
            if (value := getattr(record, field)) is not None
        ]  # fmt: skip
        return ledger.settle("numa_node", id, field, claims)

    cpus: CpuSet | None = settle("cpus")
    kind = settle("kind")
    if number in memory_nodes:
        kind = "gpu-memory"
    elif kind is None and cpus:
        kind = "cpu"
    elif kind is None and cpus is not None:
        ledger.unknown((id,), "kind", "a NUMA node without CPUs: GPU memory, or memory of its own", "sysfs")
    own = settle("packages")
    inside: tuple[str, ...] | None = None
    if own is not None:
        inside = tuple(f"PKG{package}" for package in own)
    elif packages is not None and cpus is not None and all(package.cpus is not None for package in packages):
        inside = tuple(package.id for package in packages if package.cpus is not None and package.cpus & cpus)
    return NumaNode(id, number, kind, cpus, inside, settle("memory_bytes"), settle("distances"))


def _packages(sources: Sequence[Spoken], ledger: Ledger) -> tuple[Package, ...] | None:
    """lscpu's package numbers are supposed, so its list only counts where nobody reads real ids."""
    tables = [spoken for spoken in sources if spoken.records.packages]
    real = [spoken for spoken in tables if spoken.source.format != LSCPU]
    if real:
        _compare_counts(tables, ledger)
    tables = real or tables
    if not tables:
        return None
    records: dict[int, list[tuple[Spoken, PackageRecord]]] = {}
    for spoken in tables:
        for record in spoken.records.packages or ():
            records.setdefault(record.number, []).append((spoken, record))
    found = []
    for number in sorted(records):
        id = f"PKG{number}"
        fields = {}
        for field in ("cpus", "numa_nodes", "vendor", "family", "model", "arch"):
            claims = [
                Claim(value, spoken.source) for spoken, record in records[number]
                if (value := getattr(record, field)) is not None
            ]  # fmt: skip
            fields[field] = ledger.settle("package", id, field, claims)
        found.append(Package(id, number, **fields))
    return tuple(found)


def _compare_counts(tables: Sequence[Spoken], ledger: Ledger) -> None:
    claims = [Claim(len(spoken.records.packages or ()), spoken.source) for spoken in tables]
    if len({claim.value for claim in claims}) > 1:
        ledger.conflict(("node",), "packages", claims[0].value, claims)


def _assume_sockets(nodes: Sequence[NumaNode]) -> tuple[tuple[Package, ...], list[NumaNode]]:
    packages, placed = [], []
    for node in nodes:
        if node.kind in (None, "cpu"):
            packages.append(Package(f"PKG{node.number}", node.number, node.cpus, (node.number,)))
            placed.append(node._replace(packages=(f"PKG{node.number}",)))
        else:
            placed.append(node)
    return tuple(packages), placed


def _package_order(id: str) -> tuple[int, str]:
    digits = id.removeprefix("PKG")
    return (int(digits), "") if digits.isdigit() else (1 << 30, id)


def cross_package(
    first: tuple[str, ...] | None, second: tuple[str, ...] | None, one_host_bridge: bool
) -> bool | None:  # fmt: skip
    """Disjoint package sets cross; one host bridge does not; a node that spans packages cannot tell."""
    if one_host_bridge:
        return False
    if not first or not second:
        return None
    if not set(first) & set(second):
        return True
    return False if len(first) == 1 and first == second else None
