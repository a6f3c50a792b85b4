"""A Pod: its containers, what the kubelet or a scheduler wrote that they got, what they ask for, whether it lives.

    >>> status = {"phase": "Running", "containerStatuses": [{"name": "c", "allocatedResourcesStatus": [
    ...     {"name": "nvidia.com/gpu", "resources": [{"resourceID": "GPU-a", "health": "Healthy"}]}]}]}
    >>> said = pod({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c"}]},
    ...     "status": status}, 1)
    >>> said.record.node, [(one.container, one.kind, one.devices[0].id) for one in said.containers]
    ('n', [('c', 'app', 'GPU-a')])

allocatedResourcesStatus (kubernetes KEP-4680; on by default from 1.36) names the plugin's device ids, and of a claim
`claim:NAME[/REQUEST]` the first CDI name of each device, else driver/pool/device. A pod that ended holds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.holdings import ContainerHolding, DeviceHeld, PodRecord
from gputopo.parsers.object_holdings.annotations import allocated
from gputopo.parsers.object_holdings.owners import owners
from gputopo.parsers.object_holdings.said import PodSaid
from gputopo.records import Gap
from gputopo.terms.device_id import is_cdi, space_of
from gputopo.terms.kube_object import Body, WrongShape, mapping, mappings, text, texts
from gputopo.terms.quantity import quantity

ENDED = ("Succeeded", "Failed")
# Of the kubelet's admission (kubernetes pkg/kubelet: cm/topologymanager, cm/cpumanager, lifecycle/predicate.go).
_REFUSED = frozenset({
    "TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "PodAdmissionError", "NodeAffinity",
    "NodePorts", "NodeName", "PreemptionFailed", "UnknownReason", "AppArmor", "PodOSSelectorNodeLabelDoesNotMatch",
})  # fmt: skip
_OUT_OF = "OutOf"
_REJECTED = "Pod was rejected"
_HASH = "kubernetes.io/config.hash"
_VGPU_NODES = ("hami.io/vgpu-node", "volcano.sh/vgpu-node")
_ID_LENGTH = 64
_DRIVER_POOL_DEVICE = 3


def pod(body: Body, line: int) -> PodSaid:
    """Raises WrongShape."""
    metadata, spec, status = mapping(body, "metadata"), mapping(body, "spec"), mapping(body, "status")
    annotations = texts(metadata, "annotations", "metadata.annotations")
    phase = text(status, "phase", "status.phase") or None
    record = PodRecord(
        text(metadata, "namespace", "metadata.namespace") or None,
        text(metadata, "name", "metadata.name") or None,
        text(metadata, "uid", "metadata.uid") or None,
        phase,
        text(spec, "nodeName", "spec.nodeName") or _assumed(annotations) or None,
        text(status, "qosClass", "status.qosClass") or None,
        owners(metadata),
        _started(status),
        text(status, "startTime", "status.startTime") or None,
        _rejected(status, phase),
        annotations.get(_HASH),
        labels=tuple(texts(metadata, "labels", "metadata.labels").items()),
        line=line,
    )
    if record.rejected is not None:
        record = record._replace(requests=_asked_at_once(spec))
    if phase in ENDED:
        return PodSaid(record)
    gaps: list[Gap] = []
    containers = tuple(_containers(record, spec, status, annotations, gaps))
    return PodSaid(record, containers, tuple(gaps))


def _assumed(annotations: dict[str, str]) -> str:
    """The node for which a vGPU scheduler took the devices: it writes that before the pod is bound."""
    return next((annotations[key] for key in _VGPU_NODES if annotations.get(key)), "")


def _rejected(status: Body, phase: str | None) -> tuple[str, str] | None:
    reason, message = text(status, "reason", "status.reason"), text(status, "message", "status.message")
    if phase == "Failed" and is_refusal(reason, message):
        return reason, message
    return None


def is_refusal(reason: str, message: str) -> bool:
    """Whether the kubelet let the pod not in, by the reason it wrote."""
    return bool(reason) and (reason in _REFUSED or reason.startswith(_OUT_OF) or message.startswith(_REJECTED))


def _started(status: Body) -> str | None:
    times = []
    for one in mappings(status, "containerStatuses", "status.containerStatuses"):
        running = mapping(mapping(one, "state"), "running")
        if text(running, "startedAt"):
            times.append(text(running, "startedAt"))
    return min(times, default=None)


def _containers(
    record: PodRecord, spec: Body, status: Body, annotations: dict[str, str], gaps: list[Gap]
) -> Iterator[ContainerHolding]:
    inits = mappings(spec, "initContainers", "spec.initContainers")
    apps = mappings(spec, "containers", "spec.containers")
    states = {
        text(one, "name"): one
        for key in ("initContainerStatuses", "containerStatuses")
        for one in mappings(status, key, f"status.{key}")
    }
    given = allocated(annotations, len(inits), len(apps))
    title = f"{record.namespace or '?'}/{record.name or record.uid}"
    gaps += [Gap((title,), "devices", f"annotation {key}: {why}") for key, why in given.broken]
    places: dict[int | None, list[DeviceHeld]] = {}
    for place, device in given.devices:
        places.setdefault(place, []).append(device)
    whole = places.pop(None, [])
    asking = [len(inits) + at for at, one in enumerate(apps) if len(apps) == 1 or _requests(one)]
    if whole and len(asking) == 1:
        places.setdefault(asking[0], []).extend(whole)
        whole = []
    claims = _claims(spec, status)
    extended = _extended(status)
    for at, one in enumerate((*inits, *apps)):
        name = text(one, "name")
        kind = _kind(one) if at < len(inits) else "app"
        state = states.get(name, {})
        wanted = tuple(dict.fromkeys((*_wanted(one, claims), *extended.get(name, ()))))
        devices, doubtful = _devices(state)
        gaps += [Gap((f"{title}/{name}",), "devices", why) for why in doubtful]
        yield ContainerHolding(
            record.namespace, record.name, record.uid, name, _container_id(text(state, "containerID")), kind,
            devices=(*devices, *places.get(at, ())) or None,
            claims=wanted or None,
            requests=_requests(one) or None,
            running="running" in mapping(state, "state") if state else None,
            line=record.line,
        )  # fmt: skip
    if whole:
        yield ContainerHolding(record.namespace, record.name, record.uid, devices=tuple(whole), line=record.line)


def _kind(container: Body) -> str:
    return "sidecar" if text(container, "restartPolicy") == "Always" else "init"


def _container_id(written: str) -> str | None:
    id = written.rpartition("//")[2]
    return id if len(id) == _ID_LENGTH else None


def _requests(container: Body) -> tuple[tuple[str, int], ...]:
    """Extended resources, which have a domain of their own: limits and requests of them are equal."""
    resources = mapping(container, "resources")
    found: dict[str, int] = {}
    for key in ("requests", "limits"):
        for name, amount in mapping(resources, key, f"resources.{key}").items():
            if "/" in name and not name.partition("/")[0].endswith("kubernetes.io"):
                try:
                    count = int(quantity(amount))
                except ValueError:
                    raise WrongShape(f"{amount!r} of {name} is no amount") from None
                if count:
                    found[name] = count
    return tuple(found.items())


def _asked_at_once(spec: Body) -> tuple[tuple[str, int], ...]:
    """What runs together, or a larger init container: its devices are handed on."""
    total: dict[str, int] = {}
    for one in mappings(spec, "containers", "spec.containers"):
        for name, count in _requests(one):
            total[name] = total.get(name, 0) + count
    for one in mappings(spec, "initContainers", "spec.initContainers"):
        for name, count in _requests(one):
            total[name] = max(total.get(name, 0), count)
    return tuple(total.items())


def _claims(spec: Body, status: Body) -> dict[str, str]:
    """The pod's name of a claim: the name of the ResourceClaim."""
    found = {}
    for one in mappings(spec, "resourceClaims", "spec.resourceClaims"):
        # 1.30 and before had both names below `source`.
        name = text(one, "resourceClaimName") or text(mapping(one, "source"), "resourceClaimName")
        if name:
            found[text(one, "name")] = name
    for one in mappings(status, "resourceClaimStatuses", "status.resourceClaimStatuses"):
        if text(one, "resourceClaimName"):
            found[text(one, "name")] = text(one, "resourceClaimName")
    return found


