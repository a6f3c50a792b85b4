"""The annotations by which a pod asks Kueue for Topology Aware Scheduling.

Read at kubernetes-sigs/kueue ff69552 (2026-08-22): pkg/controller/jobframework/{tas,tas_validation}.go. The webhook
refuses a workload that does not pass; each integration reads them from the pod template.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from gputopo.rules.manifests.fault import Fault
from gputopo.rules.manifests.pod_metadata import PodPart, pods_of, texts
from gputopo.terms.manifest import Manifest

_PREFIX = "kueue.x-k8s.io/podset-"
REQUIRED, PREFERRED, UNCONSTRAINED = (f"{_PREFIX}{one}-topology" for one in ("required", "preferred", "unconstrained"))
SLICE, SIZE = f"{_PREFIX}slice-required-topology", f"{_PREFIX}slice-size"
_LEVELS = (REQUIRED, PREFERRED, SLICE)
_ALL = (*_LEVELS, UNCONSTRAINED, SIZE)
_NAME = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(?=[^/]{1,63}$)"
    r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
)
_BOOLS = ("1", "t", "T", "TRUE", "true", "True", "0", "f", "F", "FALSE", "false", "False")
_NUMBER = re.compile(r"[+-]?\d{1,10}")
_REFUSES = "Kueue refuses it"


def faults(manifest: Manifest, levels: Collection[str]) -> Iterator[Fault]:
    """`levels`: of every Topology that is known, none where none is."""
    for part in pods_of(manifest):
        yield from _of_pod(part, levels)
    if manifest.kind != "Pod":
        yield from _at_the_workload(manifest)


def _at_the_workload(manifest: Manifest) -> Iterator[Fault]:
    in_pods = {name for part in pods_of(manifest) for name in part.annotations}
    for name in texts(manifest.object.body, "annotations"):
        if name in _ALL and name not in in_pods:
            message = f"{name} has no effect here: Kueue reads it from the metadata of the pod template"
            yield Fault("warning", ("metadata", "annotations", name), message, of_key=True)


def _of_pod(part: PodPart, levels: Collection[str]) -> Iterator[Fault]:
    notes = part.annotations
    several = [name for name in (REQUIRED, PREFERRED, UNCONSTRAINED) if name in notes]
    if len(several) > 1:
        message = f"{' and '.join(several)} exclude each other: {_REFUSES}"
        yield Fault("error", part.annotation_path(several[1]), message, of_key=True)
    for name in (one for one in _LEVELS if one in notes):
        path, value = part.annotation_path(name), notes[name]
        if not _NAME.fullmatch(value):
            yield Fault("error", path, f'{name} "{value}" is not the name of a label: {_REFUSES}')
        elif levels and value not in levels:
            message = f"no Topology of these files has the level {value}"
            because = "a workload that asks for a level that its topology does not have is never admitted"
            yield Fault("warning", path, message, because, _nearest(value, levels))
    flag = notes.get(UNCONSTRAINED, "true")
    if flag not in _BOOLS:
        path = part.annotation_path(UNCONSTRAINED)
        yield Fault("error", path, f'{UNCONSTRAINED} "{flag}" must be a boolean value: {_REFUSES}', "", '"true"')
    yield from _slices(part, notes)


def _slices(part: PodPart, notes: Mapping[str, str]) -> Iterator[Fault]:
    size = notes.get(SIZE)
    if size is not None and (not _NUMBER.fullmatch(size) or not 1 <= int(size) < 1 << 31):
        yield Fault("error", part.annotation_path(SIZE), f'{SIZE} "{size}" is not a number from 1 on: {_REFUSES}')
    if (SLICE in notes) != (SIZE in notes):
        there, missing = (SLICE, SIZE) if SLICE in notes else (SIZE, SLICE)
        yield Fault("error", part.annotation_path(there), f"{there} without {missing}: {_REFUSES}", of_key=True)


def _nearest(value: str, levels: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(value, sorted(levels), 1, 0.7)
    return near[0] if near else ", ".join(sorted(levels))
