"""Questions for the kubelet's merge, device hints and choice of devices: kinds merge, hints, allocate."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

POLICIES = ("best-effort", "restricted", "single-numa-node", "none")
MODES = ("first", "last", "off", "short", "empty", "outside", "error")
Question = dict[str, Any]


def merge(rng: Random, count: int) -> list[Question]:
    return [_merge(rng, f"merge-{number:05}") for number in range(count)]


def hints(rng: Random, count: int) -> list[Question]:
    questions = []
    for number in range(count):
        nodes = _nodes(rng)
        devices = _devices(rng, nodes)
        healthy = [name for name, one in devices.items() if one.get("healthy", True)]
        available = sorted(rng.sample(healthy, rng.randint(0, len(healthy))))
        rest = [name for name in devices if name not in available]
        reusable = sorted(rng.sample(rest, rng.randint(0, min(3, len(rest))))) if rng.random() < 0.35 else []
        questions.append({
            "id": f"hints-{number:05}", "kind": "hints", "nodes": nodes, "devices": devices, "available": available,
            "reusable": reusable, "request": _request(rng, len(devices)),
        })  # fmt: skip
    return questions


def allocate(rng: Random, count: int) -> list[Question]:
    questions = []
    for number in range(count):
        nodes = _nodes(rng)
        devices = _devices(rng, nodes)
        allocated = sorted(rng.sample(sorted(devices), rng.randint(0, len(devices) // 2)))
        healthy = [name for name in allocated if devices[name].get("healthy", True)]
        reusable = sorted(rng.sample(healthy, rng.randint(0, len(healthy)))) if rng.random() < 0.4 else []
        hint = {"nodes": _subset(rng, nodes), "preferred": rng.random() < 0.5} if rng.random() < 0.85 else None
        questions.append({
            "id": f"allocate-{number:05}", "kind": "allocate", "nodes": nodes, "devices": devices,
            "allocated": allocated, "reusable": reusable, "request": _request(rng, len(devices)), "hint": hint,
            "preferred_mode": rng.choice(MODES),
        })  # fmt: skip
    return questions


def _request(rng: Random, most: int) -> int:
    return rng.randint(1, max(1, most)) if rng.random() < 0.95 else rng.choice((0, most + 1))


def _nodes(rng: Random) -> list[int]:
    """NUMA ids; sometimes with gaps, as machines with nodes taken offline have."""
    count = rng.choice((1, 2, 2, 2, 3, 4, 4, 6, 8))
    return sorted(rng.sample(range(count + 4), count)) if rng.random() < 0.15 else list(range(count))


def _subset(rng: Random, nodes: list[int]) -> list[int]:
    return sorted(rng.sample(nodes, rng.randint(1, len(nodes))))


def _devices(rng: Random, nodes: list[int]) -> dict[str, dict[str, Any]]:
    count = rng.choice((1, 2, 3, 4, 6, 8, 8, 12, 16))
    shape = rng.choice(("even", "even", "one", "any", "any", "mixed", "none", "strange"))
    few = _subset(rng, nodes)
    devices = {}
    for number in range(count):
        one: Question = {"numa": _numa_of(rng, shape, number * len(few) // count, few, nodes)}
        if rng.random() < 0.06:
            one["healthy"] = False
        devices[f"d{number:02}"] = one
    return devices


def _numa_of(rng: Random, shape: str, share: int, few: list[int], nodes: list[int]) -> list[int] | None:
    if shape == "even":
        return [few[share]]
    if shape == "one":
        return [few[0]]
    if shape == "any":
        return [rng.choice(nodes)]
    if shape == "none":
        return None
    if shape == "mixed":
        return rng.choice((None, [], [rng.choice(nodes)], [rng.choice(nodes)], _subset(rng, nodes)))
    return [rng.choice(nodes)] if rng.random() < 0.8 else [max(nodes) + 1]  # a node cAdvisor does not know


def distances(rng: Random, nodes: list[int]) -> dict[str, list[int]]:
    """A row for each node, indexed by NUMA id."""
    width = max(nodes) + 1
    ids = range(width)
    table = [[10 if a == b else rng.choice((11, 12, 16, 16, 20, 21, 28, 32)) for b in ids] for a in ids]
    if rng.random() < 0.7:
        table = [[table[min(a, b)][max(a, b)] for b in ids] for a in ids]
    return {str(node): table[node] for node in nodes}


def _merge(rng: Random, name: str) -> Question:
    nodes = _nodes(rng)
    options = {}
    if rng.random() < 0.4:
        options["prefer-closest-numa-nodes"] = rng.choice(("true", "true", "false"))
    return {
        "id": name, "kind": "merge", "nodes": nodes, "distances": distances(rng, nodes),
        "policy": rng.choice(POLICIES[:3]) if rng.random() < 0.97 else "none", "options": options,
        "providers": [_provider(rng, nodes, names) for names in (
            ("nvidia.com/gpu", "rdma/hca", "intel.com/sriov"), ("cpu",), ("memory", "hugepages-2Mi"))],
    }  # fmt: skip


def _provider(rng: Random, nodes: list[int], names: tuple[str, ...]) -> dict[str, Any] | None:
    if rng.random() < 0.2:
        return None
    # Four resources with all 255 masks each would be 4 thousand million permutations.
    most = 2 if len(nodes) > 4 else len(names)
    chosen = rng.sample(names, rng.randint(0 if rng.random() < 0.05 else 1, min(most, len(names))))
    return {name: _hint_list(rng, nodes) for name in sorted(chosen)}


def _hint_list(rng: Random, nodes: list[int]) -> list[dict[str, Any]] | None:
    kind = rng.random()
    if kind < 0.08:
        return None
    if kind < 0.14:
        return []
    masks = [list(mask) for size in range(1, len(nodes) + 1) for mask in combinations(nodes, size)]
    if kind < 0.6:  # as the managers make them: every mask that is large enough, the smallest preferred
        least = rng.randint(1, len(nodes))
        possible = [mask for mask in masks if rng.random() < 0.75 and len(mask) >= least]
        smallest = least if rng.random() < 0.8 else 1
        found = [{"nodes": mask, "preferred": len(mask) == smallest} for mask in possible]
    else:
        found = [{"nodes": mask, "preferred": rng.random() < 0.4} for mask in masks if rng.random() < 0.4]
        if rng.random() < 0.1:
            found.append({"nodes": None, "preferred": rng.random() < 0.5})
    return rng.sample(found, 12) if len(found) > 12 else found