def _wanted(container: Body, claims: dict[str, str]) -> Iterator[tuple[str, str]]:
    for one in mappings(mapping(container, "resources"), "claims", "resources.claims"):
        name = claims.get(text(one, "name"))
        if name is not None:
            yield name, text(one, "request")


def _extended(status: Body) -> dict[str, list[tuple[str, str]]]:
    """Containers whose nvidia.com/gpu a claim stands for: (claim, request) of each."""
    said = mapping(status, "extendedResourceClaimStatus", "status.extendedResourceClaimStatus")
    claim = text(said, "resourceClaimName")
    found: dict[str, list[tuple[str, str]]] = {}
    for one in mappings(said, "requestMappings") if claim else ():
        found.setdefault(text(one, "containerName"), []).append((claim, text(one, "requestName")))
    return found


def _devices(state: Body) -> tuple[tuple[DeviceHeld, ...], list[str]]:
    """(what allocatedResourcesStatus names, why some of it is not believed)"""
    found: list[DeviceHeld] = []
    doubtful: list[str] = []
    for one in mappings(state, "allocatedResourcesStatus", "allocatedResourcesStatus"):
        resource = text(one, "name")
        own = [
            DeviceHeld(resource, id, _space(id, resource), health=text(each, "health"))
            for each in mappings(one, "resources", "allocatedResourcesStatus.resources")
            if (id := text(each, "resourceID"))
        ]
        if len({each.id for each in own}) < len(own) and resource.startswith("claim:"):
            # Before 1.36.3 the CDI names of one driver's devices accumulate: the first is that of the first device.
            doubtful.append(f"{resource}: one CDI name stands for several devices; the claim itself says which")
            continue
        found += own
    return tuple(found), doubtful


def _space(id: str, resource: str) -> str:
    if is_cdi(id):
        return "cdi"
    if resource.startswith("claim:") and id.count("/") >= _DRIVER_POOL_DEVICE - 1:
        return "dra"
    return space_of(id)


def pod_of_event(involved: Body, node: str | None, **fields: Any) -> PodRecord:
    """The pod that an Event is about."""
    return PodRecord(
        text(involved, "namespace") or None, text(involved, "name") or None, text(involved, "uid") or None,
        node=node, **fields,
    )  # fmt: skip
