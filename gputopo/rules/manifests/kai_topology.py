"""GT384 kai-topology

What it says
    A Topology of KAI that the API server refuses, a Node that is left out of it, an annotation of a workload that asks
    for a topology or a level that there is not, or where KAI does not read it.

Why it matters
    KAI fails the job with "Requested topology ... does not exist" or "topology constraint error", which stands in the
    events of its PodGroup only. A level without kai.scheduler/topology constrains nothing.

What to do
    Name the topology and one of its levels, or the alias of one. A preferred level is a finer one than the required
    one. Of a Job the annotations belong to the Job's own metadata, not to its pod template.

When it is silent
    The topologies of KAI are not among the files that are checked together. Workloads whose annotations KAI reads in
    several places are not told where to write them.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: batch/v1
    ... kind: Job
    ... metadata:
    ...   annotations: {kai.scheduler/topology-required-placement: example.com/rack}
    ... spec: {template: {spec: {containers: [{name: c}]}}}
    ... ''')
    >>> [(found.place.line, found.message) for found in check(own, Context())]
    [(4, 'topology-required-placement has no effect without kai.scheduler/topology')]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gputopo.rules.manifests.pod_metadata import KINDS as PODS
from gputopo.rules.manifests.pod_metadata import group_of, name_of, pods_of, spec_of, texts
from gputopo.rules.manifests.problem import Context, Problem, problem, written
from gputopo.rules.manifests.topology_levels import HOSTNAME, KAI, Topology, faults, missing_levels, topologies
from gputopo.terms.manifest import Manifest, Path

CODE = "GT384"
SEVERITY = "warning"
KINDS = ("Node", "Topology", *PODS)
# kai-scheduler/KAI-Scheduler d5bc503 (2026-08-07): pkg/podgrouper/podgrouper/plugins/defaultgrouper,
# pkg/scheduler/plugins/topology/{job_filtering,topology_plugin}.go, pkg/admission/webhook/topologyhooks
_TOPOLOGY = f"{KAI}/topology"
_REQUIRED, _PREFERRED = "topology-required-placement", "topology-preferred-placement"
_NAMES = (_TOPOLOGY, f"{KAI}/{_REQUIRED}", f"{KAI}/{_PREFERRED}")
_REFUSES = "the API server refuses it"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    if manifest.kind == "Node":
        yield from _node(manifest, context)
    elif manifest.kind in PODS:
        known = topologies(context.together, KAI)
        own = texts(manifest.object.body, "annotations")
        yield from _alone(manifest, own)
        yield from _asked(manifest, ("metadata", "annotations"), own, own.get(_TOPOLOGY, ""), known)
        for part in pods_of(manifest) if manifest.kind != "Pod" else ():
            path: Path = (*part.path, "metadata", "annotations")
            if manifest.kind == "Job":
                yield from _of_template(manifest, path, part.annotations)
            else:
                name = part.annotations.get(_TOPOLOGY, own.get(_TOPOLOGY, ""))
                yield from _asked(manifest, path, part.annotations, name, known)
    elif group_of(manifest) == KAI:
        for path, message in (*faults(manifest), *_aliases(manifest)):
            yield problem(CODE, "error", manifest, path, f"{message}: {_REFUSES}")


def _aliases(manifest: Manifest) -> Iterator[tuple[Path, str]]:
    """One alias a level, and none that is a level's label."""
    levels = spec_of(manifest).get("levels")
    rows = [row if isinstance(row, dict) else {} for row in levels] if isinstance(levels, list) else []
    labels = {row["nodeLabel"] for row in rows if isinstance(row.get("nodeLabel"), str)}
    seen: set[str] = set()
    for place, row in enumerate(rows):
        alias = row.get("alias")
        if not isinstance(alias, str) or not alias:
            continue
        path: Path = ("spec", "levels", place, "alias")
        if alias in labels:
            yield path, f"{written(path)} {alias} is the nodeLabel of a level"
        elif alias in seen:
            yield path, f"{written(path)} {alias} comes twice"
        seen.add(alias)


