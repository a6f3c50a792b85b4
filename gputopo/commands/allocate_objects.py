"""The Kubernetes objects of one question of `allocate`: the pod that asks, its node, what is bound; who decides."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands.allocate_sources import Sorted, read_objects
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape, mapping, text

if TYPE_CHECKING:
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.decider.asks import Container

_LARGEST = 64 * 1024 * 1024
WORKLOADS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
Version = tuple[int, int]


class Objects(NamedTuple):
    """The objects that one answer needs."""

    pod: KubeObject | None
    nodes: tuple[KubeObject, ...]
    pods: tuple[KubeObject, ...]  # bound ones
    classes: tuple[KubeObject, ...]
    devices: tuple[KubeObject, ...]  # Device objects of Koordinator

    def node(self, name: str | None = None) -> KubeObject | None:
        """The Node object: the one that --node means, else the only one, else that of this name."""
        if len(self.nodes) > 1 and name is not None:
            own = [one for one in self.nodes if one.name == name]
            if len(own) == 1:
                return own[0]
        if len(self.nodes) > 1:
            names = ", ".join(one.name for one in self.nodes)
            raise GputopoError(f"several Node objects: {names}", "", f"say which: --node {self.nodes[0].name}")
        return self.nodes[0] if self.nodes else None

    def decision(
        self, version: Version | None, name: str | None = None, resource: str = "nvidia.com/gpu"
    ) -> Decision:  # fmt: skip
        """Who decides. Raises WrongShape."""
        from gputopo.allocate.decider import decide

        return decide(self.pod, self.node(name), self.classes, version, resource, self.devices)


def objects(
    beside: Sorted, pod: str | None = None, node: str | None = None, pods: str | None = None,
    classes: str | None = None, *, counted: bool = False,
) -> Objects:  # fmt: skip
    """The options' files, and what the sources hold. Raises GputopoError, WrongShape.

    counted: -c is given, so that of several pods among the sources none has to be the one that asks.
    """
    listed = read_file(pods, "--pods") if pods else ()
    given = read_file(classes, "--classes") if classes else ()
    return Objects(
        _asking(beside, pod, counted),
        _nodes(beside, node),
        (*filter(_is_bound, beside.of("Pod")), *(one for one in listed if one.kind == "Pod")),
        tuple(one for one in (*beside.objects, *given) if one.kind == "DeviceClass"),
        tuple(one for one in beside.of("Device") if "koordinator" in one.api_group),
    )


def _asking(beside: Sorted, path: str | None, counted: bool) -> KubeObject | None:
    """Of --pod, else the only workload among the sources that is on no node yet and asks for GPUs."""
    from gputopo.allocate.decider import asks_for_gpus

    if path is not None:
        workloads = [one for one in read_file(path, "--pod") if one.kind in WORKLOADS]
        return _one(workloads, "--pod", path, "pod or workload")
    waiting = [one for one in beside.objects if one.kind in WORKLOADS and not _is_bound(one)]
    waiting = [one for one in waiting if asks_for_gpus(one)] or ([] if counted else waiting)
    if len(waiting) > 1 and not counted:
        names = ", ".join(one.name or "?" for one in waiting[:6])
        raise GputopoError(f"{len(waiting)} pods on no node among the sources: {names}", "", "say which: --pod FILE")
    return waiting[0] if len(waiting) == 1 else None


def _is_bound(pod: KubeObject) -> bool:
    return pod.kind == "Pod" and bool(text(pod.spec, "nodeName", "spec.nodeName"))


def _nodes(beside: Sorted, said: str | None) -> tuple[KubeObject, ...]:
    if said is not None and os.path.exists(said):
        candidates = [one for one in read_file(said, "--node") if one.kind == "Node"]
        return (_one(candidates, "--node", said, "Node"),)
    known = beside.of("Node")
    if said is None:
        return known
    own = tuple(one for one in known if one.name == said)
    if not own:
        raise GputopoError("--node: no such file, and no Node object of that name was given", said)
    return own


def _one(candidates: Sequence[KubeObject], option: str, path: str, what: str) -> KubeObject:
    if not candidates:
        raise GputopoError(f"{option}: no {what} in it", path)
    if len(candidates) > 1:
        names = ", ".join(one.name or "?" for one in candidates[:6])
        raise GputopoError(f"{option}: {len(candidates)} objects ({names}), not one {what}", path)
    return candidates[0]


def read_file(path: str, option: str) -> tuple[KubeObject, ...]:
    """Every object of a file given by an option."""
    from gputopo.commands.allocate_options import read_text

    return read_objects(read_text(path, option, _LARGEST), path)


def one_container(asking: Sequence[Container], pod: KubeObject, name: str | None, what: str) -> Container:
    """The container that asks, where one alone does or one is named. Raises GputopoError."""
    own = [one for one in asking if name is None or one.name == name]
    if not own:
        said = f"no container {name} that asks for {what}" if name is not None else f"the pod asks for no {what}"
        raise GputopoError(said, pod.where)
    if len(own) > 1:
        names = ", ".join(one.name for one in own)
        raise GputopoError(f"several containers ask for {what}: {names}", pod.where, f"--container {own[0].name}")
    return own[0]


def version_of(said: str | None) -> Version | None:
    """`1.36`, `v1.36.2`. Raises GputopoError."""
    if said is None:
        return None
    from gputopo.allocate.kubelet.releases import parse

    release = parse(said)
    if release is None:
        raise GputopoError(f"no version of Kubernetes: {said!r}", "--k8s-version", "e.g. 1.36")
    return 1, release.minor


def kubelet_version(node: KubeObject | None) -> str | None:
    """As the Node object says it. Raises WrongShape."""
    if node is None:
        return None
    info = mapping(mapping(node.body, "status"), "nodeInfo", "status.nodeInfo")
    return text(info, "kubeletVersion", "status.nodeInfo.kubeletVersion") or None


def shaped(error: WrongShape, where: str) -> GputopoError:
    """A field of the wrong type as one line."""
    return GputopoError(str(error), where)
