"""`fleet` as blocks: how many shapes, who is odd and by which field, what was found, held, read twice, not read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from gputopo.fleet.odd import Odd
from gputopo.fleet.part import Node
from gputopo.fleet.report import Report, Shape, at, named, said, where
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Note, Notes, Row, Span, Table, Text, cell
from gputopo.reports.views.allocate_fleet import what
from gputopo.reports.views.words import file_name
from gputopo.rules.codes import name as rule_name
from gputopo.rules.wording import counted

T = TypeVar("T")
_SHAPES, _LINES, _NAMES = 12, 20, 3  # shown without -v: shapes, lines of a list, nodes in a line
_CUT, _MACHINE = 60, 16  # characters of a value, of a machine's name


def blocks(report: Report, *, verbose: bool = False, quiet: bool = False) -> tuple[Block, ...]:
    made: list[Block] = [Text(_answer(report))]
    made += _shapes(report, verbose)
    made += _odd(report, verbose)
    if not quiet:
        made += [*_findings(report, verbose), *_held(report, verbose)]
    made += [*_split(report, verbose), *_twice(report, verbose), *_lost(report, verbose)]
    if not quiet:
        notes = tuple(Note(cell(one)) for one in report.assumptions)
        made += [Blank(), *([Notes("ASSUMED", notes)] if notes else [])]
        more = "" if verbose else "-v (all lines) | "
        made.append(KeyValue("more", (cell(f"{more}-o json | -o csv (a row a node) | gputopo inspect NODE", "dim"),),
                             role="dim"))  # fmt: skip
    return tuple(made)


def _answer(report: Report) -> Cell:
    lost = f"{counted(len(report.lost), 'source')} not read" if report.lost else ""
    if not report.nodes:
        return cell(f"no node was read{': ' + lost if lost else ''}", "error")
    groups, shapes = len(report.groups), len(report.shapes)
    head = f"{counted(report.nodes, 'node')} of {counted(groups, 'product')} in {counted(shapes, 'shape')}"
    odd, again = report.odd_nodes, sum(len(one.nodes) - 1 for one in report.twice)
    parts = [counted(odd, "odd node") if odd else "none is odd", f"{again:,} read twice" if again else "", lost]
    return cell(f"{head}: {', '.join(part for part in parts if part)}", "warning" if odd or lost else "strong")


def _shapes(report: Report, verbose: bool) -> list[Block]:
    if not report.shapes:
        return []
    shown = report.shapes if verbose else report.shapes[:_SHAPES]
    head = Row(tuple(cell(word, "dim") for word in ("NODES", "SHAPE", "EXAMPLE", "GPUS")))
    rows = [head, *(_shape(one) for one in shown)]
    columns = (*(Column() for _ in range(3)), Column(fold=True))
    made: list[Block] = [Blank(), Table("", (), columns, tuple(rows), 0)]
    if len(shown) < len(report.shapes):
        rest = report.shapes[_SHAPES:]
        nodes = sum(len(one.members) for one in rest)
        made.append(Text(cell(f"and {counted(len(rest), 'shape')} more of {counted(nodes, 'node')} (-v)", "dim")))
    return made


def _shape(one: Shape) -> Row:
    example = one.members[0]
    vague = "" if one.exact else " (too regular to be told apart for certain)"
    return Row((
        cell(f"{len(one.members):,}"), cell(one.fingerprint), cell(example.name or file_name(example.source)),
        (Span(f"{what(one.outline)}{vague}   "), Span(_cut(one.product.product or "", _MACHINE), "dim")),
    ))  # fmt: skip


def _odd(report: Report, verbose: bool) -> list[Block]:
    found = report.compared.odd
    if not found:
        return []
    notes = tuple(_odd_note(one, verbose) for one in _some(found, verbose))
    return [Blank(), Notes("ODD", (*notes, *_more(found, verbose)))]


def _odd_note(one: Odd, verbose: bool) -> Note:
    of = f" of {one.product.title}" if one.product.title else ""
    return Note((
        Span(_names(one.nodes, verbose), "strong"), Span(f"  {where(one)}: "), Span(_cut(said(one.found)), "warning"),
        Span(f", usual {_cut(said(one.expected))} ({one.agree:,} of {one.of:,} nodes{of})"),
    ))  # fmt: skip


def _findings(report: Report, verbose: bool) -> list[Block]:
    if not report.tallies:
        return []
    rows = tuple(
        Row((cell(one.severity, one.severity), cell(one.rule), cell(rule_name(one.rule)),
             cell(f"{one.nodes:,} of {report.nodes:,} nodes"),
             cell(f"e.g. {one.example.name or file_name(one.example.source)}", "dim")))
        for one in _some(report.tallies, verbose)
    )  # fmt: skip
    return [Blank(), Table("FOUND", (), tuple(Column() for _ in range(5)), rows)]


def _held(report: Report, verbose: bool) -> Iterator[Block]:
    if report.owners:
        yield Blank()
        notes = tuple(
            Note((Span(one.owner, "strong"), Span(f"  {counted(one.pods, 'pod')} on {counted(one.nodes, 'node')}"
                  f", {one.avoidable:,} with a better set free; e.g. {named(one.example)}")))
            for one in _some(report.owners, verbose)
        )  # fmt: skip
        yield Notes("CROSS SOCKETS", (*notes, *_more(report.owners, verbose)))
    if report.apart.of:
        apart = report.apart
        yield Blank()
        where_ = f"  {_names(apart.nodes, verbose)}" if apart.nodes else ""
        free = f"{apart.free:,} GPUs on {counted(apart.of, 'node')}"
        yield KeyValue("FREE", (cell(f"{free}, {apart.lost:,} of them lost to fragmentation{where_}"),))


def _split(report: Report, verbose: bool) -> list[Block]:
    found = report.compared.split
    if not found:
        return []
    notes = []
    for one in _some(found, verbose):
        values = ", ".join(f"{_cut(value)} ({nodes:,})" for value, nodes in one.values[:_NAMES])
        notes.append(Note(cell(f"{at(one.field, (one.key,))} of {one.product.title or 'all'}: {values}")))
    return [Blank(), Notes("NO MAJORITY", (*notes, *_more(found, verbose)))]


def _twice(report: Report, verbose: bool) -> list[Block]:
    if not report.twice:
        return []
    notes = tuple(
        Note(cell(f"{_sources(one.nodes, verbose)}: the same {one.by}; the first counts"))
        for one in _some(report.twice, verbose)
    )
    return [Blank(), Notes("TWICE", (*notes, *_more(report.twice, verbose)))]


def _lost(report: Report, verbose: bool) -> list[Block]:
    if not report.lost:
        return []
    reasons: dict[str, list[str]] = {}
    for one in report.lost:
        reasons.setdefault(one.reason, []).append(one.source)
    notes = tuple(Note(cell(f"{_listed(sources, verbose)}: {reason}")) for reason, sources in reasons.items())
    return [Blank(), Notes("NOT READ", (*_some(notes, verbose), *_more(notes, verbose)))]


def _some(found: Sequence[T], verbose: bool) -> Sequence[T]:
    return found if verbose else found[:_LINES]


def _more(found: Sequence[object], verbose: bool) -> tuple[Note, ...]:
    rest = 0 if verbose else len(found) - _LINES
    return (Note(cell(f"and {rest:,} more (-v)", "dim")),) if rest > 0 else ()


def _names(nodes: Sequence[Node], verbose: bool) -> str:
    return _listed([node.name or file_name(node.source) for node in nodes], verbose)


def _sources(nodes: Sequence[Node], verbose: bool) -> str:
    return _listed([node.source for node in nodes], verbose)


def _listed(names: Sequence[str], verbose: bool) -> str:
    shown = names if verbose else names[:_NAMES]
    more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return ", ".join(shown) + more


def _cut(text: str, most: int = _CUT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
