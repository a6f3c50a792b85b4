r"""/proc/PID/cgroup: which pod and which container a process is in.

    >>> pod, id = "0a1b2c3d-0000-4000-8000-000000000001", "0123456789abcdef" * 4
    >>> slice = f"kubepods-burstable-pod{pod.replace('-', '_')}.slice"
    >>> place_of(f"0::/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{id}.scope") == Place(pod, id)
    True
    >>> place_of(f"5:cpuset:/kubepods/burstable/pod{pod}/{id}") == Place(pod, id)           # cgroupfs driver, v1
    True
    >>> place_of(f"0::/system.slice/docker-{id}.scope") == Place(None, id)                  # no pod's
    True
    >>> place_of("0::/system.slice/sshd.service")
    Place(pod=None, container=None)

A line is `NUMBER:CONTROLLERS:PATH`, in the unified hierarchy `0::PATH`. The last folder with a container's id names it:
`cri-containerd-ID.scope`, `crio-ID.scope` (with `/container` below it by crun), `docker-ID.scope`, `libpod-ID.scope`
(systemd); `ID`, `crio-ID` (cgroupfs); `SLICE:cri-containerd:ID` where the kubelet means systemd and the runtime does
not. CRI-O's conmon and its sandboxes, folders of a slice without `.scope`, are a pod's and no container. What a
container's own runtime starts inside it is the pod's container still. A uid of 32 digits is a static pod's config hash.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_UID = "[0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12}"
_POD = re.compile(rf"(?:^|[-/])pod({_UID}|[0-9a-f]{{32}})(?=\.slice|[/:]|$)")
_FOLDER = re.compile(r"(?:.*:[a-z-]+:|([a-z][a-z-]*)-)?([0-9a-f]{64})(\.scope)?\Z")
_OF_CGROUPFS = ("crio", "libpod", "libpod-payload")  # runtimes that put their name before the id there, too
_PATH_ELEMENTS = 256


class Place(NamedTuple):
    pod: str | None  # uid
    container: str | None  # 64 hexadecimal digits


NOWHERE = Place(None, None)


def place_of_process(content: str) -> Place:
    """Of a whole file: the line that tells most; of the v1 hierarchies all that know the container agree."""
    best = NOWHERE
    for line in content.splitlines():
        found = place_of(line)
        if (found.container is not None, found.pod is not None) > (best.container is not None, best.pod is not None):
            best = found
    return best


def place_of(line: str) -> Place:
    """Of one line."""
    path = line.split(":", 2)[-1]
    pods = list(_POD.finditer(path))
    if not pods:
        return Place(None, _container(path.split("/"), last=True))
    inside = path[path.rfind("/", 0, pods[-1].start(1)) + 1 :]
    return Place(pods[-1][1].replace("_", "-"), _container(inside.split("/"), last=False))


def _container(folders: list[str], *, last: bool) -> str | None:
    """The id in the last folder that has one; below a pod's folder in the first."""
    above = ["", *folders]
    found = (_id(folder, above[at]) for at, folder in enumerate(folders[:_PATH_ELEMENTS]))
    ids = [id for id in found if id is not None]
    return ids[-1 if last else 0] if ids else None


def _id(folder: str, above: str) -> str | None:
    match = _FOLDER.match(folder)
    if match is None:
        return None
    runtime, id, scope = match.groups()
    if runtime is None or (scope and not runtime.endswith("conmon")):
        return str(id)
    return str(id) if runtime in _OF_CGROUPFS and not above.endswith(".slice") else None
