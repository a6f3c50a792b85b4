"""Why a kubelet with this configuration ends at its start, whatever the machine.

Upstream: cmd/kubelet/app/server.go (feature gates, kubeReserved, systemReserved, policy options),
pkg/kubelet/apis/config/validation, and the managers as in startup.py. Of the validation only what CPUs, memory and
NUMA nodes depend on. The kubelet stops at the first that it meets; here all are said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from gputopo.allocate.kubelet import feature_gates
from gputopo.allocate.kubelet.config_file import amounts
from gputopo.allocate.kubelet.machine import Cpu, CpuTopology, Machine
from gputopo.allocate.kubelet.startup import Refused, Settings, check_align_by_socket, cpu_options, topology_manager
from gputopo.terms.kube_object import WrongShape, mapping, mappings
from gputopo.terms.manifest import Path
from gputopo.terms.quantity import quantity

_MACHINE = Machine((0,), (), {0: (10,)})  # what is asked of it no machine fails
_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_SCOPES = ("container", "pod")
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")
_CPUS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_EVICTION = "100Mi"  # memory.available of eviction.DefaultEvictionHard on Linux


class Refusal(NamedTuple):
    """`elsewhere`: the command line or a drop-in file may say what is wanted. `other_release`: one takes it."""

    path: Path
    message: str
    remedy: str = ""
    elsewhere: bool = False
    other_release: bool = False


def as_decoded(body: dict[str, Any]) -> dict[str, Any]:
    """Go's view of reservedMemory: a null member is an empty one, 1.0 is a whole number."""
    members = body.get("reservedMemory")
    if not isinstance(members, list):
        return body
    decoded = [
        {key: int(value) if key == "numaNode" and isinstance(value, float) else value for key, value in one.items()}
        for one in (one or {} for one in members)
    ]
    return {**body, "reservedMemory": decoded}


def refusals(body: Mapping[str, Any], settings: Settings) -> Iterator[Refusal]:
    """`settings`: read of the same body."""
    yield from _gates(settings)
    yield from _words(settings)
    yield from _topology(settings)
    yield from _cpus(body, settings)
    for field in ("kubeReserved", "systemReserved"):
        yield from _reserved(dict(body), field)
    yield from _reserved_memory(dict(body))
    yield from _memory_policy(dict(body), settings)


def _gates(settings: Settings) -> Iterator[Refusal]:
    minor = settings.release.minor
    for name, value in settings.feature_gates.items():
        message = feature_gates.refusal(name, value, minor)
        if not message:
            continue
        everywhere = feature_gates.refused_everywhere(name, value)
        known = feature_gates.known_in(minor)
        remedy = "" if name in known else _nearest(name, known)
        yield Refusal(("featureGates", name), message, remedy, other_release=not everywhere)


def _nearest(name: str, known: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, 0.8)
    return near[0] if near else ""


def _words(settings: Settings) -> Iterator[Refusal]:
    said = "invalid configuration:"
    if settings.policy not in _POLICIES:
        listed = " ".join(f'"{one}"' for one in _POLICIES)
        yield Refusal(
            ("topologyManagerPolicy",),
            f'{said} topologyManagerPolicy (--topology-manager-policy) "{settings.policy}" must be one of: [{listed}]',
            _word(settings.policy, _POLICIES),
        )
    if settings.scope not in _SCOPES:
        yield Refusal(
            ("topologyManagerScope",),
            f'{said} topologyManagerScope (--topology-manager-scope) "{settings.scope}" must be one of: "container", '
            'or "pod"',
            _word(settings.scope, _SCOPES),
        )


def _word(written: str, known: tuple[str, ...]) -> str:
    """The known word that is meant, where case or a letter is all that differs."""
    return written.lower() if written.lower() in known else _nearest(written, list(known))


def _topology(settings: Settings) -> Iterator[Refusal]:
    path: Path = ("topologyManagerPolicyOptions",)
    if settings.options and not settings.feature_gates.get("TopologyManagerPolicyOptions", True):
        message = 'topology manager policy options require feature gates "TopologyManagerPolicyOptions" enabled'
        yield Refusal(path, message)
        return
    if settings.policy not in _POLICIES or settings.scope not in _SCOPES:
        settings = settings._replace(policy="best-effort", scope="container")  # said by _words
    try:
        topology_manager(settings, _MACHINE)
    except Refused as error:
        for message in error.messages:
            yield Refusal(_option(path, message, settings.options), message)


def _option(path: Path, message: str, options: Mapping[str, str]) -> Path:
    return next(((*path, name) for name in options if f'"{name}"' in message or f" {name} " in message), path)


