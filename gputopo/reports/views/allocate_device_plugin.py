"""`allocate device-plugin` as blocks: the answer first, then why, what it costs, what would be better."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.device_plugin.units import label
from gputopo.allocate.device_plugin.why import GOAL, RANDOM, sentences, set_name
from gputopo.allocate.outcome import Family
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Note, Notes, Row, Span, Table, cell
from gputopo.reports.views.allocate_beside import after, assumed, better, cost, fabric, seen
from gputopo.reports.views.allocate_refused import refusal
from gputopo.rules.wording import counted

_INDENT = 12  # under a section's title
_SHOWN_SETS, _SHOWN_WAYS = 40, 6
_COLUMNS = (Column(),) * 6


def blocks(
    report: Report, notes: Sequence[str] = (), *, verbose: bool = False, quiet: bool = False
) -> tuple[Block, ...]:  # fmt: skip
    """`notes`: what was found about the plugin's configuration."""
    answer = report.answer
    made: list[Block] = [*_head(report), Blank()]
    refused = answer.admitted is False and not answer.outcomes
    if refused:
        made += refusal(answer._replace(why=sentences(report)))
    else:
        made += _answer(report, verbose=verbose)
        if not quiet:
            made += _why(report)
            made += [*cost(report), *better(report), *fabric(report, verbose=verbose), *seen(report, verbose=verbose)]
            made += after(report)
    if not quiet:
        made += [Blank(), Notes("ASSUMED", tuple(Note(cell(text), settle) for text, settle in assumed(report, notes)))]
        made.append(KeyValue("more", (cell("-o json | gputopo allocate --help | gputopo inspect", "dim"),), role="dim"))
    return tuple(made)


def _head(report: Report) -> list[Block]:
    node = report.state.node
    where = f" on {node.name}" if node.name else ""
    parts = [cell(f"{report.request.resource}: {report.request.size}{where}", "strong")]
    free, groups = report.state.free, report.grouping
    if groups is not None and set(groups.of) == set(free):
        names = sorted(set(groups.of.values()), key=lambda one: (len(one), one))
        for name in names:
            own = [_short(gpu) for gpu in free if groups.of[gpu] == name]
            parts.append(cell(f"{groups.noun} {name} -> {' '.join(own)}"))
        parts[1] = (Span("free: "), *parts[1])
    elif report.answer.unit == "replica":
        parts.append(cell(f"free: {len(free)} of {len(report.state.units)} replicas"))
    elif len(free) <= 16:
        parts.append(cell(f"free: {' '.join(_short(label(node, one)) for one in free)}"))
    else:
        parts.append(cell(f"free: {len(free)} of {len(report.state.units)}"))
    return [Table("", tuple(parts), (), ())]


def _short(gpu: str) -> str:
    return gpu[3:] if gpu.startswith("GPU") and gpu[3:].isdigit() else gpu


def _answer(report: Report, *, verbose: bool) -> list[Block]:
    answer = report.answer
    node = report.state.node
    sets = [(set_name([label(node, unit) for unit in one.devices]), one.defect) for one in answer.outcomes]
    if not sets and not answer.families:
        return [KeyValue("ANSWER", (cell("not decided", "warning"),))]
    if len(sets) == 1 and answer.outcomes_complete and not answer.families:
        made: list[Block] = [KeyValue("ANSWER", (_set(*sets[0]), cell(_crossing(report))))]
    elif sets:
        head = f"one of {len(sets)} sets{_every(report)}"
        made = [KeyValue("ANSWER", (cell(head),))]
        most = len(sets) if verbose else _SHOWN_SETS
        shown = [_set(*one) for one in sets[:most]]
        if len(sets) > most:
            shown.append(cell(f"and {len(sets) - most} more (-v)"))
        made.append(KeyValue("", tuple(shown)))
    else:
        ways = sum(family.ways for family in answer.families)
        made = [KeyValue("ANSWER", (cell(f"one of {ways} sets, by family:"),))]
    if not sets or not answer.outcomes_complete:
        made += [KeyValue("", (cell(_family(report, family)),)) for family in answer.families[:_SHOWN_WAYS]]
        if len(answer.families) > _SHOWN_WAYS:
            made.append(KeyValue("", (cell(f"and {len(answer.families) - _SHOWN_WAYS} families more (-o json)"),)))
    if len(sets) > 1 or answer.families:
        made.append(KeyValue("", (cell(_chance(report)),)))
    if answer.admitted is None:
        made.append(KeyValue("", (cell("whether the pod is admitted is not certain, see WHY", "warning"),)))
    return made


