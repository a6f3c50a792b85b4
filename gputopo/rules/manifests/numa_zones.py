"""The zones of a NodeResourceTopology: what schedulers do not read, costs and amounts that cannot be.

Read at kubernetes-sigs/scheduler-plugins 903da7d (2026-08-16) pkg/noderesourcetopology/{pluginhelpers,least_numa}.go,
kai-scheduler/KAI-Scheduler d5bc503 (2026-08-07) pkg/scheduler/api/node_info/numa_topology.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from gputopo.rules.manifests.fault import Fault
from gputopo.terms.manifest import Path
from gputopo.terms.quantity import quantity

NODE = "Node"
_NAME = re.compile(r"node-(\d{1,18})")
_ODD_NODE_TYPES = ("numa", "numanode", "numa node", "numa-node")
_AMOUNTS = ("capacity", "allocatable", "available")
_PLUGIN = "the plugin of kubernetes-sigs/scheduler-plugins"
MOST = 64  # maxNUMAId


def faults(zones: list[Any]) -> Iterator[Fault]:
    """Of zones that are as the schema has them."""
    numbered = [(place, zone) for place, zone in enumerate(zones) if zone["type"] == NODE]
    for place, zone in enumerate(zones):
        yield from _type_and_name(zone, ("zones", place))
        yield from _amounts(zone, ("zones", place))
    yield from _twice([(("zones", place, "name"), zone["name"]) for place, zone in enumerate(zones)], "zone")
    if not numbered:
        yield Fault("warning", ("zones",), "no zone is of type Node: schedulers read no NUMA node", "", "type: Node")
        return
    yield from _costs(numbered)


def _type_and_name(zone: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    name, kind = zone["name"], zone["type"]
    found = _NAME.fullmatch(name)
    if kind != NODE:
        if found or kind.lower() in (NODE.lower(), *_ODD_NODE_TYPES):
            message = f'zone {name} is of type "{kind}", not Node: schedulers pass it over'
            yield Fault("warning", (*path, "type"), message, "", NODE)
        return
    if not found:
        message = f"zone {name} is not named node-<n>: {_PLUGIN} passes it over"
        yield Fault("warning", (*path, "name"), message, "", "node-0, node-1, ...")
    elif int(found[1]) >= MOST:
        message = f"zone {name}: {_PLUGIN} has room for NUMA nodes 0 to {MOST - 1}"
        yield Fault("warning", (*path, "name"), message)


def _amounts(zone: Mapping[str, Any], path: Path) -> Iterator[Fault]:
    resources = zone.get("resources") or []
    names = [((*path, "resources", place, "name"), one["name"]) for place, one in enumerate(resources)]
    yield from _twice(names, f"of zone {zone['name']}: resource")
    for place, one in enumerate(resources):
        for more, less in pairwise(_AMOUNTS):
            if _is_more(one[less], one[more]):
                message = f"{one['name']} of zone {zone['name']}: {less} {one[less]} is more than {more} {one[more]}"
                yield Fault("warning", (*path, "resources", place, less), message)


def _is_more(one: Any, other: Any) -> bool:
    try:
        return quantity(one) > quantity(other)
    except ValueError:  # an exponent that the schema takes and Kubernetes does not
        return False


def _twice(named: list[tuple[Path, str]], what: str) -> Iterator[Fault]:
    seen: set[str] = set()
    for path, name in named:
        if name in seen:
            yield Fault("warning", path, f"{what} {name} comes twice")
        seen.add(name)


def _costs(zones: list[tuple[int, Mapping[str, Any]]]) -> Iterator[Fault]:
    """Costs are optional as a whole; a zone left out of them counts as far (255) with LeastNUMANodes."""
    table = {zone["name"]: {cost["name"]: cost["value"] for cost in zone.get("costs") or []} for _, zone in zones}
    if not any(table.values()):
        return
    for place, zone in zones:
        path: Path = ("zones", place, "costs") if zone.get("costs") else ("zones", place)
        own, name = table[zone["name"]], zone["name"]
        missing = [other for other in table if other not in own]
        if missing:
            message = f"zone {name} has no cost to {', '.join(missing)}"
            because = f"{_PLUGIN} counts it as 255, the longest distance"
            yield Fault("warning", path, message, because)
        for at, cost in enumerate(zone.get("costs") or []):
            yield from _cost(name, cost, (*path, at), table)
        costs = zone.get("costs") or []
        yield from _twice([((*path, at, "name"), one["name"]) for at, one in enumerate(costs)], f"of {name}: cost to")


def _cost(name: str, cost: Mapping[str, Any], path: Path, table: Mapping[str, Mapping[str, int]]) -> Iterator[Fault]:
    other, value = cost["name"], cost["value"]
    if other not in table:
        yield Fault("warning", (*path, "name"), f"zone {name} has a cost to {other}, which is no zone of type Node")
        return
    own = table[name].get(name)
    if other != name and own is not None and value < own:
        message = f"zone {name} is nearer to {other} ({value}) than to itself ({own})"
        because = "the kernel's distance of a node to itself is the smallest, 10"
        yield Fault("warning", (*path, "value"), message, because)
    back = table[other].get(name)
    if back is not None and other > name and back != value:
        message = f"{name} to {other} costs {value}, {other} to {name} costs {back}"
        yield Fault("info", (*path, "value"), message, "a table may be so, but it is rarely meant")
