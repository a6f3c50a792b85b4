"""What a node has for each key of a specification: one value a device, pair, NUMA node or package.

    >>> from gputopo.topology.node import Gpu, NvLinks
    >>> values(NodeTopology(gpus=(Gpu("GPU0", nvlinks=NvLinks(18, 18, None)), Gpu("GPU1"))), "gpus.nvlinks")
    [Has(field='gpus[0].nvlinks.active', subjects=('GPU0',), value=18), \
Has(field='gpus[1].nvlinks.active', subjects=('GPU1',), value=None)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from gputopo.checks.edges import numa_numbers
from gputopo.checks.facets import listed_gpus
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair

NONE = "none"  # the nearest NIC of a GPU on a node without NICs


class Has(NamedTuple):
    """`value` None: the evidence does not say."""

    field: str
    subjects: tuple[str, ...]
    value: str | int | float | None


# key of a specification → field of the document, below its device
FIELDS = {
    "gpus.name": "name", "gpus.nvlinks": "nvlinks.active", "gpus.nvlinksVia": "nvlinks.via",
    "gpus.pcieWidth": "pcie.width", "gpus.pcieGeneration": "pcie.maxGeneration", "gpus.nearestNics": "nearestNics",
    "gpus.fabricState": "fabric.state",
    "nics.rateGbps": "rateGbps", "nics.linkLayer": "linkLayer", "nics.state": "state", "nics.pcieWidth": "pcie.width",
}  # fmt: skip
# The rule that explains a field; the others are GT601.
CODES = {
    "gpus.nvlinks": "GT111", "gpus.pcieWidth": "GT112", "gpus.nearestNics": "GT120", "nics.rateGbps": "GT122",
    "gpus.fabricState": "GT130",
}  # fmt: skip
SETTLED_BY = {
    "gpus.name": "nvidia-smi -q -x", "gpus.nvlinks": "nvidia-smi nvlink -s", "gpus.nvlinksVia": "nvidia-smi nvlink -R",
    "gpus.pcieWidth": "nvidia-smi -q -x", "gpus.pcieGeneration": "nvidia-smi -q -x",
    "gpus.nearestNics": "nvidia-smi topo -m", "gpus.fabricState": "nvidia-smi -q -x",
    "gpus.count": "nvidia-smi -L", "nics.count": "nvidia-smi topo -m", "nics.rateGbps": "gputopo collect",
    "nics.linkLayer": "gputopo collect", "nics.state": "ibdev2netdev", "nics.pcieWidth": "gputopo collect",
    "numaNodes.count": "lscpu", "numaNodes.cpus": "lscpu", "numaNodes.gpus": "nvidia-smi topo -m",
    "numaNodes.nics": "gputopo collect", "packages.count": "lscpu", "packages.cpus": "lscpu",
    "packages.gpus": "lscpu", "packages.nics": "gputopo collect", "packages.numaNodes": "lscpu",
    "nvswitches.count": "gputopo collect", "nvme.count": "gputopo collect",
    "system.driver": "nvidia-smi -q -x", "system.cuda": "nvidia-smi -q -x", "system.kernel": "gputopo collect",
    "system.product": "gputopo collect",
}  # fmt: skip


def values(node: NodeTopology, key: str) -> list[Has]:
    section, _, what = key.partition(".")
    if what == "count":
        return [_count(node, section)]
    if section == "system":
        said = getattr(node.system, what, None) if node.system is not None else None
        return [Has(key, (), said)]
    if section == "pairs":
        return list(_pairs(node, what))
    if section in ("numaNodes", "packages"):
        return list(_homes(node, section, what))
    devices: Sequence[Gpu | Nic] = node.gpus if section == "gpus" else node.nics or ()
    field = FIELDS[key]
    read = _READ[key]
    found = [Has(f"{section}[{at}].{field}", (one.id,), read(node, one)) for at, one in enumerate(devices)]
    nothing_said = not devices and (section == "gpus" or node.nics is None)
    return [Has(f"{section}[].{field}", (), None)] if nothing_said else found


def _count(node: NodeTopology, section: str) -> Has:
    field = f"{section}.count"
    if section == "numaNodes":
        table = node.numa_nodes
        return Has(field, (), None if table is None else sum(one.cpus is None or bool(one.cpus) for one in table))
    tables = {"gpus": listed_gpus(node), "nics": node.nics, "packages": node.packages, "nvswitches": node.nvswitches,
              "nvme": node.nvme}  # fmt: skip
    found = tables[section]
    return Has(field, (), None if found is None or (section == "gpus" and not _all_gpus(node)) else len(found))


def _all_gpus(node: NodeTopology) -> bool:
    """Whether no source was cut on the way: then there may be more."""
    return node.view != "container" and all(source.whole for source in node.sources)


def nearest(node: NodeTopology, gpu: Gpu) -> str | None:
    """`1 at PIX`; None where an undecided one could be nearer, or where nothing is said of NICs."""
    if node.nics is None:
        return None
    if not node.nics:
        return NONE
    if not gpu.nearest_nics:
        return None
    try:
        level = node.pair(gpu.id, gpu.nearest_nics[0]).pcie
    except KeyError:
        return None
    return None if level is None else f"{len(gpu.nearest_nics)} at {level.name}"


def _pairs(node: NodeTopology, what: str) -> Iterator[Has]:
    kinds, _, underneath = what.partition(" ")
    gpus = {gpu.id for gpu in node.gpus}
    wanted = kinds.split("-")
    for pair in node.pairs:
        ends = ["GPU" if end in gpus else "NIC" for end in (pair.a, pair.b)]
        if sorted(ends) == sorted(wanted):
            field = "pcie" if underneath else "level"
            yield Has(f"pairs[{pair.a}-{pair.b}].{field}", (pair.a, pair.b), _level(pair, bool(underneath)))


def _level(pair: Pair, underneath: bool) -> str | None:
    if underneath:
        return pair.pcie.name if pair.pcie is not None else None
    return "SYS" if pair.level == "SOC" else pair.level


def _homes(node: NodeTopology, section: str, what: str) -> Iterator[Has]:
    """Of NUMA nodes those that have CPUs; those that only a GPU names too."""
    table = {one.number: one for one in node.numa_nodes or ()}
    if section == "packages":
        if node.packages is None:
            yield Has(f"packages[].{what}", (), None)
        for at, package in enumerate(node.packages or ()):
            value = _inside(node, what, "packages", package.id)
            if what == "cpus":
                value = None if package.cpus is None else len(package.cpus)
            elif what == "numaNodes":
                value = None if package.numa_nodes is None else len(package.numa_nodes)
            yield Has(f"packages[{at}].{what}", (package.id,), value)
        return
    numbers = [one for one in numa_numbers(node) if one not in table or table[one].cpus is None or table[one].cpus]
    if not numbers:
        yield Has(f"numaNodes[].{what}", (), None)
    for at, number in enumerate(numbers):
        one = table.get(number)
        value = _inside(node, what, "numa_nodes", number)
        if what == "cpus":
            value = None if one is None or one.cpus is None else len(one.cpus)
        yield Has(f"numaNodes[{at}].{what}", (f"NUMA{number}",), value)


def _inside(node: NodeTopology, what: str, attribute: str, home: object) -> int | None:
    """How many GPUs or NICs are near; None where one does not say."""
    devices = node.gpus if what == "gpus" else node.nics if what == "nics" else None
    if devices is None:
        return None
    homes = [getattr(device, attribute) for device in devices]
    return None if any(one is None for one in homes) else sum(home in one for one in homes)


def _pcie(attribute: str) -> Callable[[NodeTopology, Any], Any]:
    def read(node: NodeTopology, device: Any) -> Any:
        return getattr(device.pcie, attribute) or None if device.pcie is not None else None

    return read


def _links(attribute: str) -> Callable[[NodeTopology, Any], Any]:
    return lambda node, gpu: getattr(gpu.nvlinks, attribute) if gpu.nvlinks is not None else None


_READ: dict[str, Callable[[NodeTopology, Any], Any]] = {
    "gpus.name": lambda node, gpu: gpu.name,
    "gpus.nvlinks": _links("active"),
    "gpus.nvlinksVia": _links("via"),
    "gpus.pcieWidth": _pcie("width"),
    "gpus.pcieGeneration": _pcie("max_generation"),
    "gpus.nearestNics": nearest,
    "gpus.fabricState": lambda node, gpu: gpu.fabric.state if gpu.fabric is not None else None,
    "nics.rateGbps": lambda node, nic: nic.rate_gbps,
    "nics.linkLayer": lambda node, nic: nic.link_layer,
    "nics.state": lambda node, nic: nic.state,
    "nics.pcieWidth": _pcie("width"),
}
