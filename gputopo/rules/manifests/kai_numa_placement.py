"""GT383 kai-numa-placement

What it says
    The annotation kai.scheduler/numa-placement-observed or -predicted of a pod that KAI does not read, or that names a
    zone that the node's NodeResourceTopology does not have.

Why it matters
    KAI logs "ignoring malformed annotation" and counts the pod as placed nowhere: what its eviction would free on which
    NUMA node is unknown, and reclaim and preemption decide without it. One zone that the node does not report makes the
    whole record unknown.

What to do
    Let KAI's exporter and scheduler of one release write it: a JSON list of zone and amount, zone being the name of the
    zone in the NodeResourceTopology.

When it is silent
    The annotation decodes. Zones are compared where the pod's nodeName and the NodeResourceTopology of that name are
    among the files that are checked together. Whether the amounts are those that the pod holds is not known.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata:
    ...   annotations:
    ...     kai.scheduler/numa-placement-observed: '{"nvidia.com/gpu": {"0": 2}}'
    ... spec: {containers: [{name: c}]}
    ... ''')
    >>> [(found.place, found.message) for found in check(own, Context())]
    [(Place(line=5, column=45), 'numa-placement-observed is a mapping, not a list: KAI ignores it')]
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gputopo.allocate.koordinator.table import field
from gputopo.rules.manifests.pod_metadata import name_of, of_kind, spec_of, texts
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms import json_spots
from gputopo.terms.json_spots import Spot
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest, Path, Place
from gputopo.terms.quantity import quantity

CODE = "GT383"
SEVERITY = "warning"
KINDS = ("Pod",)
# kai-scheduler/KAI-Scheduler d5bc503 (2026-08-07): pkg/scheduler/plugins/numa/seed_placements.go
_NAMES = ("numa-placement-observed", "numa-placement-predicted")
_IGNORES = "KAI ignores it"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    notes = texts(manifest.object.body, "annotations")
    for name in _NAMES:
        text = notes.get(f"kai.scheduler/{name}")
        if not text:
            continue  # KAI passes an empty one over without a word
        path: Path = ("metadata", "annotations", f"kai.scheduler/{name}")
        try:
            root = json_spots.read(text)
        except json.JSONDecodeError as error:
            message = f"{name} is not JSON: {error.msg[:1].lower()}{error.msg[1:]}: {_IGNORES}"
            place = manifest.inside(path, error.lineno, error.colno)
            yield problem(CODE, SEVERITY, manifest, path, message, place=place)
            continue
        for spot, message in (*_wrong(root, name), *_strange_zones(root, manifest, context)):
            yield problem(CODE, SEVERITY, manifest, path, message, place=_place(manifest, path, text, spot))


def _place(manifest: Manifest, path: Path, text: str, spot: Spot) -> Place:
    head = text[: spot.start]
    return manifest.inside(path, head.count("\n") + 1, len(head) - head.rfind("\n"))


def _wrong(root: Spot, name: str) -> Iterator[tuple[Spot, str]]:
    if root.value is None or root.value == []:
        yield root, f"{name} has no zone: {_IGNORES}"
        return
    if not isinstance(root.value, list):
        yield root, f"{name} is {type_name(root.value)}, not a list: {_IGNORES}"
        return
    for place, one in root.members.items():
        if one.value is not None and not isinstance(one.value, dict):
            yield one, f"{name}[{place}] is {type_name(one.value)}, not a mapping of zone and amount: {_IGNORES}"
            continue
        zone, amount = _member(one, "zone"), _member(one, "amount")
        if zone is not None and not isinstance(zone.value, str):
            yield zone, f"{name}[{place}].zone is {type_name(zone.value)}, not a string: {_IGNORES}"
        if amount is not None and not isinstance(amount.value, dict):
            yield amount, f"{name}[{place}].amount is {type_name(amount.value)}, not a mapping: {_IGNORES}"
        for resource, number in (amount.members if amount is not None else {}).items():
            if number.value is not None and not _is_quantity(number.value):
                said = f"{name}[{place}].amount.{resource} is {type_name(number.value)}, not a quantity"
                yield number, f"{said}: {_IGNORES}"


def _member(one: Spot, name: str) -> Spot | None:
    """As Go finds a field, whatever its case; null leaves it unset."""
    found: Spot | None = field(one.members, name) if isinstance(one.value, dict) else None
    return None if found is None or found.value is None else found


def _is_quantity(value: object) -> bool:
    try:
        quantity(value)
    except ValueError:
        return False
    return True


def _strange_zones(root: Spot, manifest: Manifest, context: Context) -> Iterator[tuple[Spot, str]]:
    node = spec_of(manifest).get("nodeName")
    known = _zones(context, node) if isinstance(node, str) else None
    if known is None:
        return
    for one in root.members.values():
        zone = _member(one, "zone")
        if zone is not None and isinstance(zone.value, str) and zone.value not in known:
            message = f"node {node} has no zone {zone.value}: KAI takes the whole record as unknown"
            yield zone, message


def _zones(context: Context, node: str) -> set[str] | None:
    """Of type Node; None: there is no NodeResourceTopology of that name, or none with zones."""
    for one in of_kind(context.together, "NodeResourceTopology", "topology.node.k8s.io"):
        if name_of(one) == node:
            zones = one.object.body.get("zones")
            rows = [row for row in zones if isinstance(row, dict)] if isinstance(zones, list) else []
            return {str(row.get("name")) for row in rows if row.get("type") == "Node"} or None
    return None
