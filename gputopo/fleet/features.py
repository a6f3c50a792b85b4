"""What is compared of a node with the others of its product: fields by the names of the JSON document.

A field has a value for each device it is of, in the node's order: `gpus[].numaNodes` → ("0", "0"), ("1", "0") …;
what the node has once has the key "". What the evidence does not say is left out, so it is compared with nothing.
PCI addresses, UUIDs, serial numbers and host names are no features: they differ by nature. Names of NICs are, where
they say which of them is nearest to a GPU: that order is what NCCL and a job's settings go by.

    >>> from gputopo.topology.node import Gpu, Pcie, System
    >>> node = NodeTopology(system=System(driver="570.1"), gpus=(Gpu("GPU0", name="H100", pcie=Pcie(width=8)),))
    >>> [(field, values) for field, values in features(node).fields if field in ("system.driver", "gpus[].pcie.width")]
    [('system.driver', (('', '570.1'),)), ('gpus[].pcie.width', (('0', '8'),))]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple

from gputopo.fleet.shape import Outline, outline, shape_of
from gputopo.topology.node import Gpu, Nic, NodeTopology, Pair

Values = tuple[tuple[str, str], ...]  # (of which device, what); "" is the node itself
ALONE = ""
SHAPE = "shape"


class Features(NamedTuple):
    """Of a node, or of many that are alike in all of it. `evidence`: formats and view."""

    product: str | None
    models: tuple[str, ...]  # different names of GPUs, sorted
    evidence: str
    fingerprint: str
    exact: bool
    form: str  # digest of the whole form of the shape: equal where two shapes are
    outline: Outline
    fields: tuple[tuple[str, Values], ...]


class Kind(NamedTuple):
    """How a field is compared. `of`: the field that says how many devices there are: where that is odd, which is
    which is not known. `implied_by`: where one of these is odd, this says nothing more. `any_evidence`: every format
    that says it at all says the same."""

    of: str = ""
    implied_by: tuple[str, ...] = ()
    any_evidence: bool = False


_WIRING = (
    "gpus", "nics", "numaNodes", "packages", "gpus[].name", "gpus[].numaNodes", "gpus[].packages",
    "gpus[].nvlinks.active", "gpus[].nvlinks.total", "gpus[].nearestNics", "pairs[].pcie", "pairs[].nvlinks",
    "nics[].numaNodes", "numaNodes[].cpus", "numaNodes[].distances",
)  # fmt: skip
KINDS: dict[str, Kind] = {
    "system.driver": Kind(any_evidence=True),
    "system.cuda": Kind(implied_by=("system.driver",), any_evidence=True),
    "system.kernel": Kind(any_evidence=True),
    "gpus": Kind(),
    "nics": Kind(),
    "numaNodes": Kind(),
    "packages": Kind(),
    "gpus[].name": Kind("gpus"),
    "gpus[].memoryBytes": Kind("gpus", ("gpus[].name",)),
    "gpus[].driver": Kind("gpus"),
    "gpus[].numaNodes": Kind("gpus"),
    "gpus[].packages": Kind("gpus", ("gpus[].numaNodes", "packages")),
    "gpus[].nvlinks.active": Kind("gpus"),
    "gpus[].nvlinks.total": Kind("gpus", ("gpus[].nvlinks.active",)),
    "gpus[].fabric.state": Kind("gpus"),
    "gpus[].fabric.health": Kind("gpus"),
    "gpus[].pcie.width": Kind("gpus", any_evidence=True),
    "gpus[].pcie.maxWidth": Kind("gpus"),
    "gpus[].pcie.maxGeneration": Kind("gpus"),
    "gpus[].nearestNics": Kind("gpus", ("nics",)),
    "pairs[].pcie": Kind("gpus"),
    "pairs[].nvlinks": Kind("gpus", ("gpus[].nvlinks.active",)),
    "nics[].state": Kind("nics"),
    "nics[].rateGbps": Kind("nics", ("nics[].state",)),
    "nics[].linkLayer": Kind("nics"),
    "nics[].pcie.width": Kind("nics"),
    "nics[].numaNodes": Kind("nics"),
    "numaNodes[].cpus": Kind("numaNodes"),
    "numaNodes[].distances": Kind("numaNodes"),
    SHAPE: Kind(implied_by=_WIRING),
}


def features(node: NodeTopology) -> Features:
    shape = shape_of(node)
    found = outline(node)
    form = sha256(repr(shape.form).encode()).hexdigest()
    formats = sorted({source.format for source in node.sources})
    evidence = " + ".join([*formats, *(["container"] if node.view == "container" else [])])
    said = {**_of_node(node, found), **_of_gpus(node), **_of_pairs(node), **_of_nics(node), **_of_numa(node)}
    said[SHAPE] = ((ALONE, shape.fingerprint),)
    fields = tuple((name, said[name]) for name in KINDS if said.get(name))
    product = node.system.product if node.system is not None else None
    models = tuple(sorted(found.models))
    return Features(product, models, evidence, shape.fingerprint, shape.exact, form, found, fields)


def _of_node(node: NodeTopology, seen: Outline) -> dict[str, Values]:
    system = node.system
    once: dict[str, object] = {
        "gpus": seen.gpus, "nics": seen.nics, "numaNodes": seen.numa_nodes, "packages": seen.packages,
    }  # fmt: skip
    if system is not None:
        once |= {"system.driver": system.driver, "system.cuda": system.cuda, "system.kernel": system.kernel}
    return {name: ((ALONE, str(value)),) for name, value in once.items() if value is not None}


_GPU: dict[str, Callable[[Gpu], object]] = {
    "gpus[].name": lambda gpu: gpu.name,
    "gpus[].memoryBytes": lambda gpu: gpu.memory_bytes,
    "gpus[].driver": lambda gpu: gpu.driver,
    "gpus[].numaNodes": lambda gpu: _listed(gpu.numa_nodes),
    "gpus[].packages": lambda gpu: _listed(gpu.packages),
    "gpus[].nvlinks.active": lambda gpu: gpu.nvlinks and gpu.nvlinks.active,
    "gpus[].nvlinks.total": lambda gpu: gpu.nvlinks and gpu.nvlinks.total,
    "gpus[].fabric.state": lambda gpu: gpu.fabric and gpu.fabric.state,
    "gpus[].fabric.health": lambda gpu: gpu.fabric and gpu.fabric.health,
    "gpus[].pcie.width": lambda gpu: gpu.pcie and gpu.pcie.width,
    "gpus[].pcie.maxWidth": lambda gpu: gpu.pcie and gpu.pcie.max_width,
    "gpus[].pcie.maxGeneration": lambda gpu: gpu.pcie and gpu.pcie.max_generation,
}
_NIC: dict[str, Callable[[Nic], object]] = {
    "nics[].state": lambda nic: nic.state,
    "nics[].rateGbps": lambda nic: None if nic.rate_gbps is None else f"{nic.rate_gbps:g}",
    "nics[].linkLayer": lambda nic: nic.link_layer,
    "nics[].pcie.width": lambda nic: nic.pcie and nic.pcie.width,
    "nics[].numaNodes": lambda nic: _listed(nic.numa_nodes),
}


def _of_gpus(node: NodeTopology) -> dict[str, Values]:
    found = {name: _values(_said(node.gpus, read)) for name, read in _GPU.items()}
    pairs = {(pair.a, pair.b): pair for pair in node.pairs}
    named = {nic.id: _name(nic, at) for at, nic in enumerate(node.nics or ())}

    def nearest(gpu: Gpu) -> str | None:
        if node.nics is None or not gpu.nearest_nics:
            return None
        levels = {_pcie(pairs.get((gpu.id, id)) or pairs.get((id, gpu.id))) for id in gpu.nearest_nics}
        return " ".join([*(named.get(id, id) for id in gpu.nearest_nics), *sorted(levels)])

    found["gpus[].nearestNics"] = _values(_said(node.gpus, nearest))
    return found


def _of_nics(node: NodeTopology) -> dict[str, Values]:
    return {name: _values(_said(node.nics or (), read)) for name, read in _NIC.items()}


def _of_pairs(node: NodeTopology) -> dict[str, Values]:
    """Of GPUs: what a NIC is near is `nearestNics`."""
    pairs = {(pair.a, pair.b): pair for pair in node.pairs}
    levels: list[tuple[str, object]] = []
    links: list[tuple[str, object]] = []
    for (a, one), (b, other) in combinations(enumerate(node.gpus), 2):
        pair = pairs.get((one.id, other.id)) or pairs.get((other.id, one.id))
        if pair is not None:
            levels.append((f"GPU{a}-GPU{b}", pair.pcie.name if pair.pcie is not None else None))
            links.append((f"GPU{a}-GPU{b}", pair.nvlinks))
    return {"pairs[].pcie": _values(levels), "pairs[].nvlinks": _values(links)}


def _of_numa(node: NodeTopology) -> dict[str, Values]:
    nodes = [one for one in node.numa_nodes or () if one.cpus is None or one.cpus]
    cpus = [(str(one.number), None if one.cpus is None else str(one.cpus)) for one in nodes]
    far = [
        (str(one.number), " ".join(str(one.distances[other]) for other in sorted(one.distances)))
        for one in nodes if one.distances
    ]  # fmt: skip
    return {"numaNodes[].cpus": _values(cpus), "numaNodes[].distances": _values(far)}


def _said(devices: tuple[Gpu, ...] | tuple[Nic, ...], read: Callable[..., object]) -> Iterator[tuple[str, object]]:
    return ((str(at), read(device)) for at, device in enumerate(devices))


def _values(said: Iterable[tuple[str, object]]) -> Values:
    return tuple((key, str(value)) for key, value in said if value is not None)


def _listed(values: tuple[object, ...] | None) -> str | None:
    return None if values is None else " ".join(map(str, values)) or "none"


def _name(nic: Nic, at: int) -> str:
    """What it is called; a PCI address is another one in every slot."""
    return nic.device or (nic.netdevs[0] if nic.netdevs else nic.id if nic.id != nic.pci else f"nics[{at}]")


def _pcie(pair: Pair | None) -> str:
    return pair.pcie.name if pair is not None and pair.pcie is not None else "?"
