"""Runs the rules over what is held on one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.rules.codes import MODULES, is_pod_rule
from gputopo.rules.finding import SEVERITIES, Finding
from gputopo.rules.pods.audit import Audit


class PodRule(Protocol):
    CODE: str
    SEVERITY: str

    def check(self, audit: Audit) -> Iterator[Finding]: ...


def rules() -> tuple[PodRule, ...]:
    return tuple(
        cast(PodRule, import_module(f"gputopo.rules.{MODULES[code]}")) for code in MODULES if is_pod_rule(code)
    )


def run(audit: Audit, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[Finding, ...]:
    """Sorted by severity, code and subjects. `select` and `ignore` hold codes; none selected: all."""
    wanted, unwanted = set(select), set(ignore)
    found = [
        one
        for rule in rules()
        if (not wanted or rule.CODE in wanted) and rule.CODE not in unwanted
        for one in rule.check(audit)
    ]
    return tuple(sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.rule, one.subjects, one.message)))
