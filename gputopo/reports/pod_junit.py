"""PodAudits as JUnit XML: one test case a pod that holds devices, or a job of several pods.

A failure where a finding of it is at or above --fail-on, skipped where one is only worth a word. What is found of no
pod (GPUs lost to fragmentation, a pod that was refused) is a case of its own, named by its rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.junit import Case, suite
from gputopo.rules.finding import SEVERITIES

_SUITE = "gputopo.pods"
Document = Mapping[str, Any]


def junit(audits: Sequence[Document], fail_on: str) -> str:
    worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on in SEVERITIES else ()
    cases = [case for one in audits for case in _cases(one, worst)]
    assumed = dict.fromkeys(note["text"] for one in audits for note in one["assumptions"])
    return suite(_SUITE, cases, {"nodes": len(audits)}, list(assumed))


def _cases(audit: Document, worst: Sequence[str]) -> Iterator[Case]:
    of_class = f"{_SUITE}.{audit['node'] or 'node'}"
    left = list(audit["findings"])
    for title, also in _subjects(audit):
        own = [one for one in left if set(one["subjects"]) & also]
        left = [one for one in left if one not in own]
        yield _case(title, of_class, own, worst)
    for one in left:
        yield _case(" ".join((one["rule"], *one["subjects"])), of_class, [one], worst)


def _subjects(audit: Document) -> Iterator[tuple[str, set[str]]]:
    """(name of the case, the subjects under which its findings stand) of each pod and job."""
    containers: dict[str, set[str]] = {}
    for one in audit["containers"]:
        pod = _title(one["namespace"], one["pod"], one["podUID"])
        name = one["container"] or "container"
        own = containers.setdefault(pod or name, {pod} if pod else set())
        own.add(f"{pod}/{name}" if pod else name)
    yield from containers.items()
    for one in audit["owners"]:
        if len(one["pods"]) > 1:
            title = f"{one['kind']} {one['namespace'] or '?'}/{one['name']}"
            yield title, {title}


def _title(namespace: str | None, name: str | None, uid: str | None) -> str:
    return f"{namespace or '?'}/{name}" if name else f"pod {uid}" if uid else ""


def _case(name: str, of_class: str, found: Sequence[Document], worst: Sequence[str]) -> Case:
    if not found:
        return Case(name, of_class)
    first = min(found, key=lambda one: SEVERITIES.index(one["severity"]))
    lines = [line for one in found for line in _lines(one)]
    outcome = "failure" if first["severity"] in worst else "skipped"
    return Case(name, of_class, outcome, first["rule"], first["message"], lines)


def _lines(one: Document) -> Iterator[str]:
    yield f"{one['severity']} {one['rule']} {one['message']}"
    for key in ("matters", "because", "remedy"):
        if one[key]:
            yield f"{key}: {one[key]}"
    for proof in one["evidence"]:
        yield f"evidence: {proof['text']}"
