"""A KubeletConfiguration and a Pod, as plain data, in the words of the simulator.

Upstream: k8s.io/kubelet/config/v1beta1 KubeletConfiguration. Only what decides about placement is read.

    >>> from gputopo.allocate.kubelet.releases import Release
    >>> read({"topologyManagerPolicy": "restricted", "kubeReserved": {"cpu": "500m"}}, Release(36)).reserved_count
    1
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gputopo.allocate.decider.asks import pod_spec
from gputopo.allocate.kubelet.pod import Container, Kind, Pod
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.startup import Settings
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.kube_object import (
    Body,
    KubeObject,
    WrongShape,
    boolean,
    integer,
    mapping,
    mappings,
    text,
    texts,
    type_name,
)
from gputopo.terms.quantity import quantity, value


def read(body: Body, release: Release) -> Settings:
    """Raises WrongShape where a field is not what the kubelet would decode."""
    gates = mapping(body, "featureGates")
    return Settings(
        release=release,
        policy=text(body, "topologyManagerPolicy") or "none",
        scope=text(body, "topologyManagerScope") or "container",
        options=texts(body, "topologyManagerPolicyOptions"),
        cpu_policy=text(body, "cpuManagerPolicy") or "none",
        cpu_options=texts(body, "cpuManagerPolicyOptions"),
        reserved_cpus=_cpus(text(body, "reservedSystemCPUs")),
        reserved_count=value(_reserved(body, "kubeReserved") + _reserved(body, "systemReserved")),
        memory_policy=text(body, "memoryManagerPolicy") or "None",
        reserved_memory=_memory(body),
        feature_gates={name: bool(boolean(gates, name, f"featureGates.{name}")) for name in gates},
    )


def _cpus(written: str) -> int:
    found = CpuSet.parse_list(written)
    if found is None:
        raise WrongShape(f"reservedSystemCPUs {written!r} is no list of CPUs")
    return found.mask


def _reserved(body: Body, field: str) -> Fraction:
    return amounts(mapping(body, field), field).get("cpu", Fraction(0))


def _memory(body: Body) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for number, one in enumerate(mappings(body, "reservedMemory")):
        path = f"reservedMemory[{number}]"
        node = integer(one, "numaNode", f"{path}.numaNode") or 0
        limits = amounts(mapping(one, "limits", f"{path}.limits"), f"{path}.limits")
        found.setdefault(node, {}).update({kind: value(size) for kind, size in limits.items()})
    return found


def amounts(body: Mapping[str, Any], path: str) -> dict[str, Fraction]:
    """Quantities by resource. Raises WrongShape for what is none."""
    found = {}
    for name, written in body.items():
        try:
            found[name] = quantity(written)
        except ValueError:
            raise WrongShape(f"{path}.{name} is {type_name(written)}, not a quantity") from None
    return found


def pod(manifest: KubeObject) -> Pod:
    """Of a Pod, or of the template of a workload. Raises WrongShape."""
    spec = pod_spec(manifest)
    containers = []
    for body in mappings(spec, "initContainers"):
        kind: Kind = "sidecar" if text(body, "restartPolicy") == "Always" else "init"
        containers.append(_container(body, kind, "initContainers"))
    containers += [_container(body, "app", "containers") for body in mappings(spec, "containers")]
    if not containers:
        raise WrongShape("the pod has no containers")
    qos = text(manifest.status, "qosClass") or None
    own = bool(mapping(spec, "resources"))
    return Pod(manifest.name or "pod", tuple(containers), own, qos)


def _container(body: Body, kind: Kind, where: str) -> Container:
    name = text(body, "name") or where
    resources = mapping(body, "resources", f"{where}.{name}.resources")
    limits, requests = (
        amounts(mapping(resources, part), f"{where}.{name}.resources.{part}") for part in ("limits", "requests")
    )
    return Container.of(name, limits, requests, kind)
