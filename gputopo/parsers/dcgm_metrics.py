r"""Metrics of NVIDIA's dcgm-exporter that say which pod had which GPU: exposition text, or what Prometheus answers.

    >>> labels = 'gpu="1",UUID="GPU-0a1b",pci_bus_id="00000000:0F:00.0",device="nvidia1",Hostname="n1"'
    >>> pod = 'namespace="ml",pod="a",container="main"'
    >>> [said] = parse('DCGM_FI_DEV_GPU_UTIL{%s,%s} 97 1764385927000\n' % (labels, pod))
    >>> said.node, said.at, said.past, [(one.pod, [held.id for held in one.devices]) for one in said.containers]
    ('n1', '2025-11-29T03:12:07Z', True, [('a', ['GPU-0a1b'])])

A sample is of the time when it was taken. Prometheus, without honor_labels, writes the exporter's own pod into `pod`
and the one that had the GPU into `exported_pod`; where one sample has that, `pod` of all others is the exporter. `gpu`
is DCGM's number of the GPU and not read; `device` has the minor number. With MIG, UUID is that of the GPU and GPU_I_ID
the instance, written here as older drivers name it, MIG-<UUID>/<instance>. `vgpu` is the replica of a shared GPU,
`hpc_job` a job of Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from gputopo.holdings import ContainerHolding, DeviceHeld, DeviceName, HoldingRecords
from gputopo.parsers.json_values import at, items, mapping, texts, values
from gputopo.parsers.limits import at_most_hits, lines_of
from gputopo.parsers.unreadable import Unreadable

FORMAT = "dcgm-metrics"
_SAMPLE = re.compile(r"[ \t]*[A-Za-z_:][\w:]*\{(.*)\}[ \t]+\S+(?:[ \t]+(-?\d{1,16}(?:\.\d{1,9})?))?[ \t]*\r?\Z")
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_IS_ONE = re.compile(r'^[ \t]*[A-Za-z_:][\w:]*\{[^\n]*\b(?:UUID|uuid)="(?:GPU|MIG)-', re.MULTILINE)
_MINOR = re.compile(r"nvidia(\d{1,4})\Z")
_NODES = ("Hostname", "node", "kubernetes_node", "nodeName", "hostname")
_EXPORTER = "dcgm-exporter"
_MILLISECONDS = 1e11  # more than this is no number of seconds
Labels = Mapping[str, str]


class _Sample(NamedTuple):
    labels: Labels
    at: float | None  # seconds since 1970
    line: int | None


def sniff(given: str) -> bool:
    """Whether a text has samples that name a GPU by its UUID."""
    if given.lstrip()[:1] == "{":
        return '"resultType"' in given and '"UUID"' in given
    return _IS_ONE.search(given) is not None


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """One for each node and time. Raises Unreadable."""
    answered = given.lstrip()[:1] == "{"
    samples = list(at_most_hits(_answered(given) if answered else _printed(given)))
    if not samples:
        raise Unreadable("no sample with a GPU's UUID", None, "curl http://NODE:9400/metrics")
    exported = any("exported_pod" in one.labels for one in samples)
    whole = None if answered else max((one.at for one in samples if one.at is not None), default=None)
    groups: dict[tuple[str, float | None], list[_Sample]] = {}
    for one in samples:
        groups.setdefault((_node(one.labels), one.at if answered else whole), []).append(one)
    return tuple(_records(node, time, own, exported) for (node, time), own in groups.items())


def _printed(given: str) -> Iterator[_Sample]:
    for number, line in enumerate(lines_of(given), 1):
        if "UUID=" not in line and "uuid=" not in line:
            continue
        match = _SAMPLE.match(line)
        if match is None:
            continue
        labels = {key: _ESCAPE.sub(_unescaped, value) for key, value in _LABEL.findall(match[1])}
        if _uuid(labels):
            yield _Sample(labels, _seconds(match[2]), number)


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _answered(given: str) -> Iterator[_Sample]:
    """Of /api/v1/query and query_range; of a range the last value is taken."""
    for line, body in values(given, "what Prometheus answers"):
        for one in items(mapping(body, "data"), "result"):
            labels = texts(one, "metric")
            value = at(one, "value") or (items(one, "values") or [None])[-1]
            time = value[0] if isinstance(value, list) and value else None
            if _uuid(labels):
                yield _Sample(labels, _seconds(time), line)


def _seconds(said: Any) -> float | None:
    if said is None or isinstance(said, (bool, dict, list)):
        return None
    try:
        number = float(said)
    except ValueError:
        return None
    return number / 1000 if abs(number) > _MILLISECONDS else number


def _uuid(labels: Labels) -> str:
    uuid = labels.get("UUID") or labels.get("uuid") or ""
    return uuid if uuid.startswith(("GPU-", "MIG-")) else ""


def _node(labels: Labels) -> str:
    """Older exporters write the name of their own pod."""
    return next((labels[key] for key in _NODES if labels.get(key) and _EXPORTER not in labels[key]), "")


def _records(node: str, time: float | None, samples: Iterable[_Sample], exported: bool) -> HoldingRecords:
    held: dict[tuple[str | None, str | None, str | None, str | None], dict[DeviceHeld, None]] = {}
    lines: dict[object, int | None] = {}
    names: dict[DeviceName, None] = {}
    for one in samples:
        device, own = _device(one.labels)
        names.update(dict.fromkeys(own))
        for who in _holders(one.labels, exported):
            held.setdefault(who, {})[device] = None
            lines.setdefault(who, one.line)
    containers = tuple(
        ContainerHolding(namespace, pod, uid, name, devices=tuple(devices), line=lines[namespace, pod, uid, name])
        for (namespace, pod, uid, name), devices in held.items()
    )
    return HoldingRecords(
        FORMAT, node=node, at=_rfc3339(time), past=True, containers=containers, names=tuple(names)
    )  # fmt: skip


def _holders(labels: Labels, exported: bool) -> Iterator[tuple[str | None, str | None, str | None, str | None]]:
    before = "exported_" if exported else ""
    pod = labels.get(f"{before}pod") or (labels.get("pod_name", "") if not exported else "")
    name = labels.get(f"{before}container") or (labels.get("container_name", "") if not exported else "")
    if pod and not (not exported and (_EXPORTER in pod or _EXPORTER in name)):
        namespace = labels.get(f"{before}namespace") or (labels.get("pod_namespace", "") if not exported else "")
        yield namespace or None, pod, labels.get(f"{before}pod_uid") or None, name or None
    if labels.get("hpc_job"):
        yield "slurm", labels["hpc_job"], None, "job"


def _device(labels: Labels) -> tuple[DeviceHeld, tuple[DeviceName, ...]]:
    uuid = _uuid(labels)
    minor = _MINOR.match(labels.get("device", ""))
    pci = labels.get("pci_bus_id") or None
    found: tuple[DeviceName, ...] = ()
    if uuid.startswith("GPU-") and (minor or pci):
        found = (DeviceName(uuid, "uuid", pci=pci, minor=int(minor[1]) if minor else None),)
    instance, profile = labels.get("GPU_I_ID", ""), labels.get("GPU_I_PROFILE", "")
    if instance and uuid.startswith("GPU-"):
        id = f"MIG-{uuid}/{instance}"
        own = DeviceName(id, "mig", uuid=uuid)
        return DeviceHeld(f"nvidia.com/mig-{profile.replace('+', '.')}", id, "mig"), (*found, own)
    replica = labels.get("vgpu", "")
    id = f"{uuid}::{replica}" if replica else uuid
    return DeviceHeld("nvidia.com/gpu", id, "mig" if uuid.startswith("MIG-") else "uuid"), found


def _rfc3339(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    from datetime import datetime, timezone

    try:
        return datetime.fromtimestamp(int(seconds), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None
