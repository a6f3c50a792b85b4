"""How findings speak of a set: by socket, and which sets would be better."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.rules.jobs.diagnosis import Diagnosis


def sides(diagnosis: Diagnosis, gpus: Sequence[str]) -> str:
    """`GPU0 GPU1 | GPU4`: the set by socket, by NUMA node where sockets are not known."""
    parts: dict[object, list[str]] = {}
    for id in gpus:
        gpu = diagnosis.gpu(id)
        place = (gpu.packages or gpu.numa_nodes) if gpu is not None else None
        parts.setdefault(place, []).append(id)
    return " | ".join(" ".join(part) for part in parts.values())


def better_sets(diagnosis: Diagnosis, gpus: Sequence[str], most: int = 3) -> str:
    """`{GPU0 GPU1} or {GPU2 GPU3}`; empty where none is better."""
    found = diagnosis.better(gpus)
    text = " or ".join("{" + " ".join(one) + "}" for one in found[:most])
    return text + (f" or {len(found) - most} more" if len(found) > most else "")
