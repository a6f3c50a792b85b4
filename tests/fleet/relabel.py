"""The same machine under other names: GPUs, NICs, NUMA nodes and sockets in another order, other addresses."""

from __future__ import annotations

from random import Random
from typing import Any

from gputopo.topology.node import Gpu, Islands, Nic, NodeTopology, Pair


def relabelled(node: NodeTopology, seed: int) -> tuple[NodeTopology, dict[str, str]]:
    """The node, and old id → new id of its GPUs and NICs."""
    draw = Random(seed)
    new = _numbered(draw, "GPU", [gpu.id for gpu in node.gpus])
    new |= _numbered(draw, "mlx5_", [nic.id for nic in node.nics or ()])
    numa = _shuffled(draw, sorted(_numbers(node)))
    packages = dict(zip((one.id for one in node.packages or ()), draw.sample(range(90), len(node.packages or ()))))
    pci = {device.pci: f"{at:04x}:{draw.randrange(256):02x}:00.0" for at, device in enumerate(_devices(node), 1)}

    minors = dict(zip((gpu.id for gpu in node.gpus), draw.sample(range(64), len(node.gpus))))

    def device(one: Any) -> Any:
        return one._replace(
            id=new[one.id], pci=pci.get(one.pci) if one.pci else None, parent=None,
            numa_nodes=None if one.numa_nodes is None else tuple(sorted(numa[number] for number in one.numa_nodes)),
            packages=None if one.packages is None else tuple(sorted(f"PKG{packages[id]}" for id in one.packages)),
        )

    def gpu(one: Gpu) -> Gpu:
        made: Gpu = device(one)
        links = tuple(
            link._replace(remote=new.get(link.remote or "", pci.get(link.remote, link.remote))) for link in one.links
        )
        return made._replace(
            links=links, uuid=f"GPU-{draw.randrange(1 << 60):x}", nvml_index=int(made.id[3:]), minor=minors[one.id],
            memory_numa_node=None if one.memory_numa_node is None else numa[one.memory_numa_node],
            nearest_nics=(), nearest_nvme=(), aliases=(),
        )  # fmt: skip

    def pair(one: Pair) -> Pair:
        ends = (new[one.a], new[one.b])
        return one._replace(a=ends[0], b=ends[1]) if draw.random() < 0.5 else one._replace(a=ends[1], b=ends[0])

    numa_nodes = None if node.numa_nodes is None else tuple(
        one._replace(
            id=f"NUMA{numa[one.number]}", number=numa[one.number],
            packages=None if one.packages is None else tuple(f"PKG{packages[id]}" for id in one.packages),
            distances=None if one.distances is None else {numa.get(at, 99): far for at, far in one.distances.items()},
        ) for one in node.numa_nodes
    )  # fmt: skip
    made = node._replace(
        name=f"host-{seed}", boot_id="b", taken_at=None,
        gpus=tuple(sorted(map(gpu, node.gpus), key=lambda one: one.nvml_index or 0)),
        nics=None if node.nics is None else tuple(draw.sample([device(one) for one in node.nics], len(node.nics))),
        pairs=tuple(draw.sample([pair(one) for one in node.pairs], len(node.pairs))),
        numa_nodes=numa_nodes, bridges=(),
        packages=None if node.packages is None else tuple(
            one._replace(id=f"PKG{packages[one.id]}", number=packages[one.id],
                         numa_nodes=tuple(numa[number] for number in one.numa_nodes or ()))
            for one in node.packages
        ),
        islands=Islands(nvlink=tuple(tuple(new[id] for id in island) for island in node.islands.nvlink)),
    )  # fmt: skip
    return made, new


def _numbered(draw: Random, stem: str, ids: list[str]) -> dict[str, str]:
    return dict(zip(draw.sample(ids, len(ids)), (f"{stem}{at}" for at in range(len(ids)))))


def _shuffled(draw: Random, numbers: list[int]) -> dict[int, int]:
    return dict(zip(numbers, draw.sample(numbers, len(numbers))))


def _numbers(node: NodeTopology) -> set[int]:
    found = {number for one in _devices(node) for number in one.numa_nodes or ()}
    found |= {one.number for one in node.numa_nodes or ()}
    return found | {gpu.memory_numa_node for gpu in node.gpus if gpu.memory_numa_node is not None}


def _devices(node: NodeTopology) -> tuple[Gpu | Nic, ...]:
    return (*node.gpus, *(node.nics or ()))