def _set(name: str, defect: str | None) -> Cell:
    return cell(f"{name} then dies" if defect else name, "error" if defect else "strong")


def _family(report: Report, family: Family) -> str:
    forced, of = (
        set_name([label(report.state.node, unit) for unit in units]) for units in (family.forced, family.of)
    )
    if not family.choose:
        return forced
    times = f", {family.times} units of each" if family.times > 1 else ""
    head = f"{forced} and " if family.forced else ""
    return f"{head}any {family.choose} of {of}{times}   ({counted(family.ways, 'set')})"


def _chance(report: Report) -> str:
    if report.plugin.ordered is not None:
        return "for the order given"
    if len(report.answer.outcomes) < 2 and not report.answer.families:
        return ""
    return f"which of them cannot be predicted: {RANDOM}"


def _crossing(report: Report) -> str:
    one = report.answer.outcomes[0]
    if one.cross_package:
        return "crosses sockets"
    return "crosses NUMA nodes" if one.cross_numa else ""


def _every(report: Report) -> str:
    """`, and every one crosses sockets (3+1)`; `, 16 of them cross sockets`."""
    outcomes = report.answer.outcomes
    if report.request.size < 2:
        return ""
    for attribute, noun in (("cross_package", "sockets"), ("cross_numa", "NUMA nodes")):
        flags = [getattr(one, attribute) for one in outcomes]
        if any(flag is None for flag in flags):
            continue
        crossing = sum(flags)
        if crossing == len(flags):
            return f", and every one crosses {noun}{_shapes(report)}"
        if crossing:
            return f", {crossing} of them cross {noun}"
        return f", none crosses {noun}" if noun == "sockets" else ", none crosses NUMA nodes"
    return ""


def _shapes(report: Report) -> str:
    groups = report.grouping
    if groups is None or any(gpu not in groups.of for one in report.answer.outcomes for gpu in one.gpus):
        return ""
    shapes = set()
    for one in report.answer.outcomes:
        own = [groups.of[gpu] for gpu in one.gpus]
        shapes.add("+".join(str(count) for count in sorted((own.count(name) for name in set(own)), reverse=True)))
    return f" ({shapes.pop()})" if len(shapes) == 1 else ""


def _why(report: Report) -> list[Block]:
    made: list[Block] = []
    title = "WHY"
    fits = _fits(report)
    for line in (*fits, *sentences(report)):
        text = f"{line[0].upper()}{line[1:]}" if line == GOAL else line
        made.append(KeyValue(title, (cell(text),)))
        title = ""
        if line == GOAL:
            made += _ways(report)
    return made


def _fits(report: Report) -> list[str]:
    """`4 do not fit: 3 are free per socket`, where no group holds the request."""
    groups, size = report.grouping, report.request.size
    if groups is None or size < 2 or not report.ways:
        return []
    most = max(list(groups.of.values()).count(name) for name in set(groups.of.values()))
    if most >= size:
        return []
    return [f"{size} do not fit into one {groups.noun}: at most {most} are free in one"]


def _ways(report: Report) -> list[Block]:
    if len(report.ways) < 2:
        return []
    total = sum(way.sets for way in report.ways)
    best = report.ways[0].total
    second = next((way.total for way in report.ways if way.total < best), None)
    rows: list[Row] = []
    for at, way in enumerate(report.ways[:_SHOWN_WAYS]):
        shape = "+".join(map(str, way.shape)) if way.shape is not None else "sets"
        left = f", leaves {'+'.join(map(str, way.left))}" if way.left is not None and any(way.left) else ""
        wins = ""
        if way.wins:
            wins = f"<- wins by {best - second}" if at == 0 and second is not None else "<- wins"
        rows.append(Row((
            cell(f"{shape}{left}" if way.shape is not None else ""), cell(f"set {way.score}"),
            cell(f"+ rest {way.rest}"), cell(f"= {way.total}"),
            cell(f"{way.sets} of {counted(total, 'way')}"), cell(wins, "strong"),
        )))  # fmt: skip
    made: list[Block] = [Table("", (), _COLUMNS, tuple(rows), _INDENT)]
    if len(report.ways) > _SHOWN_WAYS:
        made.append(KeyValue("", (cell(f"and {len(report.ways) - _SHOWN_WAYS} lower kinds of ways"),)))
    return made
