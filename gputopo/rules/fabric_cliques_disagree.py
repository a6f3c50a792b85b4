"""GT131 fabric-cliques-disagree

What it says
    GPUs of one node are in different cliques of the multi-node NVLink fabric: their cluster UUID or clique
    id differs, or some of them are in a cluster and others in none.

Why it matters
    Only GPUs of one clique reach each other over NVLink. The device plugin and GPU Feature Discovery then
    leave the node without the label nvidia.com/gpu.clique, and no ComputeDomain (IMEX) takes it.

What to do
    Compare the Fabric sections of `nvidia-smi -q` with the partitions of the fabric manager on the switch
    trays; reset the GPUs that stand alone, or put the node into one partition.

When it is silent
    All name the same (cluster UUID, clique id); a clique id means nothing without its cluster, 32766 occurs
    in every rack. An all-zero cluster UUID names no cluster: a fabric of one node, and no label is right
    there. GPUs whose fabric is not completed are for GT130. Several nodes are not compared with each other.

Example
    >>> from gputopo.topology.node import Fabric, Gpu, NodeTopology
    >>> def gb200(number, clique):
    ...     cluster = "cccccccc-0000-4000-8000-000000000001"
    ...     return Gpu(f"GPU{number}", fabric=Fabric("Completed", "Success", cluster, clique))
    >>> [finding] = check(NodeTopology(gpus=(gb200(0, 1), gb200(1, 1), gb200(2, 2), gb200(3, 2))))
    >>> finding.severity, finding.message
    ('warning', 'GPUs of this node are in 2 fabric cliques: GPU0 and GPU1 in clique 1; GPU2 and GPU3 in clique 2')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed
from gputopo.rules.wording import counted, names, one_line
from gputopo.topology.islands import ZERO_UUID
from gputopo.topology.node import Fabric, Gpu, NodeTopology

CODE = "GT131"
SEVERITY = "warning"

_Identity = tuple[str, int | None]


def check(node: NodeTopology) -> Iterator[Finding]:
    members: dict[_Identity | None, list[str]] = {}
    for gpu in node.gpus:
        if gpu.fabric is not None:
            identity = _identity(gpu.fabric)
            if identity is not None or _is_alone(node, gpu):
                members.setdefault(identity, []).append(gpu.id)
    cliques = [identity for identity in members if identity is not None]
    if len(members) < 2:
        return
    clusters = {cluster for cluster, _ in cliques}
    groups = [f"{names(ids)} in {_named(identity, len(clusters) > 1)}" for identity, ids in members.items()]
    what = f"{len(clusters)} clusters" if len(clusters) > 1 else counted(len(cliques), "fabric clique")
    outside = " and in none" if None in members else ""
    order = {gpu.id: place for place, gpu in enumerate(node.gpus)}
    yield Finding(
        CODE,
        "error" if len(clusters) > 1 else SEVERITY,
        tuple(sorted((id for ids in members.values() for id in ids), key=order.__getitem__)),
        f"GPUs of this node are in {what}{outside}: {'; '.join(groups)}",
        matters="only GPUs of one clique reach each other over NVLink; the node gets no label nvidia.com/gpu.clique "
        "and no ComputeDomain takes it",
        because="the fabric's partitions cut through the node, or some of its GPUs joined before a change",
        remedy="compare the partitions on the NVLink switch trays with nvidia-smi -q (CliqueId, ClusterUUID); then "
        "reset the GPUs of this node",
        evidence=tuple(
            claimed(node, f"{names(ids)}: {_in_full(identity)}") for identity, ids in members.items()
        ),
    )


def _identity(fabric: Fabric) -> _Identity | None:
    if (fabric.state or "").lower() not in ("completed", ""):
        return None
    cluster = (fabric.cluster_uuid or "").strip().lower()
    return None if cluster in ("", ZERO_UUID) else (cluster, fabric.clique_id)


def _is_alone(node: NodeTopology, gpu: Gpu) -> bool:
    """Its fabric is up and in no cluster: an all-zero UUID, which NVML's reader leaves out. Not: nobody said."""
    if gpu.fabric is None or (gpu.fabric.state or "").lower() != "completed":
        return False
    return not any(note.attribute == "fabric" and gpu.id in note.subjects for note in node.unknown)


def _named(identity: _Identity | None, with_cluster: bool) -> str:
    if identity is None:
        return "no cluster"
    cluster, clique = identity
    name = "a clique without id" if clique is None else f"clique {clique}"
    return f"{name} of cluster {one_line(cluster)}" if with_cluster else name


def _in_full(identity: _Identity | None) -> str:
    if identity is None:
        return f"ClusterUUID {ZERO_UUID}"
    return f"ClusterUUID {one_line(identity[0])}, CliqueId {identity[1]}"
