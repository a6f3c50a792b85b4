"""Machines, pods and kubelets in a line: what the tests of the kubelet are made of."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gputopo.allocate.kubelet.admission import Kubelet, Result, State, Traced, admit
from gputopo.allocate.kubelet.device_choice import Plugin
from gputopo.allocate.kubelet.device_hints import Device
from gputopo.allocate.kubelet.device_manager import Resource
from gputopo.allocate.kubelet.machine import Cpu, Machine
from gputopo.allocate.kubelet.pod import Container, Kind, Pod
from gputopo.allocate.kubelet.releases import DEFAULT, Release
from gputopo.allocate.kubelet.startup import Settings, kubelet
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.quantity import quantity

GPU = "nvidia.com/gpu"
GIB = 1 << 30


def cpus(sockets: int, numa_of_socket: int, cores_of_numa: int, threads: int, cores_of_l3: int = 2) -> tuple[Cpu, ...]:
    """Cores are numbered across NUMA nodes; thread t of core c is c + t x cores."""
    cores = sockets * numa_of_socket * cores_of_numa
    return tuple(
        Cpu(core + thread * cores, numa, numa // numa_of_socket, core, core // cores_of_l3)
        for core in range(cores)
        for numa in (core // cores_of_numa,)
        for thread in range(threads)
    )


def machine(
    sockets: int = 2, numa_of_socket: int = 1, cores: int = 56, threads: int = 2, gib: int = 1024
) -> Machine:  # fmt: skip
    """As the oracle's default: two sockets of one NUMA node each, 112 CPUs per node."""
    nodes = range(sockets * numa_of_socket)
    distances = {
        one: tuple(10 if one == two else 12 if one // numa_of_socket == two // numa_of_socket else 32 for two in nodes)
        for one in nodes
    }
    memory = {node: {"memory": gib * GIB} for node in nodes}
    return Machine(tuple(nodes), cpus(sockets, numa_of_socket, cores, threads), distances, memory)


def gpus(*numa: int | None) -> dict[str, Device]:
    """GPU0, GPU1 … on these NUMA nodes; None: no topology."""
    return {f"GPU{at}": Device(None if node is None else (node,)) for at, node in enumerate(numa)}


def lowest_first(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
    return [frozenset([*sorted(must), *sorted(available - must)][:size])]


def container(name: str = "c", kind: Kind = "app", requests: Mapping[str, str] = {}, **limits: str | int) -> Container:
    """`gpu=4, cpu=16, memory="64Gi"`; other resources by their name through `**{}`."""
    names = {"gpu": GPU}
    return Container.of(
        name,
        {names.get(key, key): quantity(value) for key, value in limits.items()},
        {key: quantity(value) for key, value in requests.items()},
        kind,
    )


def pod(uid: str, *containers: Container) -> Pod:
    return Pod(uid, containers)


def started(
    policy: str = "best-effort", scope: str = "container", *, on: Machine | None = None,
    devices: Mapping[str, Device] | None = None, plugin: Plugin | None = lowest_first, others: Mapping[str, Any] = {},
    **settings: Any,
) -> tuple[Kubelet, State]:  # fmt: skip
    """A kubelet with eight GPUs, four on each of two NUMA nodes, static CPU manager, one core reserved."""
    made = on or machine()
    default: dict[str, Any] = {
        "cpu_policy": "static",
        "reserved_cpus": _first_core(made),
        "reserved_memory": {node: {"memory": GIB} for node in made.numa_ids},
    }
    resources = {GPU: Resource(gpus(0, 0, 0, 0, 1, 1, 1, 1) if devices is None else devices, plugin), **others}
    return kubelet(Settings(Release(DEFAULT), policy, scope, **{**default, **settings}), made, resources)


def _first_core(made: Machine) -> int:
    mask = 0
    for cpu in made.cpus:
        if cpu.core == 0:
            mask |= 1 << cpu.id
    return mask


def only(ends: list[Traced]) -> Traced:
    assert len({end.result for end in ends}) == 1, [end.result for end in ends]
    return ends[0]


def result(kubelet_and_state: tuple[Kubelet, State], asked: Pod) -> Result:
    """The one result of admitting a pod on the fresh machine."""
    return only(admit(*kubelet_and_state, asked)).result


def hint_nodes(got: Result, name: str = "c") -> tuple[list[int] | None, bool]:
    hint = got.containers[name].hint
    return (None if hint.mask is None else list(CpuSet(hint.mask)), hint.preferred)


def cpu_text(got: Result, name: str = "c") -> str:
    return str(CpuSet(got.containers[name].cpus))


def devices_of(got: Result, name: str = "c", resource: str = GPU) -> list[str]:
    return sorted(got.containers[name].devices[resource])


def amount(text: str) -> Fraction:
    return quantity(text)
