"""Taints of devices and what tolerates them (resourceclaim/devicetoleration.go; taintPreventsAllocation).

    >>> blocking(Device("a", taints=(Taint("k", "v", "NoSchedule"),)), (), False).key
    'k'
    >>> blocking(Device("a", taints=(Taint("k", "v", "None"),)), (), False)
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.dra.objects import Device, Taint, Toleration

_BLOCKS = ("NoSchedule", "NoExecute")


def blocking(device: Device, tolerations: Sequence[Toleration], none_blocks: bool) -> Taint | None:
    """The first taint that keeps the device from being allocated."""
    for taint in device.taints:
        if (none_blocks or taint.effect in _BLOCKS) and not any(tolerates(one, taint) for one in tolerations):
            return taint
    return None


def tolerates(one: Toleration, taint: Taint) -> bool:
    if (one.effect and one.effect != taint.effect) or (one.key and one.key != taint.key):
        return False
    return one.operator == "Exists" or (one.operator in ("", "Equal") and one.value == taint.value)
