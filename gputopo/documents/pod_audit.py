"""`kind: PodAudit`: what containers of a node hold, where it is, and what would be better.

containers[]: devices, gpus (null: no source resolves the ids), numaNodes, packages, cpus (exclusive; null with
              cpuPool shared), memoryNumaNodes, crossPackage, crossNuma, weakest, better (null with betterReason)
pods[], owners[]: the same of the GPUs of a pod, and of the pods of one job
devices[].unit: its GPU or NIC; where it is none of the node, the UUID or driver/pool/device that its name stands for
earlier[]: what a log or a metric says of another time than `at`; past: the whole answer is of such a time
free: GPUs that nothing holds, device ids where they are not resolved, null where no source lists them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.forms import Field, Schema, choice, cpus, document_schema, flag, many, mapping, nullable, record
from gputopo.documents.forms import text as text_form
from gputopo.documents.forms import whole as whole_form
from gputopo.holdings import MemoryHeld, Owner
from gputopo.pods import model
from gputopo.pods.model import Container, Placed
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit, Unit
from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.gpu_sets import Weakest

KIND, LIST_KIND = "PodAudit", "PodAuditList"
Document = dict[str, Any]


class _Container(NamedTuple):
    namespace: str | None
    pod: str | None
    uid: str | None
    container: str | None
    kind: str | None
    kind_basis: str
    devices: tuple[model.Device, ...]
    gpus: tuple[str, ...] | None
    numa_nodes: tuple[int, ...] | None
    packages: tuple[str, ...] | None
    cpus: CpuSet | None
    cpu_pool: str | None
    cpu_numa_nodes: tuple[int, ...] | None
    memory_numa_nodes: tuple[int, ...] | None
    memory: tuple[MemoryHeld, ...] | None
    pages: tuple[MemoryHeld, ...] | None
    cross_package: bool | None
    cross_numa: bool | None
    weakest: Weakest | None
    better: tuple[tuple[str, ...], ...] | None
    better_reason: str
    given: bool
    uses: tuple[str, ...] | None
    visible: tuple[str, ...] | None
    sources: tuple[str, ...]


class _Pod(NamedTuple):
    namespace: str | None
    name: str | None
    uid: str | None
    phase: str | None
    owners: tuple[Owner, ...]
    gpus: tuple[str, ...] | None
    numa_nodes: tuple[int, ...] | None
    packages: tuple[str, ...] | None
    cross_package: bool | None
    cross_numa: bool | None
    weakest: Weakest | None


class _Job(NamedTuple):
    kind: str
    namespace: str | None
    name: str
    pods: tuple[str, ...]
    gpus: tuple[str, ...] | None
    numa_nodes: tuple[int, ...] | None
    packages: tuple[str, ...] | None
    cross_package: bool | None
    cross_numa: bool | None
    weakest: Weakest | None


class _Rejected(NamedTuple):
    namespace: str | None
    name: str | None
    uid: str | None
    reason: str
    message: str
    at: str | None
    why: tuple[str, ...]


_text, _flag, _ids = nullable(text_form), nullable(flag), nullable(many(text_form))
_numbers = nullable(many(whole_form))
_weakest = nullable(
    record(Weakest, "PodWeakest", Field("a", text_form), Field("b", text_form), Field("level", text_form))
)
_device = record(
    model.Device, "HeldDevice",
    Field("resource", text_form), Field("id", text_form), Field("gpu", _text), Field("nic", _text),
    Field("mig", _text), Field("replica", _text), Field("numaNodes", _numbers, "numa_nodes"),
    Field("health", text_form), Field("unresolved", text_form), Field("unit", text_form),
)  # fmt: skip
_memory = record(
    MemoryHeld, "HeldMemory",
    Field("kind", text_form), Field("numaNodes", many(whole_form), "numa_nodes"), Field("bytes", whole_form, "size"),
)  # fmt: skip
_PLACE = (
    Field("gpus", _ids), Field("numaNodes", _numbers, "numa_nodes"), Field("packages", _ids),
    Field("crossPackage", _flag, "cross_package"), Field("crossNuma", _flag, "cross_numa"), Field("weakest", _weakest),
)  # fmt: skip
_container = record(
    _Container, "HeldContainer",
    Field("namespace", _text), Field("pod", _text), Field("podUID", _text, "uid"), Field("container", _text),
    Field("kind", nullable(choice("init", "sidecar", "app"))), Field("kindBasis", text_form, "kind_basis"),
    Field("devices", many(_device)), *_PLACE[:3], Field("cpus", nullable(cpus)),
    Field("cpuPool", nullable(choice("exclusive", "shared")), "cpu_pool"),
    Field("cpuNumaNodes", _numbers, "cpu_numa_nodes"), Field("memoryNumaNodes", _numbers, "memory_numa_nodes"),
    Field("memory", nullable(many(_memory))), Field("pages", nullable(many(_memory))), *_PLACE[3:],
    Field("better", nullable(many(many(text_form)))), Field("betterReason", text_form, "better_reason"),
    Field("given", flag), Field("uses", _ids), Field("visibleDevices", _ids, "visible"),
    Field("sources", many(text_form)),
)  # fmt: skip
_owner = record(Owner, "PodOwner", Field("kind", text_form), Field("name", text_form), Field("uid", text_form))
_pod = record(
    _Pod, "HeldPod",
    Field("namespace", _text), Field("name", _text), Field("podUID", _text, "uid"), Field("phase", _text),
    Field("owners", many(_owner)), *_PLACE,
)  # fmt: skip
_job = record(
    _Job, "HeldJob",
    Field("kind", text_form), Field("namespace", _text), Field("name", text_form), Field("pods", many(text_form)),
    *_PLACE,
)  # fmt: skip
_rejected = record(
    _Rejected, "RejectedPod",
    Field("namespace", _text), Field("name", _text), Field("podUID", _text, "uid"), Field("reason", text_form),
    Field("message", text_form), Field("at", _text), Field("why", many(text_form)),
)  # fmt: skip
_earlier = record(
    model.Earlier, "EarlierHolding",
    Field("at", _text), Field("source", text_form), Field("namespace", _text), Field("pod", _text),
    Field("podUID", _text, "uid"), Field("container", _text), Field("devices", many(_device)), Field("gpus", _ids),
)  # fmt: skip
_FIELDS = (
    ("node", _text), ("sources", shape.sources), ("containers", many(_container)), ("pods", many(_pod)),
    ("owners", many(_job)), ("held", many(text_form)), ("free", _ids), ("policies", mapping(text_form)),
    ("fake", _text), ("past", flag), ("at", _text), ("earlier", many(_earlier)),
    ("rejected", many(_rejected)), ("findings", shape.findings),
    ("conflicts", shape.conflicts), ("unknown", shape.unknown), ("assumptions", shape.assumptions),
)  # fmt: skip


def encode(audit: Audit, findings: Sequence[Finding]) -> Document:
    held = audit.held
    values: dict[str, Any] = {
        "node": held.name, "sources": (*held.node.sources, *held.sources),
        "containers": [_of_container(one, audit) for one in held.containers],
        "pods": [_Pod(one.namespace, one.name, one.uid, one.phase, one.owners, *_place(one.placed))
                 for one in held.pods],
        "owners": [
            _Job(one.kind, one.namespace, one.name, tuple(held.pods[at].title for at in one.pods), *_place(one.placed))
            for one in held.owners
        ],
        "held": held.held, "free": held.free, "policies": held.policies, "fake": held.fake or None, "past": held.past,
        "at": held.at, "earlier": held.earlier,
        "rejected": [_Rejected(one.namespace, one.name, one.uid, *one.rejected, one.started, one.why)
                     for one in held.rejected if one.rejected],
        "findings": findings, "conflicts": held.conflicts, "unknown": held.unknown,
        "assumptions": (*held.assumptions, *held.node.assumptions),
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def encode_list(items: Sequence[Document]) -> Document:
    return {"apiVersion": shape.API_VERSION, "kind": LIST_KIND, "items": list(items)}


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a PodAudit and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)


def _place(placed: Placed) -> tuple[Any, ...]:
    weakest = placed.seen.weakest if placed.seen is not None else None
    return (placed.gpus, placed.numa_nodes, placed.packages, placed.cross_package, placed.cross_numa, weakest)


def _of_container(one: Container, audit: Audit) -> _Container:
    better, reason = better_of(one, audit)
    gpus, numa, packages, cross_package, cross_numa, weakest = _place(one.placed)
    memory = None if one.memory is None else tuple(
        sorted({number for block in one.memory if block.size for number in block.numa_nodes})
    )  # fmt: skip
    return _Container(
        one.namespace, one.pod, one.uid, one.name, one.kind, one.kind_basis, one.devices, gpus, numa, packages,
        one.cpus, one.pool, one.cpu_numa_nodes, memory, one.memory, one.pages, cross_package, cross_numa, weakest,
        better, reason, one.given, one.uses, one.visible, one.sources,
    )  # fmt: skip


def better_of(one: Container, audit: Audit) -> tuple[tuple[tuple[str, ...], ...] | None, str]:
    """(the better sets out of its own and free GPUs, why there is none)"""
    if one.placed.gpus is None:
        return None, "its GPUs, or their levels, are not in the evidence"
    if len(one.placed.gpus) < 2:
        return None, "one GPU: no pair" if one.placed.gpus else "it holds no GPU"
    found = audit.better(Unit("", one.placed, (one,)))
    if found is None:
        return None, "the evidence leaves open which set is nearer, or which GPUs are free"
    return (found, "") if found else (None, "no set of its own and the free GPUs is nearer")