def _node(manifest: Manifest, context: Context) -> Iterator[Problem]:
    """KAI has no flavors: a topology is for the nodes that carry its levels, so one that carries none is not meant."""
    if group_of(manifest):
        return
    for topology in topologies(context.together, KAI).values():
        missing = missing_levels(manifest, topology)
        carried = [label for label in topology.levels if label not in missing and label != HOSTNAME]
        if missing and carried:
            labels = "label" if len(missing) == 1 else "labels"
            name = name_of(manifest)
            message = f"node {name} has no {labels} {', '.join(missing)}: KAI leaves it out of topology {topology.name}"
            severity, because = SEVERITY, ""
            if missing == [HOSTNAME]:
                severity, because = "info", "the kubelet adds it: only a node without a kubelet lacks it"
            yield problem(CODE, severity, manifest, ("metadata", "labels"), message, because)


def _of_template(manifest: Manifest, path: Path, notes: Mapping[str, str]) -> Iterator[Problem]:
    own = texts(manifest.object.body, "annotations")
    for name in _NAMES:
        if name in notes and name not in own:
            where = (*path, name)
            message = f"{name} has no effect here: of a Job KAI reads it from the metadata of the Job"
            yield problem(CODE, SEVERITY, manifest, where, message, place=manifest.key(where))


def _alone(manifest: Manifest, notes: Mapping[str, str]) -> Iterator[Problem]:
    """A level without a topology, or the other way round."""
    path: Path = ("metadata", "annotations")
    levels = [one for one in (_REQUIRED, _PREFERRED) if notes.get(f"{KAI}/{one}")]
    for one in levels if not notes.get(_TOPOLOGY) else ():
        where = (*path, f"{KAI}/{one}")
        message = f"{one} has no effect without {_TOPOLOGY}"
        yield problem(CODE, SEVERITY, manifest, where, message, "", _TOPOLOGY, manifest.key(where))
    segments = any(one.startswith(f"{KAI}/segment-") for part in pods_of(manifest) for one in part.annotations)
    if notes.get(_TOPOLOGY) and not levels and not segments and manifest.kind in ("Job", "Pod"):
        message = f"topology {notes[_TOPOLOGY]} is asked for without a level: KAI fails the job"
        because = "no topology constraints were found"
        yield problem(CODE, SEVERITY, manifest, (*path, _TOPOLOGY), message, because, f"{KAI}/{_REQUIRED}")


def _asked(
    manifest: Manifest, path: Path, notes: Mapping[str, str], name: str, known: Mapping[str, Topology]
) -> Iterator[Problem]:  # fmt: skip
    if not name or not known:
        return
    if name in known:
        levels = [(one, notes[f"{KAI}/{one}"]) for one in (_REQUIRED, _PREFERRED) if notes.get(f"{KAI}/{one}")]
        yield from _levels(manifest, path, levels, known[name])
    elif _TOPOLOGY in notes:
        message = f"no Topology of {KAI} in these files is named {name}"
        yield problem(CODE, SEVERITY, manifest, (*path, _TOPOLOGY), message, "", ", ".join(known))


def _levels(
    manifest: Manifest, path: Path, levels: list[tuple[str, str]], topology: Topology
) -> Iterator[Problem]:  # fmt: skip
    at = {}
    for one, level in levels:
        found = topology.level(level)
        if found is None:
            message = f"topology {topology.name} has no level {level}: KAI fails the job"
            yield problem(CODE, SEVERITY, manifest, (*path, f"{KAI}/{one}"), message, "", ", ".join(topology.levels))
        else:
            at[one] = found
    if len(at) == 2 and at[_PREFERRED] < at[_REQUIRED]:
        message = "the preferred level is coarser than the required one: KAI does not find it and fails the job"
        yield problem(CODE, SEVERITY, manifest, (*path, f"{KAI}/{_PREFERRED}"), message)
