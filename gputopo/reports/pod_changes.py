"""What changed on a node between two looks: a line a container, or a JSON document a line.

`+` came, `~` holds something else, `-` went. A document has `type` as in a Kubernetes watch (ADDED, MODIFIED,
DELETED), `object` as in PodAudit's containers, and the findings of that container or pod.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gputopo.documents.pod_audit import encode
from gputopo.pods.changes import Change, changes
from gputopo.reports.sanitise import clean
from gputopo.rules.finding import Finding
from gputopo.rules.pods.audit import Audit

Look = tuple[Audit, tuple[Finding, ...]]
_MARK = {"ADDED": "+", "MODIFIED": "~", "DELETED": "-"}


def lines(before: Look | None, after: Look | None) -> str:
    """Lines for a person; empty where nothing changed."""
    made = []
    for one in _changes(before, after):
        audit, findings = _look(one, before, after)
        node = f"{audit.held.name}  " if audit.held.name else ""
        gpus = one.container.placed.gpus
        if gpus is None:
            gpus = tuple(dict.fromkeys(device.id for device in one.container.devices if device.is_gpu))
        words = [f"{_MARK[one.type]} {node}{one.container.title}", " ".join(gpus) or "no GPU"]
        if one.container.cpus:
            words.append(f"CPUs {one.container.cpus}")
        made.append(clean("  ".join(words)))
        if one.type != "DELETED":
            made += [clean(f"  {each.severity} {each.rule}  {each.message}") for each in _of(one, findings)]
    return "".join(f"{line}\n" for line in made)


def events(before: Look | None, after: Look | None) -> str:
    """NDJSON; empty where nothing changed."""
    found = _changes(before, after)
    if not found:
        return ""
    documents = {id(look): encode(*look) for look in (before, after) if look is not None}
    made = []
    for one in found:
        look = _look(one, before, after)
        document = documents[id(look)]
        own = _of(one, look[1])
        event = {
            "type": one.type,
            "node": document["node"],
            "object": document["containers"][look[0].held.containers.index(one.container)],
            "findings": [shown for shown, finding in zip(document["findings"], look[1]) if finding in own],
        }
        made.append(json.dumps(event))
    return "".join(f"{line}\n" for line in made)


def _changes(before: Look | None, after: Look | None) -> tuple[Change, ...]:
    return changes(before[0].held if before else None, after[0].held if after else None)


def _look(change: Change, before: Look | None, after: Look | None) -> Look:
    """The look that knows the container."""
    look = before if change.type == "DELETED" else after
    assert look is not None
    return look


def _of(change: Change, findings: Sequence[Finding]) -> list[Finding]:
    own = change.container
    titles = {own.title, own.title.rpartition("/")[0]}
    return [one for one in findings if titles & set(one.subjects)]
