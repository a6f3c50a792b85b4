"""Containers that ask for GPUs while no source says which they got.

Before 1.36 a Pod object names no device (allocatedResourcesStatus is off), so that a list of pods alone says how many
GPUs a container has and not which.

    >>> gpus_asked((("nvidia.com/gpu", 2), ("rdma/hca_shared_devices_a", 1), ("aliyun.com/gpu-mem", 8)))
    2
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.pods.model import Container
from gputopo.topology.node import NoteUnknown

# Resources that are counted in devices or parts of one, not in memory or cores.
_GPUS = re.compile(r"[^/]+/(?:p?gpu(?:\.shared)?|mig-[^/]+|vgpu-number)\Z")
_SHOWN = 20
_SLURM = "slurm"  # parsers/slurm_job.py


def gpus_asked(requests: Sequence[tuple[str, int]]) -> int:
    return sum(count for resource, count in requests if _GPUS.match(resource))


def unsaid(containers: Sequence[Container]) -> tuple[Container, ...]:
    """Those that ask for GPUs and of which no source names a device."""
    return tuple(
        one for one in containers if not any(each.is_gpu for each in one.devices) and gpus_asked(one.requests)
    )  # fmt: skip


def notes(containers: Sequence[Container]) -> tuple[NoteUnknown, ...]:
    """What is not known of them; those with a claim apart. Of Slurm's jobs the parser says it."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in unsaid(containers):
        if one.namespace == _SLURM and not one.uid:
            continue
        found.setdefault(_why(one), []).append(one.title)
    return tuple(NoteUnknown(tuple(titles[:_SHOWN]), "gpu", *why) for why, titles in found.items())


def _why(one: Container) -> tuple[str, str]:
    if one.claims:
        names = ", ".join(dict.fromkeys(one.claims))
        return f"its claim {names} is not among the sources, or not allocated", "kubectl get resourceclaims -A -o json"
    return (
        "it asks for GPUs, and no source says which it got: Pod objects do from Kubernetes 1.36 on",
        "the kubelet's podresources socket, or its kubelet_internal_checkpoint",
    )