def _cpus(body: Mapping[str, Any], settings: Settings) -> Iterator[Refusal]:
    path: Path = ("cpuManagerPolicy",)
    options: Path = ("cpuManagerPolicyOptions",)
    written = body.get("reservedSystemCPUs")
    if written and not _CPUS.fullmatch(written):
        message = f"invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) {written}"
        yield Refusal(("reservedSystemCPUs",), message, "a list such as 0-3,8")
    if written and (body.get("systemReservedCgroup") or body.get("kubeReservedCgroup")):
        yield Refusal(
            ("reservedSystemCPUs",),
            "invalid configuration: can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup "
            "(--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
        )
    if settings.cpu_policy not in ("none", "static"):
        yield Refusal(path, f'unknown policy: "{settings.cpu_policy}"', "none or static")
        return
    if settings.cpu_policy == "none":
        if settings.cpu_options:
            yield Refusal(options, "None policy: received unsupported options", "cpuManagerPolicy: static")
        return
    if not settings.reserved_cpus and not settings.reserved_count:
        message = "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
        yield Refusal(path, message, "systemReserved.cpu, kubeReserved.cpu or reservedSystemCPUs", elsewhere=True)
    if settings.cpu_options and not _cpu_options_gate(settings):
        gates = '"CPUManager", "CPUManagerPolicyOptions"'
        yield Refusal(options, f"CPU Manager policy options require feature gates {gates} enabled")
        return
    try:
        check_align_by_socket(settings, cpu_options(settings), CpuTopology((Cpu(0, 0, 0, 0, 0),)))
    except Refused as error:
        for message in error.messages:
            yield Refusal(_option(options, message, settings.cpu_options), message)


def _cpu_options_gate(settings: Settings) -> bool:
    gates = settings.feature_gates
    return gates.get("CPUManagerPolicyOptions", settings.release.minor >= 33 or gates.get("AllBeta", True))


def _reserved(body: dict[str, Any], field: str) -> Iterator[Refusal]:
    for name, number in amounts(mapping(body, field), field).items():
        flag = f"--{field.replace('R', '-r')} value failed to parse"
        if name not in _RESERVABLE:
            yield Refusal((field, name), f'{flag}: cannot reserve "{name}" resource', ", ".join(_RESERVABLE))
        elif number < 0:
            written = body[field][name]
            yield Refusal((field, name), f'{flag}: resource quantity for "{name}" cannot be negative: {written}')


def _reserved_memory(body: dict[str, Any]) -> Iterator[Refusal]:
    seen: set[tuple[int, str]] = set()
    for path, node, kind, number in _limits(body):
        said = "invalid configuration:"
        if kind != "memory" and not kind.startswith("hugepages-"):
            message = f'the limit type "{kind}" for NUMA node {node} is not supported, only [memory '
            yield Refusal(path, f"{said} {message}hugepages-<HugePageSize>] is accepted")
        if not number:
            message = f'reserved memory may not be zero for NUMA node {node} and resource "{kind}"'
            yield Refusal(path, f"{said} {message}")
        if (node, kind) in seen:
            message = f'the reserved memory has a duplicate value for NUMA node {node} and resource "{kind}"'
            yield Refusal(path, f"{said} {message}")
        seen.add((node, kind))


def _limits(body: dict[str, Any]) -> Iterator[tuple[Path, int, str, Fraction]]:
    for place, one in enumerate(mappings(body, "reservedMemory")):
        limits = amounts(mapping(one, "limits"), f"reservedMemory[{place}].limits")
        for kind, number in limits.items():
            yield ("reservedMemory", place, "limits", kind), int(one.get("numaNode") or 0), kind, number


def _memory_policy(body: dict[str, Any], settings: Settings) -> Iterator[Refusal]:
    path: Path = ("memoryManagerPolicy",)
    if settings.memory_policy not in ("None", "Static"):
        remedy = settings.memory_policy.capitalize()
        remedy = remedy if remedy in ("None", "Static") else "None or Static"
        yield Refusal(path, f'unknown policy: "{settings.memory_policy}"', remedy)
        return
    if settings.memory_policy != "Static":
        return
    reserved = sum((number for _, _, kind, number in _limits(body) if kind == "memory"), Fraction(0))
    if not reserved:
        message = "[memorymanager] you should specify the system reserved memory"
        yield Refusal(path, message, "reservedMemory", elsewhere=True)
        return
    wanted = _wanted_memory(body, settings.release.minor)
    if wanted is not None and wanted != reserved:
        message = (
            f'the total amount "{_bytes(reserved)}" of type "memory" is not equal to the value "{_bytes(wanted)}" '
            "determined by Node Allocatable feature"
        )
        remedy = "a total of kubeReserved.memory + systemReserved.memory + evictionHard.memory.available"
        yield Refusal(("reservedMemory",), message, remedy, elsewhere=True)


def _wanted_memory(body: dict[str, Any], minor: int) -> Fraction | None:
    """kubeReserved + systemReserved + evictionHard; None: a share of the machine's memory is in it."""
    hard = body.get("evictionHard")
    merged = bool(body.get("mergeDefaultEvictionSettings")) and minor >= 33
    eviction = _EVICTION if hard is None or merged else "0"
    if isinstance(hard, dict) and hard.get("memory.available") is not None:
        eviction = str(hard["memory.available"])
    if eviction in ("0%", "100%"):
        eviction = "0"  # such a threshold is ignored
    try:
        total = quantity(eviction)
        for field in ("kubeReserved", "systemReserved"):
            total += amounts(mapping(body, field), field).get("memory", Fraction(0))
    except (ValueError, WrongShape):
        return None
    return total


def _bytes(number: Fraction) -> str:
    """In the largest binary unit that divides it.

    >>> _bytes(Fraction(1124 * 2**20)), _bytes(Fraction(2**30))
    ('1124Mi', '1Gi')
    """
    for power, unit in ((3, "Gi"), (2, "Mi"), (1, "Ki")):
        if number and number % 1024**power == 0:
            return f"{number / 1024**power}{unit}"
    return str(number)
