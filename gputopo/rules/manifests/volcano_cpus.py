"""The CPUs of a Numatopology as Volcano reads them: every key that is omitted is 0.

Read at volcano-sh/volcano ed72c7c (2026-08-20) pkg/scheduler/cache/event_handlers.go getNumaInfo,
pkg/scheduler/plugins/numaaware; volcano-sh/resource-exporter a4bd424 (2026-08-04) pkg/numatopo/cpunumainfo.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gputopo.rules.manifests.fault import Fault
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.manifest import Path

_LIST = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")
_MOST_THREADS = 8  # of a core, on any machine that Kubernetes runs on


def omitted(details: Mapping[str, Mapping[str, Any]]) -> Iterator[Fault]:
    """CPUs that what is omitted puts where they cannot be."""
    if len(details) > _MOST_THREADS and not any(
        _carries(one, "core") or _carries(one, "socket") for one in details.values()
    ):
        message = f"core and socket of all {len(details)} CPUs are omitted: they are read as one core"
        yield Fault("warning", ("spec", "cpuDetail"), message, "Volcano takes CPUs by whole cores and sockets")
    nodes: dict[int, set[int]] = {}
    for one in details.values():
        nodes.setdefault(_number(one, "numa"), set()).add(_number(one, "socket"))
    others = {socket for node, sockets in nodes.items() if node for socket in sockets}
    spread = nodes.get(0, set()) & others
    if len(nodes.get(0, ())) < 2 or not spread:
        return
    for key, one in details.items():
        if not _carries(one, "numa") and _number(one, "socket") in spread:
            socket = _number(one, "socket")
            message = f"numa of CPU {key} is omitted and read as 0, but socket {socket} belongs to another NUMA node"
            yield Fault("warning", ("spec", "cpuDetail", key), message)


def numares(spec: Mapping[str, Any], details: Mapping[str, Any]) -> Iterator[Fault]:
    for name, one in (spec.get("numares") or {}).items():
        path: Path = ("spec", "numares", name, "allocatable")
        written = one.get("allocatable") or ""
        if written and not _LIST.fullmatch(written):
            message = f"numares.{name}.allocatable {written} is no list of numbers: it is read as none"
            yield Fault("warning", path, message)
            continue
        found = CpuSet.parse_list(written)
        if found is None:
            continue  # numbers that no machine has
        numbers = set(found)
        capacity = one.get("capacity")
        if capacity is not None and len(numbers) > capacity:
            message = f"numares.{name}.allocatable lists {len(numbers)}, more than the capacity {capacity}"
            yield Fault("warning", path, message)
        strange = CpuSet.of(numbers - {int(key) for key in details if key.isdigit() and len(key) < 6})
        if name == "cpu" and details and strange:
            message = f"numares.cpu.allocatable has CPUs that cpuDetail does not have: {strange!s}"
            if len(numbers) == 1:
                because = "allocatable is a list of CPU numbers, not how many there are"
                yield Fault("warning", path, message, because)
            else:
                yield Fault("info", path, message, "they count on NUMA node 0, socket 0, core 0")


def _carries(one: Mapping[str, Any], name: str) -> bool:
    return one.get(name) is not None


def _number(one: Mapping[str, Any], name: str) -> int:
    return int(one.get(name) or 0)
