"""FOUND: what is odd, how much it matters, because of what, what to do; and what was not checked."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.blocks import Block, Cell, Findings, Found, KeyValue, cell
from gputopo.reports.views.words import cut, file_name
from gputopo.rules.finding import SEVERITIES, Evidence, Finding, NotChecked
from gputopo.rules.wording import one_line
from gputopo.topology.node import NodeTopology

_MOST_MESSAGES = 8  # of one rule; -v and -o json have all
_MOST_EVIDENCE = 2
_LONGEST_EVIDENCE = 160


def found(
    node: NodeTopology, findings: Sequence[Finding], not_checked: Sequence[NotChecked],
    *, verbose: bool, quiet: bool,
) -> tuple[Block, ...]:  # fmt: skip
    items = tuple(_item(node, group, verbose, quiet) for group in _alike(findings))
    needs = () if quiet else tuple(map(cell, _needs(not_checked)))
    head = KeyValue("FOUND", _counts(findings))
    return (head, Findings(items, needs)) if items or needs else (head,)


def _counts(findings: Sequence[Finding]) -> tuple[Cell, ...]:
    counts = [(one, sum(finding.severity == one for finding in findings)) for one in SEVERITIES]
    said = [f"{count} {name}{'s' if name == 'error' and count > 1 else ''}" for name, count in counts if count]
    said = [word + "s" if word.endswith("warning") and not word.startswith("1 ") else word for word in said]
    return (cell(", ".join(said) or "nothing odd"),)


def _alike(findings: Sequence[Finding]) -> list[list[Finding]]:
    """The worst first; findings of a rule that say the same beyond their message are one group."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(findings, key=lambda one: SEVERITIES.index(one.severity)):
        key = (finding.severity, finding.rule, finding.matters, finding.because, finding.remedy)
        groups.setdefault(key, []).append(finding)
    return list(groups.values())


def _item(node: NodeTopology, group: Sequence[Finding], verbose: bool, quiet: bool) -> Found:
    first = group[0]
    shown = group if verbose else group[:_MOST_MESSAGES]
    messages = [cell(finding.message) for finding in shown]
    if len(shown) < len(group):
        messages.append(cell(f"and {len(group) - len(shown)} more (-v)", "dim"))
    details: list[tuple[str, Cell]] = []
    if not quiet:
        if first.severity == "info" and not verbose:
            details = _short(first)
        else:
            details = [*_sentences(first), *_evidence(node, group, verbose)]
    return Found(first.severity, first.rule, tuple(messages), tuple(details))


def _sentences(finding: Finding) -> list[tuple[str, Cell]]:
    told = (("matters", finding.matters), ("because", finding.because), ("remedy", finding.remedy))
    return [(name, cell(text)) for name, text in told if text]


def _short(finding: Finding) -> list[tuple[str, Cell]]:
    """A piece of information needs no headings; its remedy is for -v and `explain`."""
    return [("", cell(finding.matters, "dim"))] if finding.matters else []


def _evidence(node: NodeTopology, group: Sequence[Finding], verbose: bool) -> list[tuple[str, Cell]]:
    seen = list(dict.fromkeys(one for finding in group for one in finding.evidence))
    shown = seen if verbose else seen[:_MOST_EVIDENCE]
    names = {source.id: file_name(source.name) for source in node.sources}
    lines = [("evidence" if not place else "", _witness(one, names)) for place, one in enumerate(shown)]
    if len(shown) < len(seen):
        lines.append(("", cell(f"and {len(seen) - len(shown)} more (-v)", "dim")))
    return lines


def _witness(evidence: Evidence, names: dict[str, str]) -> Cell:
    where = names.get(evidence.source, evidence.source) if evidence.source else ""
    if evidence.line is not None:
        where = f"{where}:{evidence.line}" if where else f"line {evidence.line}"
    text = cut(one_line(evidence.text), _LONGEST_EVIDENCE)
    return cell(f"{where}  {text}" if where and text else where or text)


def _needs(not_checked: Sequence[NotChecked]) -> list[str]:
    """`GT101 GT103: lspci -vvv`: what would allow the check."""
    rules: dict[str, list[str]] = {}
    for one in not_checked:
        rules.setdefault(one.needs, []).append(one.rule)
    return [f"{' '.join(dict.fromkeys(codes))}: {needs}" for needs, codes in rules.items()]
