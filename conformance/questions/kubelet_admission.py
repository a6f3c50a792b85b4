"""Questions for the whole admission: a machine, a kubelet configuration, and pods that come and go."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.questions.kubelet_devices import MODES, POLICIES

FEW_RUNS, MANY_RUNS = 2, 120  # many: fewer would miss now and then that an answer varies
ALPHA_CPU = "CPUManagerPolicyAlphaOptions"
Question = dict[str, Any]

# sockets, NUMA nodes of each, cores of each node, threads of each core
_MACHINES = (
    (1, 1, 4, 2), (1, 1, 8, 1), (2, 1, 4, 2), (2, 1, 4, 2), (2, 1, 8, 2), (2, 1, 6, 1), (2, 2, 4, 2), (2, 2, 2, 2),
    (1, 2, 4, 2), (1, 4, 2, 2), (2, 4, 2, 2), (4, 1, 2, 2), (2, 3, 2, 2),
)  # fmt: skip
_CPU_OPTIONS: tuple[dict[str, str], ...] = (
    {}, {}, {}, {"full-pcpus-only": "true"}, {"distribute-cpus-across-numa": "true"},
    {"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
    {"align-by-socket": "true"}, {"align-by-socket": "true"}, {"align-by-socket": "true", "full-pcpus-only": "true"},
    *({"align-by-socket": "true", "distribute-cpus-across-numa": "true"},) * 2,  # 1.37 changed what they do together
    {"strict-cpu-reservation": "true"}, {"strict-cpu-reservation": "true", "full-pcpus-only": "true"},
    {"strict-cpu-reservation": "true", "distribute-cpus-across-numa": "true"},
    {"distribute-cpus-across-cores": "true"}, {"full-pcpus-only": "false"},
    {"full-pcpus-only": "true", "distribute-cpus-across-cores": "true"},  # refused
)  # fmt: skip
_UNCORE = "prefer-align-cpus-by-uncorecache"
_UNCORE_OPTIONS = (
    {_UNCORE: "true"}, {_UNCORE: "true", "full-pcpus-only": "true"}, {_UNCORE: "true", "align-by-socket": "true"},
    {_UNCORE: "true", "distribute-cpus-across-numa": "true"},  # refused
)  # fmt: skip
_HUGE = {"2Mi": ("2Mi", "512Mi", "3Gi"), "1Gi": ("1Gi", "2Gi", "5Gi")}
_MEMORY = ("1Gi", "2Gi", "4Gi", "4Gi", "8Gi", "12Gi", "16Gi", "20Gi", "40Gi", "1500Mi")


def admit(rng: Random, count: int) -> list[Question]:
    return [_admission(rng, f"admit-{number:05}") for number in range(count)]


def _admission(rng: Random, name: str) -> Question:
    machine = _machine(rng)
    resources = _resources(rng, machine)
    options = dict(rng.choice(_UNCORE_OPTIONS if "cores_per_uncore_cache" in machine else _CPU_OPTIONS))
    if rng.random() < 0.02:
        options = {rng.choice(("align-by-sockets", "x")): "true"}
    policy = rng.choice(POLICIES)
    question: Question = {
        "id": name, "kind": "admit", "note": "", "machine": machine, "resources": resources,
        "cpu_policy": "static" if rng.random() < 0.8 else "none", "cpu_options": {},
        "reserved_cpus": _reserved(rng, machine),
        "mem_policy": "Static" if _pins_memory(rng, machine) else "None",
        "mem_reserved_mib_per_numa": rng.choice((512, 1024)),
        "policy": policy, "scope": rng.choice(("container", "container", "pod")),
        "options": _topology_options(rng),
    }  # fmt: skip
    if question["cpu_policy"] == "static":
        question["cpu_options"] = options
        if not options.keys().isdisjoint({"align-by-socket", "distribute-cpus-across-cores"}) and rng.random() < 0.97:
            question["feature_gates"] = {ALPHA_CPU: True}
    question["steps"] = _steps(rng, machine, resources)
    question["runs"] = MANY_RUNS if _order_may_matter(question) else FEW_RUNS
    return question


def _topology_options(rng: Random) -> dict[str, str]:
    options = {}
    if rng.random() < 0.3:
        options["prefer-closest-numa-nodes"] = rng.choice(("true", "true", "false"))
    if rng.random() < 0.03:
        options["max-allowable-numa-nodes"] = rng.choice(("8", "9", "7", "16", "many"))
    return options


def _machine(rng: Random) -> Question:
    sockets, per_socket, cores, threads = rng.choice(_MACHINES)
    count = sockets * per_socket
    machine: Question = {
        "sockets": sockets, "numa_per_socket": per_socket, "cores_per_numa": cores, "threads": threads,
        "mem_mib_per_numa": rng.choice((16384, 32768, 65536)),
    }  # fmt: skip
    if rng.random() < 0.04:
        machine["cpuless_nodes"] = rng.choice((1, 2, 9 - count if count < 9 else 1))
        count += machine["cpuless_nodes"]
    if rng.random() < 0.2 and not _many_nodes(machine):
        machine["hugepages_per_numa"] = rng.choice(({"2Mi": 1024}, {"1Gi": 4}, {"2Mi": 2048, "1Gi": 2}, {"1Gi": 8}))
    if rng.random() < 0.12:
        machine["cores_per_uncore_cache"] = 3 if cores == 6 else rng.choice((2, 4) if cores > 2 else (2,))
    near, far = rng.choice(((12, 21), (11, 32), (16, 28), (10, 10)))
    machine["distances"] = [
        [10 if a == b else near if a // per_socket == b // per_socket else far for b in range(count)]
        for a in range(count)
    ]
    return machine


def _many_nodes(machine: Question) -> bool:
    """Upstream merges every permutation of every list of hints, and a list can have 2^nodes: too slow for runs."""
    return int(machine["sockets"] * machine["numa_per_socket"]) + int(machine.get("cpuless_nodes", 0)) > 4


def _pins_memory(rng: Random, machine: Question) -> bool:
    return not _many_nodes(machine) and ("hugepages_per_numa" in machine or rng.random() < 0.4)


def _reserved(rng: Random, machine: Question) -> str:
    cores = machine["sockets"] * machine["numa_per_socket"] * machine["cores_per_numa"]
    choices = ["0", "0", "0-1", f"0,{cores // 2}", str(cores - 1)]
    if machine["threads"] == 2:
        choices += [f"0,{cores}", f"0,{cores}", f"0-1,{cores}-{cores + 1}"]
    return rng.choice(choices)


def _resources(rng: Random, machine: Question) -> dict[str, Question]:
    nodes = machine["sockets"] * machine["numa_per_socket"]
    modes = MODES[:2] if _many_nodes(machine) or rng.random() < 0.5 else MODES
    both = rng.random() < 0.2 and not _many_nodes(machine)
    resources = {"nvidia.com/gpu": _resource(rng, nodes, "GPU-", rng.choice(modes), both)}
    if both:
        resources["rdma/hca"] = _resource(rng, nodes, "mlx5_", rng.choice(modes), both)
    return resources


def _resource(rng: Random, nodes: int, prefix: str, mode: str, both: bool) -> Question:
    """Few devices where any of them may be taken: over some pods the possible states are their permutations."""
    chosen = mode in ("first", "last", "error")
    count = rng.choice((2, 4, 4, 8, 8) if chosen else (2, 4, 4) if both else (2, 4, 4, 6))
    shape = rng.choice(("even", "even", "even", "one", "any", "none", "two"))
    only = rng.randrange(nodes)
    devices: dict[str, Question] = {}
    for number in range(count):
        node = {"even": number * nodes // count, "one": only}.get(shape, rng.randrange(nodes))
        devices[f"{prefix}{number}"] = {"numa": None if shape == "none" else [node]}
        if shape == "two" and nodes > 1 and rng.random() < 0.4:
            devices[f"{prefix}{number}"]["numa"] = sorted({node, (node + 1) % nodes})
        if rng.random() < 0.04:
            devices[f"{prefix}{number}"]["healthy"] = False
    return {"preferred": mode, "devices": devices}


def _steps(rng: Random, machine: Question, resources: dict[str, Question]) -> list[Question]:
    steps: list[Question] = []
    there: list[str] = []
    for number in range(rng.randint(1, 6)):
        if there and rng.random() < 0.25:
            steps.append({"op": "del", "uid": there.pop(rng.randrange(len(there)))})
            continue
        uid = f"p{number}"
        steps.append({"op": "add", "uid": uid, "containers": _containers(rng, machine, resources)})
        there.append(uid)
    return steps


def _containers(rng: Random, machine: Question, resources: dict[str, Question]) -> list[Question]:
    kinds = ["app"] * rng.choice((1, 1, 1, 2, 2, 3))
    if rng.random() < 0.2:
        early = ("sidecar",) if _many_nodes(machine) else ("init", "init", "sidecar")
        kinds = [rng.choice(early) for _ in range(rng.randint(1, 2))] + kinds
    guaranteed = rng.random() < 0.8
    return [_container(rng, f"c{number}", kind, guaranteed, machine, resources) for number, kind in enumerate(kinds)]


def _container(
    rng: Random, name: str, kind: str, guaranteed: bool, machine: Question, resources: dict[str, Question]
) -> Question:
    cpus = machine["sockets"] * machine["numa_per_socket"] * machine["cores_per_numa"] * machine["threads"]
    limits = {"cpu": _cpu(rng, cpus), "memory": rng.choice(_MEMORY)}
    for resource, one in resources.items():
        if rng.random() < 0.65:
            limits[resource] = str(rng.choice((1, 1, 2, 2, 3, 4, len(one["devices"]))))
    for size in machine.get("hugepages_per_numa", ()):
        if rng.random() < 0.5:
            limits[f"hugepages-{size}"] = rng.choice(_HUGE[size])
    container: Question = {"name": name, "kind": kind, "limits": limits}
    if not guaranteed:
        if rng.random() < 0.3:
            del limits["memory"], limits["cpu"]
        else:
            container["requests"] = {**limits, "cpu": "100m"}
    return container


def _cpu(rng: Random, cpus: int) -> str:
    if rng.random() < 0.12:
        return rng.choice(("500m", "1500m", "2500m"))
    return str(rng.choice((1, 1, 2, 2, 3, 4, 4, 5, 6, 8, cpus // 4 or 1, cpus // 2, cpus - 2 or 1)))


def _order_may_matter(question: Question) -> bool:
    """Whether Go's map order can show: a plugin that does not choose, devices taken over, two device resources."""
    resources = question["resources"].values()
    if len(resources) > 1 or any(one["preferred"] not in ("first", "last") for one in resources):
        return True
    kinds = {container["kind"] for step in question["steps"] for container in step.get("containers", ())}
    return "init" in kinds
