"""The matrices of hwloc: latencies between NUMA nodes, bandwidths of NVLinks.

Latencies: `<distances2 type="NUMANode" indexing="os">` since 2.0; before, `<distances latency_base="10">`
with values relative to it, in the order of the objects. Bandwidths: MB/s of the active links of a pair,
one direction, added up: 20000 a link of NVLink 1, 25000 of NVLink 2 to 4 (hwloc/topology-nvml.c; links of
later versions are left out). NVLink 1 has at most four links, so a sum says how many there are.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.xml_guard import Element

_LATENCY = 4  # HWLOC_DISTANCES_KIND_MEANS_LATENCY in hwloc/distances.h
_LINK_MB = (25_000, 20_000)
_MAX_OBJECTS = 2_048


class Links(NamedTuple):
    times: int
    gbps: float


def latencies(root: Element, nodes: list[Element]) -> dict[int, dict[int, int]]:
    """ACPI SLIT values by node number and node number; empty where the file has no such matrix."""
    for element in root.named("distances2"):
        means_latency = (_int(element.get("kind")) or 0) & _LATENCY
        if element.get("type") != "NUMANode" or element.get("indexing") != "os":
            continue
        if element.get("name") == "NUMALatency" or (not element.get("name") and means_latency):
            indexes = [_int(word) for word in _words(element, "indexes")]
            return _matrix(indexes, [_int(word) for word in _words(element, "u64values")])
    for element in root.walk():
        if element.tag == "distances" and _int(element.get("nbobjs")) == len(nodes) > 0:
            base = _float(element.get("latency_base")) or 0.0
            values = [_float(row.get("value")) for row in element.named("latency")]
            numbers = [_int(node.get("os_index")) for node in nodes]
            return _matrix(numbers, [None if v is None else round(v * base) for v in values])
    return {}


def _matrix(indexes: list[int | None], values: list[int | None]) -> dict[int, dict[int, int]]:
    size = len(indexes)
    numbers = [number for number in indexes if number is not None]
    known = [value for value in values if value is not None]
    if size > _MAX_OBJECTS or len(known) != size * size or len(numbers) != size:
        return {}
    return {number: dict(zip(numbers, known[row * size : (row + 1) * size])) for row, number in enumerate(numbers)}


def nvlinks(root: Element) -> dict[str, dict[str, Links]] | None:
    """Links by object and object (`OSDev:802`), or `None` where the file has no such matrix."""
    for element in root.named("distances2", "distances2hetero"):
        if element.get("name") != "NVLinkBandwidth":
            continue
        kind = element.get("type")
        names = [word if ":" in word else f"{kind}:{word}" for word in _words(element, "indexes")]
        values = [_int(word) for word in _words(element, "u64values")]
        size = len(names)
        if size > _MAX_OBJECTS or len(values) != size * size:
            return None
        found: dict[str, dict[str, Links]] = {name: {} for name in names}
        for row, name in enumerate(names):
            for column, other in enumerate(names):
                links = _links(values[row * size + column]) if row != column else None
                if links:
                    found[name][other] = links
        return found
    return None


def _links(megabytes: int | None) -> Links | None:
    for link in _LINK_MB:
        if megabytes and megabytes % link == 0:
            return Links(megabytes // link, link / 1000)
    return None


def _words(element: Element, tag: str) -> list[str]:
    return [word for part in element.named(tag) for word in part.text.split()]


def _int(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() and len(text) < 20 else None


def _float(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < 1e9 else None
