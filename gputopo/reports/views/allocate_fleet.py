"""`allocate MECHANISM --fleet` as blocks: on how many shapes the pod is fine, a line a shape, what was not read."""

from __future__ import annotations

from gputopo.fleet.admission import Judged, Report, Unreadable
from gputopo.fleet.shape import Outline
from gputopo.fleet.verdict import FINE, REFUSED, SOMETIMES, SPLIT, UNDECIDED
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Note, Notes, Row, Span, Table, Text, cell
from gputopo.reports.views import allocate_parts as parts
from gputopo.reports.views.words import file_name, gibibytes
from gputopo.rules.wording import counted

_ROLES = {FINE: "strong", SPLIT: "warning", REFUSED: "error", UNDECIDED: "warning"}
_HEADS = ("VERDICT", "NODES", "SHAPE", "FREE", "GPUS", "")  # the last is why
_MOST = 3  # unreadable ones that are named for each reason
_WORDS = {SPLIT: "can be split", REFUSED: "can be refused"}  # by chance


def blocks(report: Report, *, verbose: bool = False, quiet: bool = False) -> tuple[Block, ...]:
    made: list[Block] = [Text(_answer(report))]
    if not quiet:
        made += [*_asked(report), *parts.decides(report.decides, report.mechanism)]
    if report.shapes:
        head = Row(tuple(cell(word, "dim") for word in _HEADS))
        columns = (*(Column() for _ in _HEADS[:-1]), Column(fold=True))
        rows = (head, *(_row(one) for one in report.shapes))
        made += [Blank(), Table("", (), columns, rows, 0)]
    if verbose:
        for one in report.shapes:
            made += [Blank(), *_more(one)]
    made += _unreadable(report.unreadable, verbose=verbose)
    if not quiet:
        notes = tuple(Note(cell(one.text), one.settle) for one in report.assumptions)
        made += [Blank(), *([Notes("ASSUMED", notes)] if notes else [])]
        more = "-o json (every node) | -o junit" if verbose else "-v (all reasons) | -o json (every node) | -o junit"
        made.append(KeyValue("more", (cell(f"{more} | gputopo allocate {report.mechanism} NODE", "dim"),), role="dim"))
    return tuple(made)


def _answer(report: Report) -> Cell:
    """The first line."""
    fine, shapes, nodes = report.tally(FINE), len(report.shapes), report.nodes
    unread = f"{counted(len(report.unreadable), 'source')} unreadable" if report.unreadable else ""
    if not shapes:
        return cell(f"no node could be asked: {unread or 'nothing was found'}", "error")
    every = f"{counted(shapes, 'node shape')} ({counted(nodes, 'node')})"
    if fine.shapes == shapes:
        return cell(f"fine on {'all ' if shapes > 1 else ''}{every}{'; ' + unread if unread else ''}", "strong")
    others = []
    for verdict in (REFUSED, SPLIT, UNDECIDED):
        count = report.tally(verdict)
        if count.shapes:
            others.append(f"{verdict} on {count.shapes} ({counted(count.nodes, 'node')})")
    said = f"fine on {fine.shapes} of {counted(shapes, 'node shape')} ({fine.nodes} of {counted(nodes, 'node')})"
    role = "error" if report.tally(REFUSED).shapes else "warning"
    return cell(f"{said}: {', '.join(others)}{'; ' + unread if unread else ''}", role)


def _asked(report: Report) -> list[Block]:
    request = report.request
    if request is None:
        return []
    asked = [cell(f"{request.resource}: {request.size}")]
    if request.cpus is not None:
        asked.append(cell(f"{request.cpus} exclusive CPUs"))
    if request.memory_bytes is not None:
        asked.append(cell(f"{gibibytes(request.memory_bytes)} pinned"))
    if report.pod is not None:
        asked.append(cell(f"{report.pod.kind} {report.pod.name or ''}".rstrip()))
    return [Table("", tuple(asked), (), ())]


def _row(one: Judged) -> Row:
    verdict = one.verdict
    word = _WORDS.get(verdict.verdict, verdict.verdict) if verdict.often == SOMETIMES else verdict.verdict
    free = "" if one.free is None or one.units is None else f"{one.free}/{one.units}"
    example = one.members[0]
    like = example.node or file_name(example.source)
    why = f"{verdict.why[0]}   " if verdict.why else ""
    return Row((
        cell(word, _ROLES[verdict.verdict]), cell(str(len(one.members))), cell(one.fingerprint), cell(free),
        cell(what(one.outline)), (Span(why), Span(f"e.g. {like}", "dim")),
    ))  # fmt: skip


def what(outline: Outline | None) -> str:
    """`8x H100 80GB HBM3, 2 sockets, 10 NICs`."""
    if outline is None:
        return "slices only"
    models = " + ".join(name.removeprefix("NVIDIA ") for name in outline.models)
    found = [f"{outline.gpus}x {models}" if models else counted(outline.gpus, "GPU")]
    if outline.packages is not None:
        found.append(counted(outline.packages, "socket"))
    elif outline.numa_nodes:
        found.append(counted(outline.numa_nodes, "NUMA node"))
    if outline.nics:
        found.append(counted(outline.nics, "NIC"))
    return ", ".join(found)


def _more(one: Judged) -> list[Block]:
    verdict, example = one.verdict, one.members[0]
    named = f"{example.node} ({example.source})" if example.node else example.source
    made: list[Block] = [KeyValue(one.key, (cell(named),))]
    made += [KeyValue("", (cell(line),), key="why" if not at else "") for at, line in enumerate(verdict.why)]
    if one.message and one.message not in verdict.why:
        made.append(KeyValue("", (cell(one.message),), key="message"))
    if one.sets:
        made.append(KeyValue("", tuple(cell(_set(gpus)) for gpus in one.sets[: parts.SHOWN_SETS]), key="sets"))
    if verdict.best is not None and len(verdict.best.sets[0]) > 1:
        best = tuple(cell(_set(gpus)) for gpus in verdict.best.sets[: parts.SHOWN_FAMILIES])
        made.append(KeyValue("", best, key="best"))
    if not one.exact:
        text = "too regular to be canonised: nodes like it may stand in several lines"
        made.append(KeyValue("", (cell(text),), key="shape"))
    return made


def _set(gpus: tuple[str, ...]) -> str:
    return "{" + ",".join(parts.short(gpu) for gpu in gpus) + "}"


def _unreadable(found: tuple[Unreadable, ...], *, verbose: bool) -> list[Block]:
    if not found:
        return []
    by_reason: dict[str, list[str]] = {}
    for one in found:
        by_reason.setdefault(one.reason, []).append(one.source)
    notes = []
    for reason, sources in by_reason.items():
        shown = sources if verbose else sources[:_MOST]
        more = f" and {len(sources) - len(shown)} more (-v)" if len(shown) < len(sources) else ""
        notes.append(Note(cell(f"{', '.join(shown)}{more}: {reason}")))
    return [Blank(), Notes("NOT READ", tuple(notes))]
