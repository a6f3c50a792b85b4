"""One container as its runtime shows it, put together from what several tools print under several names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gputopo.holdings import ContainerHolding, DeviceHeld
from gputopo.parsers import told_devices as told
from gputopo.parsers.proc_cgroup import place_of
from gputopo.terms.cpu_set import CpuSet

_ID = re.compile(r"[0-9a-f]{64}\Z")
_HIGHEST_PID = 1 << 22
# The same by kubelet, containerd and CRI-O.
NAMES = ("io.kubernetes.container.name", "io.kubernetes.cri.container-name")
PODS = ("io.kubernetes.pod.name", "io.kubernetes.cri.sandbox-name")
NAMESPACES = ("io.kubernetes.pod.namespace", "io.kubernetes.cri.sandbox-namespace")
UIDS = ("io.kubernetes.pod.uid", "io.kubernetes.cri.sandbox-uid")


class Told(NamedTuple):
    """`env`: KEY=VALUE, the last of two is what the program sees (OCI runtimes make them one). `cgroup`: a path,
    or systemd's `SLICE:PREFIX:ID`. `nodes`: device files on the host; of a privileged container none, which sees all.
    """

    labels: Mapping[str, str]  # and annotations
    env: Sequence[str]
    annotations: Mapping[str, str]
    mounts: Sequence[str]
    nodes: Sequence[str]
    cdi: Sequence[str]
    id: str
    cgroup: str
    pid: int | None
    running: bool | None
    cpus: Sequence[str]  # the first that is a list is taken
    mems: Sequence[str]
    name: str = ""  # where no label says it
    line: int | None = None


def holding(one: Told, own: Sequence[DeviceHeld] = ()) -> ContainerHolding:
    """`own`: devices that the runtime itself says it gave."""
    pairs = [(key, value) for key, equals, value in (word.partition("=") for word in one.env) if equals]
    shown = dict(pairs)
    place = place_of(f"0::/{one.cgroup}")
    devices = (*own, *_devices(one, pairs))
    value = shown.get(told.VISIBLE)
    mems = _set(one.mems)
    id = one.id if _ID.match(one.id) else place.container
    return ContainerHolding(
        namespace=first(one.labels, NAMESPACES),
        pod=first(one.labels, PODS),
        uid=first(one.labels, UIDS) or place.pod,
        container=first(one.labels, NAMES) or one.name or None,
        container_id=id,
        devices=tuple(dict.fromkeys(devices)) or None,
        cpus_allowed=_set(one.cpus),
        mems_allowed=None if mems is None else tuple(mems),
        visible=None if value is None else tuple(word.strip() for word in value.split(",")),
        pids=(one.pid,) if one.pid is not None and 0 < one.pid <= _HIGHEST_PID else (),
        running=one.running,
        line=one.line,
    )


def first(labels: Mapping[str, str], keys: Iterable[str]) -> str | None:
    return next((labels[key] for key in keys if labels.get(key)), None)


def _devices(one: Told, pairs: Iterable[tuple[str, str]]) -> Iterable[DeviceHeld]:
    named = [(*found, "cdi") for name in one.cdi for found in told.of_annotation("cdi.k8s.io/", name)]
    for key, value in one.annotations.items():
        named += [(*found, "annotation") for found in told.of_annotation(key, value)]
    for path in one.mounts:
        named += [(*found, "mount") for found in told.of_mount(path)]
    for key, value in pairs:
        named += [(*found, "env") for found in told.of_variable(key, value)]
    for path in one.nodes:
        named += [(*found, "node") for found in told.of_node(path)]
    for id, space, by in named:
        yield DeviceHeld(_resource(id, space), id, space, by=by)


def _resource(id: str, space: str) -> str:
    """What kind of device it is: a runtime knows no resource names. Of a CDI name vendor/class."""
    if space == "cdi":
        return id.partition("=")[0]
    return "" if space in ("pci", "name") else "gpu"


def _set(texts: Iterable[str]) -> CpuSet | None:
    """Empty is no restriction."""
    return next((found for text in texts if text and (found := CpuSet.parse_list(text))), None)
