"""GT351 koordinator-pod

What it says
    An annotation by which a pod asks Koordinator for devices that does not decode, or a word or field in it that
    koord-scheduler does not know or passes over; a label or device of a Device that it reads otherwise.

Why it matters
    A pod whose annotation does not decode is unschedulable on every node. A word that is not known is no error: the
    default stays in force, so "restricted" means BestEffort and "samepcie" no scope at all.

What to do
    Write the word that the message names, in its case. Fields may be in any case.

When it is silent
    Fields and words are those of koordinator a7a1b76. Label selectors are not looked into. Without a request for a
    device the annotations are not read at all, which is information.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata:
    ...   annotations:
    ...     scheduling.koordinator.sh/gpu-partition-spec: '{"allocatePolicy": "restricted"}'
    ... spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}
    ... ''')
    >>> [(found.place, found.message) for found in check(own, Context())]
    [(Place(line=5, column=71), 'allocatePolicy "restricted" is not known: it is read as BestEffort')]
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gputopo.allocate.koordinator.from_objects import POLICY
from gputopo.allocate.koordinator.table import ALLOCATED, HINT, JOINT, SPEC
from gputopo.rules.manifests import koordinator_annotations
from gputopo.rules.manifests.pod_metadata import KINDS as PODS
from gputopo.rules.manifests.pod_metadata import PodPart, group_of, pods_of, spec_of, texts
from gputopo.rules.manifests.problem import Context, Problem, problem, written
from gputopo.terms import json_spots
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest, Path, Place

CODE = "GT351"
SEVERITY = "warning"
KINDS = ("Device", "Node", *PODS)
_PODS_ASK = (SPEC, JOINT, HINT)
_UNSCHEDULABLE = "the pod is unschedulable on every node"
_NOT_COUNTED = "koord-scheduler does not count the devices of the pod as used"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind in PODS:
        for part in pods_of(manifest):
            yield from _pod(manifest, part)
        return
    if manifest.kind == "Device" and group_of(manifest) != "scheduling.koordinator.sh":
        return
    value = texts(manifest.object.body, "labels").get(POLICY)
    if value is not None and value not in ("Honor", "Prefer"):
        remedy = value.capitalize() if value.capitalize() in ("Honor", "Prefer") else "Honor or Prefer"
        message = f'{POLICY} "{value}" is not known: it is read as Prefer'
        yield problem(CODE, SEVERITY, manifest, ("metadata", "labels", POLICY), message, "", remedy)
    if manifest.kind == "Device":
        yield from _devices(manifest)


def _devices(manifest: Manifest) -> Iterator[Problem]:
    rows = spec_of(manifest).get("devices")
    seen: set[tuple[str, Any]] = set()
    for place, row in enumerate(rows if isinstance(rows, list) else []):
        path: Path = ("spec", "devices", place)
        if not isinstance(row, dict):
            message = f"{written(path)} is {type_name(row)}, not a mapping"
            yield problem(CODE, "error", manifest, path, message)
            continue
        minor = row.get("minor")
        if minor is None:
            message = f"{written(path)} has no minor: koord-scheduler cannot do without"
            yield problem(CODE, "error", manifest, path, message, "", "minor")
        elif isinstance(minor, int) and (str(row.get("type")), minor) in seen:
            message = f"minor {minor} of type {row.get('type')} comes twice: the last one counts"
            yield problem(CODE, SEVERITY, manifest, (*path, "minor"), message)
        seen.add((str(row.get("type")), minor if isinstance(minor, int) else None))


def _pod(manifest: Manifest, part: PodPart) -> Iterator[Problem]:
    asked = koordinator_annotations.asked(part.asked)
    for name in (*_PODS_ASK, ALLOCATED):
        text = part.annotations.get(name)
        if text is None:
            continue
        path = part.annotation_path(name)
        if name != ALLOCATED and not (asked if name != SPEC else asked & {"gpu"}):
            what = "GPU" if name == SPEC else "device"
            message = f"{name.rpartition('/')[2]} has no effect: the pod asks for no {what}"
            yield problem(CODE, "info", manifest, path, message, place=manifest.key(path))
            continue
        yield from _annotation(manifest, path, name, text, asked)


def _annotation(
    manifest: Manifest, path: Path, name: str, text: str, asked: frozenset[str]
) -> Iterator[Problem]:  # fmt: skip
    costs = _NOT_COUNTED if name == ALLOCATED else _UNSCHEDULABLE
    try:
        root = json_spots.read(text)
    except json.JSONDecodeError as error:
        message = f"{name.rpartition('/')[2]} is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        place = manifest.inside(path, error.lineno, error.colno)
        yield problem(CODE, "error", manifest, path, message, costs, place=place)
        return
    for fault in koordinator_annotations.faults(name, root, asked):
        because = costs if fault.severity == "error" else fault.because
        place = _place(manifest, path, text, fault.start)
        yield problem(CODE, fault.severity, manifest, path, fault.message, because, fault.remedy, place)


def _place(manifest: Manifest, path: Path, text: str, start: int) -> Place:
    head = text[:start]
    return manifest.inside(path, head.count("\n") + 1, len(head) - head.rfind("\n"))
