"""Kind `kubelet-admit`: pods through all four managers, step by step.

A recorded step must be one of our results; where the recording is the deterministic one it must be the only
one. Of our states those are followed that can have answered as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.allocate.kubelet import admission
from gputopo.allocate.kubelet.admission import Given, Result
from gputopo.allocate.kubelet.device_hints import Devices
from gputopo.allocate.kubelet.device_manager import Resource
from gputopo.allocate.kubelet.machine import Cpu, Machine
from gputopo.allocate.kubelet.numa_mask import bits
from gputopo.allocate.kubelet.pod import Container, Pod
from gputopo.allocate.kubelet.releases import DEFAULT, Release, parse
from gputopo.allocate.kubelet.startup import Refused, Settings, kubelet
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.quantity import quantity
from tests.replay_kinds.kubelet_allocate import shown as shown_call
from tests.replay_kinds.kubelet_allocate import stub
from tests.replay_kinds.kubelet_hints import devices
from tests.replay_kinds.kubelet_merge import shown as shown_hint
from tests.replay_kinds.kubelet_rows import KubeletCase, rows

COMPARED = frozenset({"steps", "start_error"})
IGNORED: dict[str, str] = {}
STEP_COMPARED = frozenset({"admit", "reason", "message", "containers", "preferred_calls"})
STEP_IGNORED = {"op": "of the question", "uid": "of the question"}
_MIB = 1 << 20


class Answered(NamedTuple):
    start_errors: tuple[str, ...]
    differences: list[str]
    several: bool  # at some step more than one result was possible


def cases(path: Path) -> Iterator[KubeletCase]:
    return rows(path)


def answer(case: KubeletCase) -> Answered:
    row = case.row
    resources = {
        name: Resource(devices(one["devices"]), stub(one["preferred"])) for name, one in row["resources"].items()
    }
    try:
        made, state = kubelet(settings(row), machine(row), resources)
    except Refused as refused:
        return Answered(refused.messages, [], False)
    differences: list[str] = []
    states = {state}
    several = False
    for number, step in enumerate(row["steps"]):
        if "steps" not in case.expected:
            break
        if step["op"] == "del":
            states = {admission.removed(one, step["uid"]) for one in states}
            continue
        recorded = case.expected["steps"][number]
        strange = recorded.keys() - STEP_COMPARED - STEP_IGNORED.keys()
        differences += [f"step {number}: unknown key {key}" for key in sorted(strange)]
        pod = read_pod(step)
        ends = [end for one in states for end in admission.admit(made, one, pod)]
        results = {end.result for end in ends}
        several = several or len(results) > 1
        if case.exact and len(results) != 1:
            differences.append(f"step {number}: {len(results)} results are possible to us, one is")
        like = [end for end in ends if not step_differences(recorded, end.result, resources)]
        if not like:
            nearest = min((step_differences(recorded, one, resources) for one in results), key=len)
            differences += [f"step {number}: {text}" for text in nearest]
            break
        states = {end.state for end in like}
    if not case.exact and not several:
        differences.append("only one course is possible to us, but runs of the real code differed")
    return Answered((), differences, several)


def compare(expected: dict[str, Any], got: Answered) -> list[str]:
    if "start_error" in expected:
        named = {f"{manager}manager: {text}" for manager in ("topology", "cpu", "memory") for text in got.start_errors}
        return [] if expected["start_error"] in named else [f"start_error: {expected['start_error']}, ours {named}"]
    return [f"start_error: none recorded, ours {got.start_errors}"] if got.start_errors else got.differences


def step_differences(recorded: dict[str, Any], result: Result, resources: dict[str, Resource]) -> list[str]:
    calls = [{"resource": call.resource, **shown_call(call)} for call in result.calls]
    found: dict[str, Any] = {"admit": result.admit, "preferred_calls": _ordered(calls)}
    if result.admit:
        found["containers"] = {
            name: shown_container(one, {name: one.devices for name, one in resources.items()})
            for name, one in result.containers.items()
        }
    else:
        found |= {"reason": result.reason, "message": result.message}
    wanted = {key: value for key, value in recorded.items() if key in STEP_COMPARED}
    wanted["preferred_calls"] = _ordered(wanted.get("preferred_calls", []))
    return [
        f"{key}: {wanted.get(key)} recorded, {found.get(key)} ours" for key in sorted(wanted.keys() | found.keys())
        if wanted.get(key) != found.get(key)
    ]  # fmt: skip


def _ordered(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(calls, key=lambda call: (call["resource"], call["size"], call["available"], call["must_include"]))


def shown_container(given: Given, of: dict[str, Devices]) -> dict[str, Any]:
    by_numa: dict[str, dict[str, list[str]]] = {}
    for resource, ids in given.devices.items():
        for id in sorted(ids):
            for node in of[resource][id].numa or (-1,):
                by_numa.setdefault(resource, {}).setdefault(str(node), []).append(id)
    return {
        "hint": shown_hint(given.hint),
        "devices": by_numa,
        "cpus": str(CpuSet(given.cpus)),
        "cpu_affinity": str(CpuSet(given.cpus or given.shared)),
        "memory": [
            {"type": block.kind, "size": block.size, "numa": list(bits(block.mask))} for block in given.blocks
        ],
    }  # fmt: skip


def settings(row: dict[str, Any]) -> Settings:
    reserved = CpuSet.parse_list(row["reserved_cpus"])
    assert reserved is not None
    kib = row["mem_reserved_mib_per_numa"] * _MIB
    return Settings(
        release(row), row["policy"], row["scope"], row["options"], row["cpu_policy"], row["cpu_options"],
        reserved.mask, 0, row["mem_policy"], {node: {"memory": kib} for node in machine(row).numa_ids},
        row.get("feature_gates", {}),
    )  # fmt: skip


def machine(row: dict[str, Any]) -> Machine:
    """Cores are numbered across NUMA nodes; thread t of core c is CPU c + t x cores."""
    of = row["machine"]
    with_cpus = of["sockets"] * of["numa_per_socket"]
    cores = with_cpus * of["cores_per_numa"]
    cache = of.get("cores_per_uncore_cache")
    cpus = tuple(
        Cpu(core + thread * cores, node, node // of["numa_per_socket"], core, core // cache if cache else None)
        for core in range(cores)
        for node in (core // of["cores_per_numa"],)
        for thread in range(of["threads"])
    )
    ids = tuple(range(with_cpus + of.get("cpuless_nodes", 0)))
    huge = of.get("hugepages_per_numa", {}).items()
    pages = {f"hugepages-{size}": int(quantity(size)) * count for size, count in huge}
    memory = {node: {"memory": of["mem_mib_per_numa"] * _MIB, **pages} for node in ids}
    distances = {node: tuple(line) for node, line in zip(ids, of["distances"])}
    return Machine(ids, cpus, distances, memory)


def release(row: dict[str, Any]) -> Release:
    """Of fresh questions; the recorded cases name none."""
    return parse(row.get("release", "")) or Release(DEFAULT)


def read_pod(step: dict[str, Any]) -> Pod:
    containers = [
        Container.of(one["name"], _amounts(one["limits"]), _amounts(one.get("requests", {})), one["kind"])
        for one in step["containers"]
    ]
    return Pod(step["uid"], (
        *(one for one in containers if one.kind != "app"), *(one for one in containers if one.kind == "app"),
    ))  # fmt: skip


def _amounts(texts: dict[str, str]) -> dict[str, Fraction]:
    return {name: quantity(text) for name, text in texts.items()}
