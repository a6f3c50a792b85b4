"""`fleet` as blocks: how many shapes, who is odd and by which field, what was found, held, read twice, not read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from gputopo.fleet.odd import Odd
from gputopo.fleet.part import Node
from gputopo.fleet.report import Report, Shape, at, named, said, where
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Note, Notes, Row, Span, Table, Text, cell
from gputopo.reports.views.allocate_fleet import what
from gputopo.reports.views.words import file_name
from gputopo.rules.codes import name as rule_name
from gputopo.rules.wording import counted

T = TypeVar("T")


class Most(NamedTuple):
    """How much is shown without -v. `names`: nodes in a line."""

    shapes: int = 12
    lines: int = 20
    names: int = 3


TEXT, _ALL = Most(), Most(sys.maxsize, sys.maxsize, sys.maxsize)
PAGE = Most(500, 1000, 20)
_CUT, _MACHINE = 60, 16  # characters of a value, of a machine's name


def blocks(
    report: Report, *, verbose: bool = False, quiet: bool = False, tables: bool = False, most: Most = TEXT
) -> tuple[Block, ...]:  # fmt: skip
    """tables: what text says in sentences is a table with headings, a row for each odd node and field."""
    most = _ALL if verbose else most
    made: list[Block] = [Text(_answer(report)), *_shapes(report, most, "SHAPES" if tables else "")]
    made += _odd_table(report, most) if tables else _odd(report, most)
    if not quiet:
        made += [*_findings(report, most, heads=tables), *_held(report, most)]
    made += [*_split(report, most), *_twice(report, most), *_lost(report, most)]
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


def _shapes(report: Report, most: Most, title: str) -> list[Block]:
    if not report.shapes:
        return []
    shown = report.shapes[: most.shapes]
    rows = [_head("NODES", "SHAPE", "EXAMPLE", "GPUS"), *(_shape(one, report.nodes) for one in shown)]
    columns = (*(Column() for _ in range(3)), Column(fold=True))
    made: list[Block] = [Blank(), Table(title, (), columns, tuple(rows), 0)]
    if len(shown) < len(report.shapes):
        rest = report.shapes[most.shapes :]
        nodes = sum(len(one.members) for one in rest)
        made.append(Text(cell(f"and {counted(len(rest), 'shape')} more of {counted(nodes, 'node')} (-v)", "dim")))
    return made


def _head(*words: str) -> Row:
    return Row(tuple(cell(word, "dim") for word in words))


def _shape(one: Shape, of: int) -> Row:
    example = one.members[0]
    vague = "" if one.exact else " (too regular to be told apart for certain)"
    return Row((
        cell(f"{len(one.members):,}"), cell(one.fingerprint), cell(example.name or file_name(example.source)),
        (Span(f"{what(one.outline)}{vague}   "), Span(_cut(one.product.product or "", _MACHINE), "dim")),
    ), len(one.members) / of)  # fmt: skip


def _odd(report: Report, most: Most) -> list[Block]:
    found = report.compared.odd
    if not found:
        return []
    notes = tuple(_odd_note(one, most) for one in _some(found, most))
    return [Blank(), Notes("ODD", (*notes, *_more(found, most)))]


def _odd_table(report: Report, most: Most) -> list[Block]:
    found = [(node, one) for one in report.compared.odd for node in one.nodes]
    if not found:
        return []
    rows = [_head("NODE", "FIELD", "DEVICES", "FOUND", "USUAL", "NODES", "PRODUCT")]
    for node, one in found[: most.lines]:
        agree = f"{one.agree:,} of {one.of:,}"
        rows.append(Row((
            cell(_name(node), "strong"), cell(one.field), cell(at("[]", one.keys)[1:-1]),
            cell(_cut(said(one.found)), "warning"), cell(_cut(said(one.expected))), cell(agree),
            cell(one.product.title, "dim"),
        )))  # fmt: skip
    made: list[Block] = [Blank(), Table("ODD", (), tuple(Column() for _ in range(7)), tuple(rows), by=1)]
    rest = len(found) - most.lines
    return [*made, Text(cell(f"and {rest:,} more (-v)", "dim"))] if rest > 0 else made


def _odd_note(one: Odd, most: Most) -> Note:
    of = f" of {one.product.title}" if one.product.title else ""
    return Note((
        Span(_names(one.nodes, most), "strong"), Span(f"  {where(one)}: "), Span(_cut(said(one.found)), "warning"),
        Span(f", usual {_cut(said(one.expected))} ({one.agree:,} of {one.of:,} nodes{of})"),
    ))  # fmt: skip


def _findings(report: Report, most: Most, *, heads: bool) -> list[Block]:
    if not report.tallies:
        return []
    rows = [_head("SEVERITY", "RULE", "NAME", "NODES", "EXAMPLE")] if heads else []
    eg = "" if heads else "e.g. "
    rows += [
        Row((cell(one.severity, one.severity), cell(one.rule), cell(rule_name(one.rule)),
             cell(f"{one.nodes:,} of {report.nodes:,} nodes"), cell(f"{eg}{_name(one.example)}", "dim")),
            one.nodes / report.nodes)
        for one in _some(report.tallies, most)
    ]  # fmt: skip
    return [Blank(), Table("FOUND", (), tuple(Column() for _ in range(5)), tuple(rows), by=0)]


def _held(report: Report, most: Most) -> Iterator[Block]:
    if report.owners:
        yield Blank()
        notes = tuple(
            Note((Span(one.owner, "strong"), Span(f"  {counted(one.pods, 'pod')} on {counted(one.nodes, 'node')}"
                  f", {one.avoidable:,} with a better set free; e.g. {named(one.example)}")))
            for one in _some(report.owners, most)
        )  # fmt: skip
        yield Notes("CROSS SOCKETS", (*notes, *_more(report.owners, most)))
    if report.apart.of:
        apart = report.apart
        yield Blank()
        where_ = f"  {_names(apart.nodes, most)}" if apart.nodes else ""
        free = f"{apart.free:,} GPUs on {counted(apart.of, 'node')}"
        yield KeyValue("FREE", (cell(f"{free}, {apart.lost:,} of them lost to fragmentation{where_}"),))


def _split(report: Report, most: Most) -> list[Block]:
    found = report.compared.split
    if not found:
        return []
    notes = []
    for one in _some(found, most):
        values = ", ".join(f"{_cut(value)} ({nodes:,})" for value, nodes in one.values[: TEXT.names])
        notes.append(Note(cell(f"{at(one.field, (one.key,))} of {one.product.title or 'all'}: {values}")))
    return [Blank(), Notes("NO MAJORITY", (*notes, *_more(found, most)))]


def _twice(report: Report, most: Most) -> list[Block]:
    if not report.twice:
        return []
    notes = tuple(
        Note(cell(f"{_sources(one.nodes, most)}: the same {one.by}; the first counts"))
        for one in _some(report.twice, most)
    )
    return [Blank(), Notes("TWICE", (*notes, *_more(report.twice, most)))]


def _lost(report: Report, most: Most) -> list[Block]:
    if not report.lost:
        return []
    reasons: dict[str, list[str]] = {}
    for one in report.lost:
        reasons.setdefault(one.reason, []).append(one.source)
    notes = tuple(Note(cell(f"{_listed(sources, most)}: {reason}")) for reason, sources in reasons.items())
    return [Blank(), Notes("NOT READ", (*_some(notes, most), *_more(notes, most)))]


def _some(found: Sequence[T], most: Most) -> Sequence[T]:
    return found[: most.lines]


def _more(found: Sequence[object], most: Most) -> tuple[Note, ...]:
    rest = len(found) - most.lines
    return (Note(cell(f"and {rest:,} more (-v)", "dim")),) if rest > 0 else ()


def _names(nodes: Sequence[Node], most: Most) -> str:
    return _listed([_name(node) for node in nodes], most)


def _name(node: Node) -> str:
    return node.name or file_name(node.source)


def _sources(nodes: Sequence[Node], most: Most) -> str:
    return _listed([node.source for node in nodes], most)


def _listed(names: Sequence[str], most: Most) -> str:
    shown = names[: most.names]
    more = f" and {len(names) - len(shown):,} more" if len(shown) < len(names) else ""
    return ", ".join(shown) + more


def _cut(text: str, most: int = _CUT) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
