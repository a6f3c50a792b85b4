"""What `pods` says of a cluster, against what it was made to hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from e2e.objects import Cluster

Held = dict[tuple[str, str], frozenset[str]]


def held(items: Iterable[dict[str, Any]], cluster: Cluster) -> Held:
    """UUIDs of GPUs by namespace and pod, of pods that have any."""
    found: dict[tuple[str, str], set[str]] = {}
    for item in items:
        uuids = _by_name(item)
        for one in item["containers"]:
            for device in one["devices"]:
                names = (device["mig"], device["gpu"], device["id"])
                known = next((uuids.get(name, cluster.names.get(name, name)) for name in names if name), "?")
                found.setdefault((one["namespace"], one["pod"]), set()).add(known)
    return {pod: frozenset(gpus) for pod, gpus in found.items()}


def _by_name(item: dict[str, Any]) -> dict[str, str]:
    """GPUs of a node may be called by their index; then a list of them says their UUIDs."""
    return {gpu["id"]: gpu["uuid"] for gpu in item.get("gpus", ()) if gpu.get("uuid")}


def wrong(items: list[dict[str, Any]], cluster: Cluster) -> Iterator[str]:
    """Every pod whose GPUs are not those it was given, every node that is missing."""
    nodes = {item["node"] for item in items}
    yield from (f"node {name} is missing" for one in cluster.nodes if (name := one["metadata"]["name"]) not in nodes)
    right = {pod.key: frozenset(pod.gpus) for pod in cluster.pods if pod.gpus}
    ours = held(items, cluster)
    for key in sorted(right.keys() | ours.keys()):
        if right.get(key) != ours.get(key):
            yield f"{'/'.join(key)}: {sorted(ours.get(key, ()))}, was given {sorted(right.get(key, ()))}"
    conflicts = [conflict for item in items for conflict in item["conflicts"]]
    if conflicts:
        yield f"{len(conflicts)} conflicts, the first: {conflicts[0]}"
