"""Consumable capacity: what a request takes of a device, and whether it fits.

Source: structured/internal/incubating/consumable_capacity.go. Quantities are compared by value; only "is the default"
compares how they are written, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.allocate.dra.amount import Amount, Number, binary, whole
from gputopo.allocate.dra.objects import Capacity, Device, RequestPolicy

Amounts = Mapping[str, Amount]


class Shortage(NamedTuple):
    """Why a request does not fit. `name` of the capacity; `wanted` None: the device has no such capacity."""

    name: str
    wanted: Number | None = None
    left: Number | None = None  # None: the value violates the request policy


def shortage(device: Device, requested: Amounts | None, taken: list[Amounts]) -> Shortage | None:
    """`None`: it fits beside what is `taken` already."""
    for name in requested or {}:
        if name not in device.capacity:
            return Shortage(name)
    for name, capacity in device.capacity.items():
        wanted = consumed(capacity, (requested or {}).get(name))
        if _violates(wanted, capacity.policy):
            return Shortage(name, wanted.number)
        used = sum((of[name].number for of in taken if name in of), 0)
        if used + wanted.number > capacity.value.number:
            return Shortage(name, wanted.number, capacity.value.number - used)
    return None


def consumption(device: Device, requested: Amounts | None) -> dict[str, Amount]:
    """What the request takes of every capacity of a shared device."""
    return {name: consumed(one, (requested or {}).get(name)) for name, one in device.capacity.items()}


def consumed(capacity: Capacity, requested: Amount | None) -> Amount:
    policy = capacity.policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.has_range and policy.minimum is not None:
        return _in_steps(requested, policy)
    if policy.valid_values is not None:
        return next((one for one in policy.valid_values if requested.number <= one.number), requested)
    return requested


def _in_steps(requested: Amount, policy: RequestPolicy) -> Amount:
    assert policy.minimum is not None
    if requested.number < policy.minimum.number:
        return policy.minimum
    if policy.step is None:
        return requested
    step, least = whole(policy.step), whole(policy.minimum)
    if step == 0:  # the API server does not take it; Go would divide by zero
        return requested
    steps = -((least - whole(requested)) // step)
    return binary(least + step * steps)


def _violates(wanted: Amount, policy: RequestPolicy | None) -> bool:
    if policy is None or wanted == policy.default:
        return False
    if policy.has_range:
        if policy.maximum is not None and wanted.number > policy.maximum.number:
            return True
        step = whole(policy.step) if policy.step is not None else 0
        least = whole(policy.minimum) if policy.minimum is not None else 0
        return bool(step) and (whole(wanted) - least) % step != 0
    return bool(policy.valid_values) and all(wanted.number != one.number for one in policy.valid_values or ())
