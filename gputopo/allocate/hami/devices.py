"""The GPUs of a node as HAMi's scheduler knows them, and the annotations that say so.

Read at Project-HAMi/HAMi 4707fb0 (2026-08-21): pkg/device/devices.go (DeviceInfo, DeviceUsage,
UnMarshalNodeDevices, DecodeNodeDevices, DecodePairScores, DecodePodDevices), pkg/scheduler/scheduler.go
(buildNodeUsage, getNodesUsage).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.errors import GputopoError
from gputopo.terms.kube_object import type_name

REGISTER = "hami.io/node-nvidia-register"
SCORE = "hami.io/node-nvidia-score"
CORDON = "hami.io/device-cordon"
ALLOCATED = "hami.io/vgpu-devices-allocated"

Scores = Mapping[str, Mapping[str, int]]  # UUID → UUID → score of the pair


class Gpu(NamedTuple):
    """One GPU and what of it is used. Memory in MiB, cores in percent."""

    id: str  # UUID
    number: int = 0  # `index`
    slots: int = 10  # `count`: how many containers may share it
    memory: int = 0
    cores: int = 100
    type: str = "NVIDIA-GPU"
    numa: int = 0
    mode: str = "hami-core"
    healthy: bool = True
    used: int = 0
    used_memory: int = 0
    used_cores: int = 0

    def taken(self, memory: int, cores: int, slots: int = 1) -> Gpu:
        """After one more container was put on it."""
        return self._replace(
            used=self.used + slots, used_memory=self.used_memory + memory, used_cores=self.used_cores + cores
        )


# JSON name → field of Gpu; absent is 0, "" or false, as Go's omitempty leaves it
_FIELDS = {"id": "id", "index": "number", "count": "slots", "devmem": "memory", "devcore": "cores", "type": "type",
           "numa": "numa", "mode": "mode", "health": "healthy"}  # fmt: skip
_CSV = (7, 9)


def registered(text: str, where: str) -> tuple[tuple[Gpu, ...], str]:
    """(GPUs in their order, "json" or "csv"). Raises GputopoError for what does not decode.

    >>> registered('[{"id": "GPU-a", "count": 10, "devmem": 100, "devcore": 100, "health": true}]', "node a")[0][0].numa
    0
    >>> registered("GPU-a,10,32768,100,NVIDIA-Tesla V100-PCIE-32GB,1,true:", "node a")[0][0].numa
    1
    """
    if text.lstrip()[:1] in ("[", "{", "n"):
        return _json(text, where), "json"
    return tuple(_row(row, where) for row in _rows(text, where)), "csv"


def _json(text: str, where: str) -> tuple[Gpu, ...]:
    body = decoded(text, "node-nvidia-register", where)
    if not isinstance(body, list) or not all(isinstance(one, dict) for one in body):
        raise GputopoError("node-nvidia-register is no list of devices", where)
    return tuple(_gpu(one, where) for one in body)


def _gpu(body: dict[str, Any], where: str) -> Gpu:
    kinds: dict[str, type] = {"id": str, "type": str, "mode": str, "healthy": bool}
    values: dict[str, Any] = {}
    lower = {key.lower(): value for key, value in body.items()}
    for name, field in _FIELDS.items():
        found = body.get(name, lower.get(name))
        kind = kinds.get(field, int)
        if found is None:
            found = kind()
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise GputopoError(f"node-nvidia-register does not decode: {name} is {type_name(found)}", where)
        values[field] = found
    return Gpu(**values)


def _rows(text: str, where: str) -> list[list[str]]:
    if ":" not in text:
        raise GputopoError("node-nvidia-register is neither JSON nor a list of devices ended by colons", where)
    rows = [row.split(",") for row in text.split(":") if row]
    for row in rows:
        if len(row) not in _CSV:
            raise GputopoError(f"node-nvidia-register: a device of {len(row)} fields, not 7 or 9", where)
    return rows


def _row(row: Sequence[str], where: str) -> Gpu:
    """UUID,slots,memory,cores,type,NUMA node,health[,index,mode]: the form of older releases."""
    number, mode = (_int(row[7], "index", where), row[8]) if len(row) == 9 else (0, "hami-core")
    if row[6] not in _TRUE and row[6] not in _FALSE:
        raise GputopoError(f"node-nvidia-register: health is {row[6]!r}, not true or false", where)
    return Gpu(
        id=row[0], number=number, slots=_int(row[1], "count", where), memory=_int(row[2], "memory", where),
        cores=_int(row[3], "cores", where), type=row[4], numa=_int(row[5], "numa", where), mode=mode,
        healthy=row[6] in _TRUE,
    )  # fmt: skip


_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")  # strconv.ParseBool


def parse_bool(text: str) -> bool | None:
    """strconv.ParseBool; None is its error."""
    return True if text in _TRUE else False if text in _FALSE else None


def _int(text: str, what: str, where: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise GputopoError(f"node-nvidia-register: {what} is {text!r}, no whole number", where)
    return int(text)


def pair_scores(text: str, where: str) -> Scores:
    """The score annotation. Raises GputopoError."""
    body = decoded(text, "node-nvidia-score", where)
    if body is None:
        return {}
    if not isinstance(body, list) or not all(isinstance(one, dict) for one in body):
        raise GputopoError("node-nvidia-score is no list of devices", where)
    found: dict[str, Mapping[str, int]] = {}
    for one in body:
        lower = {key.lower(): value for key, value in one.items()}
        row = lower.get("score") or {}
        if not isinstance(row, dict) or not all(type(score) is int for score in row.values()):
            raise GputopoError("node-nvidia-score does not decode: a score is no integer", where)
        found.setdefault(str(lower.get("uuid") or ""), row)
    return found


def held(text: str, where: str) -> tuple[tuple[str, int, int], ...]:
    """(UUID, MiB, percent of cores) of every device in a vgpu-devices-allocated annotation.

    >>> held("GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;GPU-c,NVIDIA,5000,0:;", "pod p")
    (('GPU-a', 3000, 30), ('GPU-b', 3000, 30), ('GPU-c', 5000, 0))
    """
    found = []
    for entry in text.replace(";", ":").split(":"):
        parts = entry.split(",")
        if len(parts) == 1:
            continue
        if len(parts) < 4:
            raise GputopoError("vgpu-devices-allocated: an entry with fewer than 4 fields", where)
        found.append((parts[0], _int(parts[2], "memory", where), _int(parts[3], "cores", where)))
    return tuple(found)


def decoded(text: str, annotation: str, where: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "") or str(error) or "nested too deep"
        raise GputopoError(f"{annotation} is not JSON: {what[:1].lower()}{what[1:]}", where) from None
