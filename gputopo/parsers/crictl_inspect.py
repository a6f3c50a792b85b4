"""`crictl inspect`, of containerd and of CRI-O: one container or many, and the OCI specification itself (config.json).

    >>> labels = '"io.kubernetes.container.name": "main", "io.kubernetes.pod.name": "a", "io.kubernetes.pod.uid": "u"'
    >>> cpu = '"linux": {"resources": {"cpu": {"cpus": "0-3"}}}'
    >>> spec = '{"process": {"env": ["NVIDIA_VISIBLE_DEVICES=GPU-1"]}, %s}' % cpu
    >>> status = '{"state": "CONTAINER_RUNNING", "labels": {%s}}' % labels
    >>> [said] = parse('{"status": %s, "info": {"pid": 7, "runtimeSpec": %s}}' % (status, spec))
    >>> [one] = said.containers
    >>> one.pod, one.container, one.pids, str(one.cpus_allowed), [(held.id, held.by) for held in one.devices]
    ('a', 'main', (7,), '0-3', [('GPU-1', 'env')])

`info.runtimeSpec` is what the kubelet asked for, before the toolkit's runtime edited it: what that made of it stands in
/run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json, where the variable may be twice (facts:
nvidia-container-toolkit#1429). CDI devices and annotations say what was given, the variable is a claim of whoever wrote
it, the image included. A sandbox holds nothing.
"""

from __future__ import annotations

from typing import Any

from gputopo.holdings import ContainerHolding, HoldingRecords
from gputopo.parsers.container_told import Told, holding
from gputopo.parsers.json_values import at, items, mapping, text, texts, values, whole
from gputopo.parsers.unreadable import Unreadable

_WHAT = "what crictl inspect prints"
_CONTAINER_TYPES = ("io.kubernetes.cri.container-type", "io.kubernetes.cri-o.ContainerType")
_SANDBOX = "sandbox"
_STATES = "CONTAINER_"
_RUNNING = "CONTAINER_RUNNING"
Body = dict[str, Any]


def sniff(given: str) -> bool:
    """Whether a text is JSON of a container's status, or of an OCI specification."""
    if given.lstrip()[:1] not in ("{", "["):
        return False
    return ('"status"' in given and '"info"' in given) or ('"ociVersion"' in given and '"process"' in given)


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """Raises Unreadable."""
    bodies = values(given, _WHAT)
    found = [one for line, body in bodies if (one := _container(body, line)) is not None]
    if not found and not any(_is_sandbox(_spec(body)) for _, body in bodies):
        raise Unreadable("no container in it: it is not what crictl inspect prints")
    return (HoldingRecords("crictl-inspect", containers=tuple(found)),)


def _spec(body: Body) -> Body:
    return body if "ociVersion" in body else mapping(body, "info", "runtimeSpec")


def _is_sandbox(spec: Body) -> bool:
    annotations = texts(spec, "annotations")
    return any(annotations.get(key) == _SANDBOX for key in _CONTAINER_TYPES)


def _container(body: Body, line: int) -> ContainerHolding | None:
    status, info, spec = mapping(body, "status"), mapping(body, "info"), _spec(body)
    state = text(status, "state")
    if (not spec and not state.startswith(_STATES)) or _is_sandbox(spec):  # an image's, a pod's
        return None
    config = mapping(info, "config")
    annotations = {**texts(spec, "annotations"), **texts(config, "annotations"), **texts(status, "annotations")}
    privileged = at(info, "privileged") is True or at(
        config, "linux", "security_context", "privileged"
    ) is True  # fmt: skip
    resources = mapping(status, "resources", "linux")
    asked = mapping(config, "linux", "resources")
    cpu = mapping(spec, "linux", "resources", "cpu")
    return holding(
        Told(
            labels={**texts(spec, "annotations"), **texts(status, "labels")},
            env=(*_pairs(items(config, "envs")), *(one for one in items(spec, "process", "env") if _is_text(one))),
            annotations=annotations,
            mounts=(*_paths(spec, "mounts", "destination"), *_paths(status, "mounts", "containerPath"),
                    *_paths(config, "mounts", "container_path")),
            nodes=() if privileged else (*_paths(mapping(spec, "linux"), "devices", "path"),
                                         *_paths(config, "devices", "host_path")),
            cdi=(*_paths(config, "CDI_devices", "name"), *_paths(config, "CDIDevices", "name")),
            id=text(status, "id"),
            cgroup=text(spec, "linux", "cgroupsPath"),
            pid=whole(info, "pid"),
            running=None if not state else state == _RUNNING,
            cpus=(text(resources, "cpusetCpus"), text(cpu, "cpus"), text(asked, "cpuset_cpus")),
            mems=(text(resources, "cpusetMems"), text(cpu, "mems"), text(asked, "cpuset_mems")),
            name=text(status, "metadata", "name"),
            line=line,
        )
    )  # fmt: skip


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _pairs(envs: list[Any]) -> list[str]:
    """What the kubelet asked for: without the image's own."""
    return [f"{text(one, 'key')}={text(one, 'value')}" for one in envs if text(one, "key")]


def _paths(body: Body, key: str, field: str) -> list[str]:
    return [found for one in items(body, key) if (found := text(one, field))]
