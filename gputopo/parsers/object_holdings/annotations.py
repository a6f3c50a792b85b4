"""GPUs that a scheduler wrote into a pod's annotations, for its own device plugin to hand out.

    hami.io/vgpu-devices-allocated            UUID,type,MiB,percent: for each device, ; after each container
    volcano.sh/vgpu-ids-new                   the same
    scheduling.koordinator.sh/device-allocated  {"gpu": [{"minor": 4, …}], "rdma": [{"id": "0000:19:00.0", …}]}
    ALIYUN_COM_GPU_MEM_IDX                    index of the GPU (gpushare, ACK); -1 none

    >>> found = allocated({"hami.io/vgpu-devices-allocated": "GPU-a,NVIDIA,3000,30:;GPU-b,NVIDIA,5000,100:;"}, 0, 2)
    >>> [(place, one.id, one.share) for place, one in found.devices]
    [(0, 'GPU-a', '3000 MiB, 30 %'), (1, 'GPU-b', '')]

Containers are counted with init containers before the others (HAMi pkg/device/devices.go Resourcereqs, of today) or
without them (before); where neither count fits, and for what is of the pod as a whole, the place is None. The source
of the forms: facts of Project-HAMi/HAMi 4707fb0, volcano-vgpu-device-plugin 4fb76ba, koordinator a7a1b76
apis/extension/device_share.go, gpushare-scheduler-extender.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gputopo.holdings import DeviceHeld
from gputopo.terms.device_id import space_of

_SHARED = {"hami.io/vgpu-devices-allocated": "nvidia.com/gpu", "volcano.sh/vgpu-ids-new": "volcano.sh/vgpu-number"}
_KOORDINATOR = "scheduling.koordinator.sh/device-allocated"
_GPUSHARE = "ALIYUN_COM_GPU_MEM_IDX"
_LEAST_FIELDS = 4
_WHOLE = ("100", 100)
BY = "annotation"

Placed = tuple["int | None", DeviceHeld]  # place among init containers and then the others; None: of the pod


class Allocated(NamedTuple):
    devices: tuple[Placed, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()  # (annotation, what is wrong with it)


def allocated(annotations: Mapping[str, str], inits: int, apps: int) -> Allocated:
    """`inits`, `apps`: how many containers the pod has of these."""
    found: list[Placed] = []
    broken: list[tuple[str, str]] = []
    for key in (*_SHARED, _KOORDINATOR, _GPUSHARE):
        value = annotations.get(key)
        if not value:
            continue
        try:
            if key in _SHARED:
                found += _of_containers(value, _SHARED[key], inits, apps)
            else:
                found += _koordinator(value) if key == _KOORDINATOR else _gpushare(value)
        except (ValueError, TypeError, AttributeError, RecursionError):
            broken.append((key, "it is not what its scheduler writes"))
    return Allocated(tuple(dict.fromkeys(found)), tuple(broken))


def _of_containers(value: str, resource: str, inits: int, apps: int) -> Iterator[Placed]:
    parts = value.split(";")
    if parts and not parts[-1]:
        parts.pop()
    first = inits if len(parts) == apps else 0
    fits = len(parts) in (apps, inits + apps)
    for at, part in enumerate(parts):
        for entry in part.split(":"):
            fields = entry.split(",")
            if len(fields) == 1:
                continue  # behind the last colon, or a container without devices
            if len(fields) < _LEAST_FIELDS:
                raise ValueError(entry)
            id, _, memory, cores = (field.strip() for field in fields[:4])
            share = "" if cores == "100" else f"{int(memory)} MiB, {int(cores)} %"
            yield (first + at if fits else None), DeviceHeld(resource, id, space_of(id), by=BY, share=share)


def _koordinator(value: str) -> Iterator[Placed]:
    for kind, rows in json.loads(value).items():
        for row in rows or ():
            yield from ((None, one) for one in _koordinator_device(kind, row))


def _koordinator_device(kind: str, row: Mapping[str, Any]) -> Iterator[DeviceHeld]:
    resource = f"koordinator.sh/{kind}"
    functions = [one["busID"] for one in (row.get("extension") or {}).get("vfs") or () if one.get("busID")]
    if functions:
        yield from (DeviceHeld(resource, str(one), "pci", by=BY) for one in functions)
    elif kind == "gpu" or not row.get("id"):
        amounts = row.get("resources") or {}
        parts = [amounts[key] for key in (f"{resource}-core", f"{resource}-memory-ratio") if key in amounts]
        share = "" if all(one in _WHOLE for one in parts) else ", ".join(f"{one} %" for one in parts)
        minor = row.get("minor")
        if type(minor) is not int:
            raise ValueError(kind)
        yield DeviceHeld(resource, str(minor), "minor" if kind == "gpu" else "other", by=BY, share=share)
    else:
        yield DeviceHeld(resource, str(row["id"]), space_of(str(row["id"])), by=BY)


def _gpushare(value: str) -> Iterator[Placed]:
    for word in value.split(","):
        number = int(word)
        if number >= 0:
            yield None, DeviceHeld("aliyun.com/gpu-mem", str(number), "index", by=BY, share="a part of its memory")
