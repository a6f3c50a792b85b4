"""GT411 gpu-in-two-pods

What it says
    Two pods hold one GPU, neither through a replica, a MIG device or a claim that both share.

Why it matters
    Both see all of its memory; one's out-of-memory or Xid ends the other.

What to do
    One of the sources is stale, or two allocators hand out the same GPUs (device plugin and DRA, HAMi, a container
    started by hand). Compare with kubectl get pods; keep one allocator a node.

When it is silent
    The pods share it on purpose: replicas, MIG devices, one ResourceClaim. An init container and its app container.

Example
    >>> from gputopo.rules.pods.example import audit
    >>> [found] = check(audit(("GPU0",), ("GPU0", "GPU1")))
    >>> found.message
    'GPU0 is held by ml/job0 and ml/job1'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.pods.model import Device, Pod
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit
from gputopo.rules.wording import listed

CODE = "GT411"
SEVERITY = "error"


def check(audit: Audit) -> Iterator[Finding]:
    holders: dict[str, dict[str, tuple[Pod, list[Device]]]] = {}
    for pod in audit.held.pods:
        for at in pod.containers:
            if not audit.held.containers[at].given:
                continue
            for device in audit.held.containers[at].devices:
                if device.is_gpu:
                    gpu = device.unit
                    holders.setdefault(gpu, {}).setdefault(pod.title, (pod, []))[1].append(device)
    for gpu, pods in holders.items():
        if len(pods) < 2 or _shared([devices for _, devices in pods.values()]):
            continue
        titles = list(pods)
        yield Finding(
            CODE,
            SEVERITY,
            (gpu, *titles),
            f"{gpu} is held by {listed(titles)}",
            matters="they share its memory and its faults without knowing of each other",
            because="a source is stale, or two allocators hand out the same GPU",
            remedy="kubectl get pods -o wide tells which of them live",
        )


def _shared(holders: list[list[Device]]) -> bool:
    """All through replicas or a scheduler's shares, all through MIG devices, or through one device of DRA."""
    if all(each.replica is not None or each.share for devices in holders for each in devices):
        return True
    if all(each.mig is not None for devices in holders for each in devices):
        return True
    claimed = [{each.id for each in devices if each.resource.startswith("claim:")} for devices in holders]
    return all(claimed) and bool(set.intersection(*claimed))
