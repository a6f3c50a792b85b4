"""The fields of a request, which stand directly under it in v1beta1, moved under `exactly`, where v1 has them.

What is moved keeps its text, with its comments; a name that stands between the fields goes behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gputopo.rules.manifests.fixes.layout import (
    Entry,
    Layout,
    begins_line,
    layout,
    lead,
    line_end,
    line_of,
    line_text,
    shifted,
    start_of,
    step,
)
from gputopo.terms.edits import NO_MEND, Edit, Mend
from gputopo.terms.manifest import Manifest, Path, SourceText

_OWN = ("name", "firstAvailable", "exactly")  # what stands beside the fields in v1


def under_exactly(manifest: Manifest, path: Path) -> Mend:
    """Of one request; without edits and without a reason where nothing is to be moved."""
    own = layout(manifest, manifest.node(path))
    moved = [one for one in own.entries if one.name not in _OWN]
    if own.why_not or not moved:
        return Mend((), own.why_not)
    beside = [one for one in own.names if one in ("exactly", "firstAvailable")]
    if beside:
        return Mend((), f"a request has both {beside[0]} and fields beside it")
    between = [one for one in own.entries if one not in moved and moved[0].start < one.start < moved[-1].start]
    edits = _in_flow(manifest, own, moved, between) if own.flow else _in_block(manifest, own, moved, between)
    return NO_MEND._replace(why_not="a comment stands where a field has to move") if edits is None else Mend(edits)


def _in_block(manifest: Manifest, own: Layout, moved: list[Entry], between: list[Entry]) -> tuple[Edit, ...]:
    source = manifest.source
    first, last = moved[0], moved[-1]
    column, by, end = first.key.start_mark.column, " " * step(manifest), line_end(source)
    begin = line_of(source, first.start)
    gone = {line for one in between for line in _lines(source, one, column)}
    behind = line_of(source, max(last.end - 1, last.start)) + 1
    if begins_line(source, first.start):
        before = [one for one in own.entries if one.start < first.start]
        begin = line_of(source, before[-1].end) + 1 if before else begin  # with the comments above the first field
        head = Edit(start_of(source, begin), start_of(source, begin), f"{' ' * column}exactly:{end}")
    else:
        head = Edit(first.start, first.start, f"exactly:{end}{' ' * column}{by}")
        begin += 1
    edits = _merged(head, shifted(source, range(begin, behind), by, column), gone, source)
    edits += [Edit(start_of(source, line), start_of(source, line + 1), "") for line in sorted(gone)]
    if gone:
        text = "".join(source.text[start_of(source, line) : start_of(source, line + 1)] for line in sorted(gone))
        place = start_of(source, behind)
        if source.text[place - 1 : place] != "\n":
            text = end + text.rstrip("\r\n")
        edits.append(Edit(place, place, text))
    return tuple(edits)


def _merged(head: Edit, shifts: Iterable[Edit], gone: set[int], source: SourceText) -> list[Edit]:
    """Two insertions at one place are one."""
    kept = [one for one in shifts if line_of(source, one.start) not in gone]
    if kept and kept[0].start == head.start:
        return [head._replace(text=head.text + kept[0].text), *kept[1:]]
    return [head, *kept]


def _lines(source: SourceText, one: Entry, column: int) -> Iterator[int]:
    """The lines of an entry, with the comments right above it."""
    begin = line_of(source, one.start)
    while begin > 0 and line_text(source, begin - 1).startswith(" " * column + "#"):
        begin -= 1
    yield from range(begin, line_of(source, max(one.end - 1, one.start)) + 1)


def _in_flow(manifest: Manifest, own: Layout, moved: list[Entry], between: list[Entry]) -> tuple[Edit, ...] | None:
    """In `{...}`, JSON too: None where a comment would have to move."""
    source = manifest.source
    first, last = moved[0], moved[-1]
    quote = first.key.style if first.key.style in ("'", '"') else ""
    head, end = f"{quote}exactly{quote}: {{", line_end(source)
    before = lead(source, first.start)
    own_lines = begins_line(source, first.start)
    edits: list[Edit] = []
    taken: list[str] = []
    for one in between:
        following = next(other for other in own.entries if other.start > one.start)
        if "#" in source.text[one.end : following.start]:
            return None
        edits.append(Edit(one.start, following.start, ""))
        taken.append(source.text[one.start : one.end])
    if not own_lines:
        tail = "}" + "".join(f", {one}" for one in taken)
        return (Edit(first.start, first.start, head), *edits, Edit(last.end, last.end, tail))
    by = "\t" if "\t" in before else " " * step(manifest)
    tail = f"{end}{before}}}" + "".join(f",{end}{before}{one}" for one in taken)
    shifts = list(shifted(source, range(line_of(source, first.start), line_of(source, last.end) + 1), by, 0))
    shifts = [one for one in shifts if not any(cut.start < one.start < cut.end for cut in edits)]
    shifts[0] = Edit(first.start, first.start, head + end + before + by)
    return (*shifts, *edits, Edit(last.end, last.end, tail))
