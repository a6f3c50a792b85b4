"""What `pods` says of a cluster, against what it was made to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from e2e.beside import FAKE_NODE, REJECTED
from e2e.objects import Cluster

Held = dict[tuple[str, str], frozenset[str]]


def held(items: Iterable[dict[str, Any]], cluster: Cluster) -> Held:
    """UUIDs of GPUs by namespace and pod, of pods that have any; a device of a claim is found by its name."""
    found: dict[tuple[str, str], set[str]] = {}
    for item in items:
        for one in item["containers"]:
            ids = [device["id"] for device in one["devices"]]
            found.setdefault((one["namespace"], one["pod"]), set()).update(cluster.names.get(id, id) for id in ids)
    return {pod: frozenset(gpus) for pod, gpus in found.items() if gpus}


def wrong(items: list[dict[str, Any]], cluster: Cluster) -> Iterator[str]:
    """Every pod whose GPUs are not those it was given, every node that is missing."""
    nodes = {item["node"] for item in items}
    yield from (f"node {name} is missing" for one in cluster.nodes if (name := one["metadata"]["name"]) not in nodes)
    right = {pod.key: frozenset(pod.gpus) for pod in cluster.pods if pod.gpus}
    ours = held(items, cluster)
    for key in sorted(right.keys() | ours.keys()):
        if right.get(key) != ours.get(key):
            yield f"{'/'.join(key)}: {sorted(ours.get(key, ()))}, was given {sorted(right.get(key, ()))}"
    if FAKE_NODE not in {item["node"] for item in items if item["fake"]}:
        yield f"node {FAKE_NODE} is not said to be fake"
    if REJECTED not in {(one["namespace"], one["name"]) for item in items for one in item["rejected"]}:
        yield f"pod {'/'.join(REJECTED)} is not among the rejected"
    conflicts = [conflict for item in items for conflict in item["conflicts"]]
    if conflicts:
        yield f"{len(conflicts)} conflicts, the first: {conflicts[0]}"
