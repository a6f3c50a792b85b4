"""The annotations of Koordinator, JSON inside a string, decoded as Go decodes them.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): apis/extension/device_share.go. A number in
quotes is no number to Go, so `"allocationScore": "1"`, which docs/proposals print, does not decode;
koord-scheduler then logs "invalid gpu partition table" and goes on without the whole table.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from gputopo.allocate.koordinator.partitions import Partition, Table
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import type_name
from gputopo.terms.quantity import quantity

PARTITIONS = "scheduling.koordinator.sh/gpu-partitions"
SPEC = "scheduling.koordinator.sh/gpu-partition-spec"
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
HINT = "scheduling.koordinator.sh/device-allocate-hint"
ALLOCATED = "scheduling.koordinator.sh/device-allocated"


def decoded(text: str, annotation: str, where: str) -> Any:
    """The JSON value of an annotation. Raises GputopoError."""
    import json

    try:
        return json.loads(text, parse_float=_Real, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        what = getattr(error, "msg", "") or str(error) or "nested too deep"
        raise GputopoError(f"{annotation} is not JSON: {what[:1].lower()}{what[1:]}", where) from None


def decoded_mapping(text: str, annotation: str, where: str) -> dict[str, Any]:
    """An annotation that holds an object; null is an empty one, as Go leaves it."""
    body = decoded(text, annotation, where)
    if body is not None and not isinstance(body, dict):
        raise GputopoError(f"{annotation} does not decode: it is {type_name(body)}, not a mapping", where)
    return body or {}


class _Real(float):
    """A number written with a point or an exponent: Go does not decode it into an int."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def field(body: Any, name: str) -> Any:
    """Go finds a field whatever its case, an exact match first."""
    if not isinstance(body, dict):
        return None
    if name in body:
        return body[name]
    return next((value for key, value in body.items() if key.lower() == name.lower()), None)


def partition_table(text: str, where: str) -> Table | None:
    """The annotation of a Device object; empty is none. Raises GputopoError where Go does not decode it.

    >>> partition_table('{"1": [{"minors": [0], "allocationScore": 1}]}', "device node-a")
    {1: (Partition(minors=(0,), score=1, bandwidth=None, link=''),)}
    >>> try: partition_table('{"1": [{"minors": [0], "allocationScore": "1"}]}', "device node-a")
    ... except GputopoError as error: print(error.what)
    gpu-partitions does not decode: allocationScore of "1"[0] is the string "1", not an integer
    """
    if not text:
        return None
    body = decoded(text, "gpu-partitions", where)
    if not isinstance(body, dict):
        raise _wrong("the table", body, "a mapping of sizes", where)
    found = {}
    for key, rows in body.items():
        if not _is_integer(key):
            what = f'gpu-partitions does not decode: the size "{key}" is not a whole number'
            raise GputopoError(what, where, _UNDECODED)
        if rows is not None and not isinstance(rows, list):
            raise _wrong(f'"{key}"', rows, "a list", where)
        found[int(key)] = tuple(_partition(row, f'"{key}"[{at}]', where) for at, row in enumerate(rows or ()))
    return found


def _is_integer(key: str) -> bool:
    return key.removeprefix("-").isascii() and key.removeprefix("-").isdigit() and len(key) < 19


def _partition(row: Any, place: str, where: str) -> Partition:
    if row is not None and not isinstance(row, dict):
        raise _wrong(place, row, "a mapping", where)
    minors = field(row, "minors")
    if minors is not None and not isinstance(minors, list):
        raise _wrong(f"minors of {place}", minors, "a list", where)
    link = field(row, "gpuLinkType")
    if link is not None and not isinstance(link, str):
        raise _wrong(f"gpuLinkType of {place}", link, "a string", where)
    return Partition(
        minors=tuple(_integer(one, f"a minor of {place}", where) for one in minors or ()),
        score=_integer(field(row, "allocationScore"), f"allocationScore of {place}", where),
        bandwidth=_bandwidth(field(row, "ringBusBandwidth"), place, where),
        link=link or "",
    )


def _integer(found: Any, place: str, where: str) -> int:
    """Absent and null are 0, as Go leaves them."""
    if found is None:
        return 0
    if isinstance(found, bool) or not isinstance(found, int):
        raise _wrong(place, found, "an integer", where)
    return found


def _bandwidth(found: Any, place: str, where: str) -> Fraction | None:
    if found is None:
        return None
    try:
        return quantity(found)
    except ValueError as error:
        what = f"gpu-partitions does not decode: ringBusBandwidth of {place}: {error}"
        raise GputopoError(what, where, _UNDECODED) from None


_IGNORED = "koord-scheduler ignores the whole table"
_UNDECODED = f"until it decodes {_IGNORED}"


def _wrong(place: str, found: Any, wanted: str, where: str) -> GputopoError:
    quoted = isinstance(found, str) and found.removeprefix("-").isdigit()
    hint = f"write {found} without quotes; until then {_IGNORED}" if quoted else _UNDECODED
    shown = "a number with a point" if isinstance(found, _Real) else type_name(found)
    return GputopoError(f"gpu-partitions does not decode: {place} is {shown}, not {wanted}", where, hint)


def labels_of(selector: Any, place: str, where: str) -> Mapping[str, str] | None:
    """matchLabels of a label selector; None: no selector. Raises GputopoError for expressions."""
    if selector is None:
        return None
    if field(selector, "matchExpressions"):
        raise GputopoError(f"{place}: matchExpressions are not simulated", where, "write it as matchLabels")
    found = field(selector, "matchLabels") or {}
    if not isinstance(found, dict):
        raise GputopoError(f"{place}: matchLabels is {type_name(found)}, not a mapping", where)
    return {str(key): str(value) for key, value in found.items()}
