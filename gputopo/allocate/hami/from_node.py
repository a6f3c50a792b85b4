"""HAMi's GPUs under the names they have on the node: from the Node's annotations, or as it would register them.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device-plugin/nvidiadevice/nvinternal/plugin/register.go
(getAPIDevices; an unknown NUMA node becomes 0) and charts/hami/values.yaml (deviceSplitCount 10, no scaling).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import NamedTuple

from gputopo.allocate.hami.devices import ALLOCATED, CORDON, REGISTER, SCORE, Gpu, Scores, held, pair_scores, registered
from gputopo.terms.kube_object import KubeObject, text
from gputopo.topology.node import Gpu as NodeGpu
from gputopo.topology.node import NodeTopology, NoteAssumption, Pair

_MIB = 1024 * 1024
_PERCENT = 100  # memory in percent, where the size is not known


class Registered(NamedTuple):
    gpus: tuple[Gpu, ...]
    scores: Scores | None  # None: no annotation, all pairs are alike to the scheduler
    cordoned: frozenset[str]
    assumptions: tuple[NoteAssumption, ...] = ()


def of_object(node: KubeObject, names: Mapping[str, str]) -> Registered | None:
    """names: UUID → the node's name of the GPU; a UUID without one keeps it. None: not registered with HAMi."""
    notes = node.annotations
    if REGISTER not in notes:
        return None
    where = f"node {node.name}" if node.name else node.where
    gpus, form = registered(notes[REGISTER], where)
    scores = pair_scores(notes[SCORE], where) if SCORE in notes else None
    assumptions = []
    if form == "csv":
        text_ = "the register annotation has the form of older releases; answered as 4707fb0 would with it"
        assumptions.append(NoteAssumption((), text_, None))
    if scores is not None:
        scores = {
            names.get(one, one): {names.get(other, other): score for other, score in row.items()}
            for one, row in scores.items()
        }
    cordoned = frozenset(names.get(one.strip(), one.strip()) for one in notes.get(CORDON, "").split(",") if one.strip())
    return Registered(
        tuple(gpu._replace(id=names.get(gpu.id, gpu.id)) for gpu in gpus), scores, cordoned, tuple(assumptions)
    )


def of_node(node: NodeTopology) -> Registered:
    """As HAMi's device plugin would register the node, with its default configuration."""
    notes = [NoteAssumption((), "HAMi's defaults: 10 slots a GPU, no memory or core scaling, hami-core mode", None)]
    lost = tuple(gpu.id for gpu in node.gpus if gpu.numa_nodes is None or len(gpu.numa_nodes) != 1)
    if lost:
        notes.append(NoteAssumption(lost, "NUMA node unknown: taken as 0, as HAMi registers it", None))
    sizeless = tuple(gpu.id for gpu in node.gpus if gpu.memory_bytes is None)
    if sizeless:
        notes.append(NoteAssumption(sizeless, "memory unknown: all these GPUs are taken to have the same", None))
    return Registered(tuple(_gpu(gpu, at) for at, gpu in enumerate(node.gpus)), None, frozenset(), tuple(notes))


def _gpu(gpu: NodeGpu, at: int) -> Gpu:
    name = gpu.name or "GPU"
    return Gpu(
        id=gpu.id,
        number=at if gpu.nvml_index is None else gpu.nvml_index,
        memory=_PERCENT if gpu.memory_bytes is None else gpu.memory_bytes // _MIB,
        type=name if name.startswith("NVIDIA") else f"NVIDIA-{name}",
        numa=gpu.numa_nodes[0] if gpu.numa_nodes is not None and len(gpu.numa_nodes) == 1 else 0,
    )


def used_by(
    gpus: Iterable[Gpu], pods: Iterable[KubeObject], node: str | None, names: Mapping[str, str]
) -> tuple[Gpu, ...]:  # fmt: skip
    """With what the pods of this node hold. node None: every bound pod counts."""
    found = {gpu.id: gpu for gpu in gpus}
    for pod in pods:
        if ALLOCATED not in pod.annotations or not _is_here(pod, node):
            continue
        for uuid, memory, cores in held(pod.annotations[ALLOCATED], f"pod {pod.name}"):
            id = names.get(uuid, uuid)
            if id in found:
                found[id] = found[id].taken(memory, cores)
    return tuple(found.values())


def _is_here(pod: KubeObject, node: str | None) -> bool:
    """Given to this node by HAMi (its annotation comes before the binding), and not finished."""
    if text(pod.status, "phase", "status.phase") in ("Succeeded", "Failed"):
        return False
    given = pod.annotations.get("hami.io/vgpu-node", "") or text(pod.spec, "nodeName", "spec.nodeName")
    return bool(given) and (node is None or given == node)


def node_of(name: str | None, gpus: Iterable[Gpu]) -> NodeTopology:
    """A node as far as the register annotation describes it: GPUs by index, of CSV's without one by their place."""
    rows = list(gpus)
    numbered = len({gpu.number for gpu in rows}) == len(rows)
    found = [
        NodeGpu(
            f"GPU{gpu.number if numbered else at}", nvml_index=gpu.number if numbered else None, uuid=gpu.id or None,
            name=gpu.type.removeprefix("NVIDIA-") or None, numa_nodes=(gpu.numa,),
            memory_bytes=gpu.memory * _MIB if gpu.memory else None,
        )
        for at, gpu in enumerate(rows)
    ]
    found.sort(key=lambda gpu: -1 if gpu.nvml_index is None else gpu.nvml_index)
    pairs = tuple(Pair(a.id, b.id, cross_numa=a.numa_nodes != b.numa_nodes) for a, b in combinations(found, 2))
    text_ = "the NUMA node of a GPU is as HAMi registered it: 0 also stands for unknown"
    zero = tuple(gpu.id for gpu in found if gpu.numa_nodes == (0,))
    return NodeTopology(
        name=name, gpus=tuple(found), pairs=pairs, assumptions=(NoteAssumption(zero, text_, None),) if zero else ()
    )
