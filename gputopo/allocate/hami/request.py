"""What a container asks of HAMi, with the defaults that its webhook and scheduler fill in.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device/nvidia/device.go (MutateAdmission,
defaultExclusiveCoreIfNeeded, GenerateResourceRequests, CheckType, CheckUUID) and charts/hami/values.yaml
for the names of resources and the defaults (memory, cores: 0; memory factor 1; GPUs: 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from gputopo.allocate.decider.asks import Container
from gputopo.allocate.hami.devices import Gpu, parse_bool
from gputopo.errors import GputopoError

COUNT, MEMORY, PERCENT, CORES = (
    "nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores",
)  # fmt: skip
POLICY = "hami.io/gpu-scheduler-policy"
NUMA_BIND = "nvidia.com/numa-bind"
USE_TYPE, NO_TYPE = "nvidia.com/use-gputype", "nvidia.com/nouse-gputype"
USE_UUID, NO_UUID = "nvidia.com/use-gpuuuid", "nvidia.com/nouse-gpuuuid"
MODE = "nvidia.com/vgpu-mode"
_UNSET = 101  # upstream's word for "no percentage"
_LARGEST = 2**31 - 1


class Wanted(NamedTuple):
    """memory in MiB (0: none said), percent of a GPU's memory (101: none said), cores in percent."""

    number: int
    memory: int = 0
    percent: int = 100
    cores: int = 100
    type: str = "NVIDIA"

    def memory_on(self, gpu: Gpu, summed: bool = False) -> int:
        """MiB of this GPU. summed: as ComputeScore has it, where a percentage counts before an amount."""
        by_percent = gpu.memory * self.percent // 100
        if summed:
            return by_percent if self.percent not in (0, _UNSET) else self.memory
        return by_percent if self.percent != _UNSET and self.memory == 0 else self.memory


def whole_gpus(number: int) -> Wanted:
    """`nvidia.com/gpu: number` alone: all memory, and the webhook makes it all cores, thus exclusive."""
    return Wanted(number)


def of_container(container: Container) -> Wanted | None:
    """None: no GPU. Raises GputopoError for what the webhook denies."""
    asks = container.asks
    parts = [name for name in (MEMORY, PERCENT, CORES) if name in asks]
    if COUNT not in asks and not parts:
        return None
    percent = _whole(asks, PERCENT, container)
    if percent is not None and not 0 <= percent <= 100:
        raise GputopoError(
            f"{PERCENT} is {percent}, not 0 to 100: HAMi's webhook denies the pod", f"container {container.name}",
            exit_code=1,
        )  # fmt: skip
    number = _whole(asks, COUNT, container)
    memory = _whole(asks, MEMORY, container) or 0
    cores = _whole(asks, CORES, container)
    if memory > _LARGEST:
        raise GputopoError(
            f"{MEMORY} counts MiB and is {memory}: HAMi takes the container for one without GPUs",
            f"container {container.name}", exit_code=1,
        )  # fmt: skip
    if cores is None:
        exclusive = percent == 100 if percent is not None else MEMORY not in asks
        cores = 100 if exclusive else 0
    said = percent if percent else _UNSET
    return Wanted(1 if number is None else number, memory, 100 if said == _UNSET and not memory else said, cores)


def _whole(asks: Mapping[str, Fraction], name: str, container: Container) -> int | None:
    amount = asks.get(name)
    if amount is None:
        return None
    if amount.denominator != 1 or amount < 0:
        raise GputopoError(f"{name} is no whole number", f"container {container.name}")
    return int(amount)


def numa_bound(annotations: Mapping[str, str]) -> bool:
    return parse_bool(annotations.get(NUMA_BIND, "")) is True


def type_fits(gpu: Gpu, annotations: Mapping[str, str]) -> bool:
    """use-gputype and nouse-gputype (parts of the name, any case), and the mode."""
    name = gpu.type.upper()
    use, without = _list(annotations, USE_TYPE), _list(annotations, NO_TYPE)
    if use is not None and not any(part and part.upper() in name for part in use):
        return False
    if without is not None and any(part and part.upper() in name for part in without):
        return False
    return MODE not in annotations or gpu.mode in annotations[MODE]


def uuid_fits(gpu: Gpu, annotations: Mapping[str, str]) -> bool:
    use, without = _list(annotations, USE_UUID), _list(annotations, NO_UUID)
    return (use is None or gpu.id in use) and (without is None or gpu.id not in without)


def _list(annotations: Mapping[str, str], key: str) -> list[str] | None:
    """None: no constraint, also where the value is blank."""
    text = annotations.get(key, "")
    return [part.strip() for part in text.split(",")] if text.strip() else None


def named(annotations: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """The annotations with the UUIDs of use-gpuuuid and nouse-gpuuuid under the names of the node."""
    found = dict(annotations)
    for key in (USE_UUID, NO_UUID):
        listed = _list(annotations, key)
        if listed is not None:
            found[key] = ",".join(names.get(one, one) for one in listed)
    return found
