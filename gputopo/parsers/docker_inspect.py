"""`docker inspect` (and `nerdctl`, `podman`), a list of containers: those of cri-dockerd's pods and plain ones.

    >>> request = '{"Driver": "", "Count": 0, "DeviceIDs": ["0", "5"], "Capabilities": [["gpu"]]}'
    >>> host = '"HostConfig": {"CpusetCpus": "0-3", "DeviceRequests": [%s]}' % request
    >>> text = '[{"Id": "%s", "Name": "/job", "State": {"Running": true, "Pid": 7}, %s}]' % ("ab" * 32, host)
    >>> [one] = parse(text)[0].containers
    >>> one.container, one.pod, str(one.cpus_allowed), [(held.id, held.space, held.by) for held in one.devices]
    ('job', None, '0-3', [('0', 'index', ''), ('5', 'index', '')])

`docker run --gpus` asks for GPUs by DeviceRequests: ids are indexes or UUIDs, with the driver `cdi` CDI names; a count
of N is the first N indexes, -1 is all (moby daemon/nvidia_linux.go). In a container of a pod NVIDIA_VISIBLE_DEVICES
and the mounts are the device plugin's way to say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.holdings import ALL, ContainerHolding, DeviceHeld, HoldingRecords
from gputopo.parsers.container_told import Told, holding
from gputopo.parsers.json_values import at, items, mapping, text, texts, values, whole
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.device_id import is_cdi, visible

_WHAT = "what docker inspect prints"
_TYPE = "io.kubernetes.docker.type"
_MOST = 256  # GPUs of one request
_ALL = -1
Body = dict[str, Any]


def sniff(given: str) -> bool:
    """Whether a text is JSON of containers; an image's has no HostConfig."""
    if given.lstrip()[:1] not in ("{", "["):
        return False
    return '"HostConfig"' in given and '"State"' in given


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """Raises Unreadable."""
    bodies = [(line, body) for line, body in values(given, _WHAT) if "HostConfig" in body and "State" in body]
    if not bodies:
        raise Unreadable("no container in it: it is not what docker inspect prints")
    found = tuple(_container(body, line) for line, body in bodies if not _is_sandbox(body))
    return (HoldingRecords("docker-inspect", containers=found),)


def _is_sandbox(body: Body) -> bool:
    return texts(body, "Config", "Labels").get(_TYPE) == "podsandbox"


def _container(body: Body, line: int) -> ContainerHolding:
    host = mapping(body, "HostConfig")
    name = text(body, "Name").removeprefix("/")
    own = [one for request in items(host, "DeviceRequests") for one in _requested(request)]
    running = at(body, "State", "Running")
    return holding(
        Told(
            labels=texts(body, "Config", "Labels"),
            env=[one for one in items(body, "Config", "Env") if isinstance(one, str)],
            annotations=texts(host, "Annotations"),
            mounts=[found for one in items(body, "Mounts") if (found := text(one, "Destination"))],
            nodes=() if at(host, "Privileged") is True else
                  [found for one in items(host, "Devices") if (found := text(one, "PathOnHost"))],
            cdi=(),
            id=text(body, "Id"),
            cgroup=text(host, "CgroupParent"),
            pid=whole(body, "State", "Pid"),
            running=running if isinstance(running, bool) else None,
            cpus=(text(host, "CpusetCpus"),),
            mems=(text(host, "CpusetMems"),),
            name=name,
            line=line,
        ),
        own,
    )  # fmt: skip


def _requested(request: object) -> Iterator[DeviceHeld]:
    """The GPUs of one DeviceRequest."""
    ids = [one for one in items(request, "DeviceIDs") if isinstance(one, str)]
    if text(request, "Driver") == "cdi":
        yield from (DeviceHeld(one.partition("=")[0], one, "cdi") for one in ids if is_cdi(one))
        return
    if not _is_gpu(request):
        return
    count = whole(request, "Count") or 0
    if not ids and count == _ALL:
        yield DeviceHeld("gpu", "all", ALL)
    elif not ids and 0 < count <= _MOST:
        ids = [str(number) for number in range(count)]
    for one in ids:
        yield from (DeviceHeld("gpu", id, space) for id, space in visible(one))


def _is_gpu(request: object) -> bool:
    words = [word for one in items(request, "Capabilities") if isinstance(one, list) for word in one]
    return "gpu" in words or text(request, "Driver") == "nvidia"
