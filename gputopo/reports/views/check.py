"""`check` as blocks: a line a node, and under it a line a field that is not as wanted or not known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.blocks import Block, Cell, KeyValue, Listed, Listing, Span, Text, cell
from gputopo.reports.check_lines import first, new
from gputopo.reports.views.fields import bare, obvious, together
from gputopo.rules.wording import counted, names

Document = Mapping[str, Any]
_ROLES = {"pass": "PIX", "fail": "error", "undecided": "warning", "unreadable": "error"}
_WORDS = {"pass": "pass", "fail": "FAIL", "undecided": "undecided", "unreadable": "unreadable"}
_MOST = 12  # lines of one node; -v has all


def blocks(
    report: Document, *, verbose: bool = False, quiet: bool = False, exit_note: str | None = None
) -> tuple[Block, ...]:  # fmt: skip
    nodes = [one for one in report["nodes"] if not quiet or one["status"] != "pass"]
    made: list[Block] = []
    if nodes:
        made.append(Listing(tuple(row for node in nodes for row in _rows(node, verbose)), by=1))
    if not quiet:
        made.append(Text(cell(_sum(report), "strong")))
    if exit_note is not None:
        made.append(KeyValue("exit", (cell(exit_note),), role="dim"))
    return tuple(made)


def _rows(node: Document, verbose: bool) -> Iterator[Listed]:
    """The name of the node stands in the first of its lines only."""
    lines = list(_lines(node))
    shown = lines if verbose or len(lines) <= _MOST else lines[: _MOST - 1]
    if len(shown) < len(lines):
        shown.append((cell(f"and {len(lines) - len(shown)} more (-v)", "dim"),))
    head = cell(_name(node)), cell(_WORDS[node["status"]], _ROLES[node["status"]])
    for parts in shown or [()]:
        yield Listed(head, parts)
        head = (), ()


def _name(node: Document) -> str:
    """The first of its sources, and how many more there are."""
    name, *more = node["name"].split(" + ")
    if name == "/":
        return node["node"] or "this node"
    name = ("stdin" if name == "-" else name) + (f" +{len(more)}" if more else "")
    return f"{name} ({node['node']})" if node["node"] and node["node"] not in name else name


def _lines(node: Document) -> Iterator[tuple[Cell, ...]]:
    for group in _alike(new(node)):
        yield _text(group), _code(node, group)
    for fields, one in _open(node["undecided"]):
        mark = (Span("undecided: ", "warning"),) if node["status"] != "undecided" else ()
        reason = one["reason"] if len(fields) == 1 else one["reason"].replace("is not", "are not", 1)
        settle = f"; add {one['settledBy']}" if one["settledBy"] else ""
        yield ((*mark, Span(", ".join(fields), "strong"), Span(f" {reason}{settle}")),)
    if node["status"] == "unreadable":
        hint = f" ({node['hint']})" if node["hint"] else ""
        yield (cell(f"{node['reason']}{hint}"),)
    known = sum(one["known"] for one in node["mismatches"])
    if known:
        yield (cell(f"known before (--baseline): {known}", "dim"),)


def _open(undecided: Sequence[Document]) -> Iterator[tuple[list[str], Document]]:
    """What the same further evidence would settle is one line."""
    groups: dict[tuple[str, str], list[Document]] = {}
    for one in undecided:
        groups.setdefault((one["reason"], one["settledBy"]), []).append(one)
    for group in groups.values():
        yield list(dict.fromkeys(one["field"] for one in group)), group[0]


def _alike(found: Sequence[Document]) -> list[list[Document]]:
    """Devices of which the same is wrong are one line."""
    groups: dict[tuple[str, ...], list[Document]] = {}
    for one in found:
        key = (bare(one["field"]), one["want"], one["found"], one["code"], one["message"])
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _text(group: Sequence[Document]) -> Cell:
    one = group[0]
    if one["message"]:
        return cell(one["message"])
    who = ""
    if not all(obvious(each["field"], id) for each in group for id in each["subjects"]):
        who = f" ({names(id for each in group for id in each['subjects'])})"
    field = together([each["field"] for each in group])
    return Span(f"{field}:", "strong"), Span(f" want {one['want']}, found {one['found']}{who}")


def _code(node: Document, group: Sequence[Document]) -> Cell:
    """`GT111 line 9`, with the file where the node has several."""
    one = group[0]
    if one["line"] is None:
        return cell(one["code"], "dim")
    several = first(node) != node["name"]
    where = f"{one['source']}:{one['line']}" if several and one["source"] else f"line {one['line']}"
    return cell(f"{one['code']} {where}", "dim")


def _sum(report: Document) -> str:
    counts = report["counts"]
    total = counted(sum(counts.values()), "node")
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    against = report["expectations"]["name"] or "built-in expectations"
    return f"{total}: {', '.join(parts)}   against {against}"
