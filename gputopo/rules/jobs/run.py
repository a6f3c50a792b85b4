"""Runs the rules over one job, and those over its node that touch the job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.rules import run as node_rules
from gputopo.rules.codes import MODULES, is_job_rule, matching
from gputopo.rules.finding import SEVERITIES, Finding, NotChecked
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.needs import needs


class JobRule(Protocol):
    CODE: str
    SEVERITY: str

    def check(self, diagnosis: Diagnosis) -> Iterator[Finding]: ...


def run(
    diagnosis: Diagnosis, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> tuple[tuple[Finding, ...], tuple[NotChecked, ...]]:
    """Findings by severity, the job's before the node's; what could not be checked."""
    wanted = {code for word in select for code in matching(word)} or set(MODULES)
    unwanted = {code for word in ignore for code in matching(word)}
    own = [
        one
        for code in MODULES
        if is_job_rule(code) and code in wanted - unwanted
        for one in cast(JobRule, import_module(f"gputopo.rules.{MODULES[code]}")).check(diagnosis)
    ]
    of_node, not_checked = _of_node(diagnosis, select, ignore)
    found = sorted([*own, *of_node], key=lambda one: SEVERITIES.index(one.severity))
    own_needs = tuple(one for one in needs(diagnosis) if one.rule in wanted - unwanted)
    return tuple(found), (*own_needs, *not_checked)


def _of_node(
    diagnosis: Diagnosis, select: Iterable[str], ignore: Iterable[str]
) -> tuple[list[Finding], tuple[NotChecked, ...]]:  # fmt: skip
    """Nothing where the node is made of what a log says: its gaps are the log's."""
    if diagnosis.job.from_log:
        return [], ()
    found, not_checked = node_rules.run(diagnosis.node, select=select, ignore=ignore)
    gpus, own = {gpu.id for gpu in diagnosis.node.gpus}, set(diagnosis.job.gpus)
    touching = [one for one in found if not gpus & set(one.subjects) or own & set(one.subjects)]
    return touching, not_checked
