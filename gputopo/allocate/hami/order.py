"""HAMi's order of the GPUs of a node; its search starts at the end of it.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/scheduler/policy/gpu_policy.go (Less, lessByChain,
gpuSortKeyChain, ComputeScore). Two things that surprise: the score holds what is *used* only, since the
request's type ("NVIDIA") is compared with the device's ("NVIDIA-NVIDIA H100 …") and counts when they are
equal; and equal GPUs keep the order of the register annotation, which HAMi's device plugin writes in the
order of a Go map, that is in any order (pkg/device-plugin/…/plugin/register.go, getAPIDevices).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.allocate.go_sort import go_sorted
from gputopo.allocate.hami.devices import Gpu
from gputopo.allocate.hami.request import Wanted

BINPACK, SPREAD, NUMA, MUTEX, TOPOLOGY = "binpack", "spread", "numa", "mutex", "topology-aware"
POLICIES = (BINPACK, SPREAD, TOPOLOGY, NUMA, MUTEX)
_CHAINED = (BINPACK, SPREAD, NUMA)

Key = tuple[float, ...]  # ascending; GPUs with equal keys are equal to the sort


class Policy(NamedTuple):
    """hami.io/gpu-scheduler-policy and what of the pod bears on the order."""

    text: str = SPREAD
    numa_bind: bool = False

    def has(self, name: str) -> bool:
        return any(part.strip() == name for part in self.text.split(","))


def ordered(gpus: Sequence[Gpu], policy: Policy, wanted: Wanted) -> list[Gpu]:
    """As sort.Sort leaves them: stable up to 12 GPUs."""
    keyed = [(key(gpu, policy, wanted), gpu) for gpu in gpus]
    return [gpu for _, gpu in go_sorted(keyed, lambda a, b: a[0] < b[0])]


def key(gpu: Gpu, policy: Policy, wanted: Wanted) -> Key:
    """A key that compares as `Less` does."""
    rising = score(gpu, wanted)
    if "," in policy.text or policy.text == NUMA:
        return _chained(gpu, policy, rising)
    if policy.text == MUTEX:
        return (-gpu.used, gpu.numa)
    binpack = policy.text == BINPACK
    if policy.numa_bind:
        return (-gpu.numa, rising) if binpack else (gpu.numa, -rising)
    return (rising, gpu.numa) if binpack else (-rising, gpu.numa)


def _chained(gpu: Gpu, policy: Policy, rising: float) -> Key:
    parts = [part.strip() for part in policy.text.split(",")]
    chain = list(dict.fromkeys(part for part in parts if part in _CHAINED)) or [SPREAD]
    if policy.numa_bind and chain[0] != NUMA:
        chain = [NUMA, *(part for part in chain if part != NUMA)]
    values = {BINPACK: rising, SPREAD: -rising, NUMA: float(gpu.numa)}
    return (*(values[part] for part in chain), float(gpu.number))


def score(gpu: Gpu, wanted: Wanted) -> float:
    """ComputeScore with the default weights (slot, core and memory 1), in float32 as upstream."""
    if not (gpu.slots and gpu.cores and gpu.memory):
        return 0.0
    same = gpu.type == wanted.type
    memory = wanted.memory_on(gpu, summed=True) if same else 0
    slots = _f32(_f32(gpu.used + (1 if same else 0)) / _f32(gpu.slots))
    cores = _f32(_f32(gpu.used_cores + (wanted.cores if same else 0)) / _f32(gpu.cores))
    filled = _f32(_f32(gpu.used_memory + memory) / _f32(gpu.memory))
    return _f32(10.0 * _f32(_f32(slots + cores) + filled))


def _f32(number: float) -> float:
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded
