"""What koord-scheduler knows of a node: the devices of its Device object, and what of them is used.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): apis/scheduling/v1alpha1/device_types.go,
pkg/scheduler/plugins/deviceshare/{device_cache,device_resources}.go. A device is named by its type and
*minor*. An unhealthy one has no resources at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

Resources = Mapping[str, Fraction]

GPU, RDMA, FPGA = "gpu", "rdma", "fpga"
CORE, MEMORY, RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
RDMA_SHARE, FPGA_SHARE = "koordinator.sh/rdma", "koordinator.sh/fpga"
WHOLE_GPU: Resources = {CORE: Fraction(100), RATIO: Fraction(100)}


class Place(NamedTuple):
    """`topology` of a Device entry. `pcie` is a root complex, `pci0000:15`."""

    numa: int
    pcie: str


class Device(NamedTuple):
    kind: str  # "gpu" | "rdma" | "fpga"
    minor: int
    total: Resources  # {} when unhealthy
    place: Place | None
    id: str = ""  # UUID of a GPU, PCI address of a NIC
    labels: Mapping[str, str] = {}
    functions: tuple[tuple[Mapping[str, str], tuple[str, ...]], ...] = ()  # VF groups: labels, PCI addresses

    @property
    def usable(self) -> bool:
        return any(self.total.values())


class Devices(NamedTuple):
    """The devices of a node and what of each is taken: {(kind, minor): resources}."""

    all: tuple[Device, ...]
    used: Mapping[tuple[str, int], Resources] = {}
    used_functions: frozenset[str] = frozenset()  # PCI addresses of virtual functions

    def of(self, kind: str) -> tuple[Device, ...]:
        return tuple(device for device in self.all if device.kind == kind)

    def free(self, device: Device) -> Resources:
        """What is left of one, never below nothing; of a resource that it does not have, nothing is left."""
        taken = self.used.get((device.kind, device.minor), {})
        names = {*device.total, *taken}
        return {name: max(device.total.get(name, _NONE) - taken.get(name, _NONE), _NONE) for name in names}

    def used_mask(self, kind: str) -> int:
        """The minors of which anything is used, as bits."""
        return mask(minor for of, minor in self.used if of == kind)

    def total_mask(self, kind: str) -> int:
        return mask(device.minor for device in self.of(kind) if device.usable)


_NONE = Fraction(0)


def mask(minors: Iterable[int]) -> int:
    """`hashMinors`: one bit a minor. Go's int has 64 bits; a shift beyond them is 0.

    >>> mask([0, 3, 64])
    9
    """
    bits = 0
    for minor in minors:
        bits |= 1 << minor if 0 <= minor < 64 else 0
    return bits


def fits(wanted: Resources, free: Resources) -> bool:
    """quota.LessThanOrEqual: only what both name is compared."""
    return all(free[name] >= amount for name, amount in wanted.items() if name in free)


def by_minor(devices: Sequence[Device]) -> dict[int, Device]:
    """Go fills a map by minor: of two entries with one minor the later counts."""
    return {device.minor: device for device in devices}
