"""A small node for the examples of these rules: two sockets of two GPUs, and a container that holds some."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.pods.model import Container, Device, Held, Pod
from gputopo.pods.placed import placed
from gputopo.rules.pods.audit import Audit
from gputopo.terms.path_level import PathLevel
from gputopo.topology.gpu_sets import Sight
from gputopo.topology.node import Gpu, NodeTopology, Pair


def node(nvlinks: int = 0) -> NodeTopology:
    """GPU0, GPU1 on socket 0, GPU2, GPU3 on socket 1; every pair with so many NVLinks."""
    gpus = tuple(Gpu(f"GPU{at}", packages=(f"PKG{at // 2}",), numa_nodes=(at // 2,)) for at in range(4))
    pairs = []
    for a in range(4):
        for b in range(a + 1, 4):
            near = a // 2 == b // 2
            level = PathLevel.PIX if near else PathLevel.SYS
            shown = f"NV{nvlinks}" if nvlinks else level.name
            pairs.append(Pair(f"GPU{a}", f"GPU{b}", shown, level, nvlinks=nvlinks, cross_package=not near,
                              cross_numa=not near))  # fmt: skip
    return NodeTopology(gpus=gpus, pairs=tuple(pairs))


def container(gpus: Sequence[str], on: NodeTopology, pod: str = "job", name: str = "main") -> Container:
    devices = tuple(Device("nvidia.com/gpu", gpu, gpu) for gpu in gpus)
    return Container("ml", pod, None, name, "app", "", devices, placed(devices, Sight(on)), None, "shared", None, None,
                     None, None, None, None, None, None, (), True, ("s1",))  # fmt: skip


def held(on: NodeTopology, *containers: Container) -> Held:
    taken = [gpu for one in containers for gpu in one.placed.gpus or ()]
    pods = tuple(Pod(one.namespace, one.pod, one.uid, (at,), one.placed, ()) for at, one in enumerate(containers))
    free = tuple(gpu.id for gpu in on.gpus if gpu.id not in taken)
    return Held("n", on, (), containers, pods, (), tuple(taken), free)


def audit(*sets: Sequence[str], nvlinks: int = 0) -> Audit:
    """Each set of GPUs held by a pod of its own: job0, job1, …"""
    on = node(nvlinks)
    return Audit(held(on, *(container(one, on, f"job{at}") for at, one in enumerate(sets))))
