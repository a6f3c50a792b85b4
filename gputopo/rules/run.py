"""Runs the rules over one node: what was found, and what could not be checked for lack of evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from gputopo.rules.codes import MODULES, ONLY_WHEN_OBSERVED, is_node_rule, load, matching
from gputopo.rules.finding import SEVERITIES, Finding, NotChecked
from gputopo.topology.node import NodeTopology


def run(
    node: NodeTopology, *, select: Iterable[str] = (), ignore: Iterable[str] = ()
) -> tuple[tuple[Finding, ...], tuple[NotChecked, ...]]:
    """Findings sorted by severity, code and subjects; rules without evidence sorted by code.

    `select` and `ignore` hold codes, prefixes (`GT1`) or names; no `select` means all rules, and
    `ignore` wins. Raises GputopoError for a word that means no rule.
    """
    findings: list[Finding] = []
    not_checked: list[NotChecked] = []
    kinds = {observation.kind for observation in node.observations}
    for code in chosen(select, ignore):
        beginnings = ONLY_WHEN_OBSERVED.get(code)
        if beginnings is not None and not any(kind.startswith(beginnings) for kind in kinds):
            continue
        rule = load(code)
        found = tuple(rule.check(node))
        findings.extend(found)
        needs = cast("Callable[[NodeTopology], str | None] | None", getattr(rule, "needs", None))
        # A rule that found something did have its evidence, at least for a part of the node.
        if needs and not found and (missing := needs(node)):
            not_checked.append(NotChecked(code, missing))
    place = {id: position for position, id in enumerate(_ids(node))}
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), f.rule, _places(f, place), f.message))
    return tuple(findings), tuple(not_checked)


def chosen(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[str, ...]:
    wanted = {code for word in select for code in matching(word)} or set(MODULES)
    unwanted = {code for word in ignore for code in matching(word)}
    return tuple(
        code for code in MODULES if code in wanted and code not in unwanted and is_node_rule(code)
    )


def _ids(node: NodeTopology) -> Iterable[str]:
    yield from (gpu.id for gpu in node.gpus)
    yield from (nic.id for nic in node.nics or ())


def _places(finding: Finding, place: dict[str, int]) -> tuple[tuple[int, str], ...]:
    return tuple((place.get(subject, len(place)), subject) for subject in finding.subjects)
