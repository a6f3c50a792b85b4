"""The levels of a Topology, of Kueue or of KAI, whose schema is derived from Kueue's.

Read at kubernetes-sigs/kueue ff69552 (2026-08-22) apis/kueue/v1beta2/topology_types.go, pkg/util/tas/node.go, and
kai-scheduler/KAI-Scheduler d5bc503 (2026-08-07) pkg/apis/kai/v1alpha1/topology_types.go,
pkg/scheduler/plugins/topology/common.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.rules.manifests.pod_metadata import name_of, of_kind, spec_of, texts
from gputopo.rules.manifests.problem import written
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest, Path

KUEUE, KAI = "kueue.x-k8s.io", "kai.scheduler"
HOSTNAME = "kubernetes.io/hostname"
_MOST, _LONGEST = 16, 316
_LABEL = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
)


class Topology(NamedTuple):
    name: str
    levels: tuple[str, ...]
    aliases: dict[str, str]  # of KAI: may be written for the level

    def level(self, written: str) -> int | None:
        """Counted from the coarsest; None: there is none."""
        label = self.aliases.get(written, written)
        return self.levels.index(label) if label in self.levels else None


def faults(manifest: Manifest) -> Iterator[tuple[Path, str]]:
    """What the schema does not take."""
    path: Path = ("spec", "levels")
    spec = manifest.object.body.get("spec")
    levels = spec.get("levels") if isinstance(spec, dict) else None
    if not isinstance(levels, list) or not 1 <= len(levels) <= _MOST:
        found = f"{len(levels)} levels" if isinstance(levels, list) else "missing"
        found = found if levels is None or isinstance(levels, list) else type_name(levels)
        yield path, f"spec.levels is {found}, not a list of 1 to {_MOST}"
        return
    seen: set[str] = set()
    for place, level in enumerate(levels):
        own = (*path, place)
        label = level.get("nodeLabel") if isinstance(level, dict) else None
        if not isinstance(label, str) or not _LABEL.fullmatch(label) or len(label) > _LONGEST:
            found = "missing" if label is None else type_name(label)
            yield (*own, "nodeLabel"), f"{written((*own, 'nodeLabel'))} is {found}, not the name of a label"
            continue
        if label in seen:
            yield (*own, "nodeLabel"), f"level {label} comes twice"
        elif label == HOSTNAME and place != len(levels) - 1:
            yield (*own, "nodeLabel"), f"{HOSTNAME} is not the last level"
        seen.add(label)


def topologies(together: tuple[Manifest, ...], group: str) -> dict[str, Topology]:
    """Of a group by name, those that have levels."""
    found = {}
    for one in of_kind(together, "Topology", group):
        levels = spec_of(one).get("levels")
        rows = [level for level in levels if isinstance(level, dict)] if isinstance(levels, list) else []
        rows = [row for row in rows if isinstance(row.get("nodeLabel"), str)]
        labels = tuple(row["nodeLabel"] for row in rows)
        aliases = {row["alias"]: row["nodeLabel"] for row in rows if isinstance(row.get("alias"), str)}
        if labels:
            found[name_of(one)] = Topology(name_of(one), labels, aliases)
    return found


def missing_levels(node: Manifest, topology: Topology) -> list[str]:
    """Of a Node the levels that it does not carry; an empty value counts as carried."""
    metadata = node.object.body.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    carried = labels if isinstance(labels, dict) else {}
    return [label for label in topology.levels if label not in carried]


def matches(node: Manifest, labels: dict[str, Any]) -> bool:
    own = texts(node.object.body, "labels")
    return all(own.get(name) == value for name, value in labels.items())
