"""Where the entries of a mapping stand in the file, and how lines of it are moved to the right or left."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.terms.edits import Edit
from gputopo.terms.manifest import Manifest, SourceText, below

SHARED = "an anchor makes a part of it stand at several places"
_STEP = 2


class Entry(NamedTuple):
    """`start` is that of the key, `end` is behind the value; offsets of the file."""

    name: str
    start: int
    end: int
    key: Any
    node: Any


class Layout(NamedTuple):
    """The entries of one mapping; with `why_not` it is not to be touched, and why."""

    entries: tuple[Entry, ...] = ()
    flow: bool = False
    why_not: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.entries)


def layout(manifest: Manifest, node: Any) -> Layout:
    value = getattr(node, "value", None)
    if manifest.outer is not None or not isinstance(value, list):
        return Layout(why_not="its place in the file is not known")
    if manifest.is_shared(below(node)):
        return Layout(why_not=SHARED)
    entries = []
    for pair in value:
        if not isinstance(pair, tuple) or not isinstance(pair[0].value, str):
            return Layout(why_not="it has a key that is no word")
        start = manifest.source.offset(pair[0].start_mark)
        if manifest.source.text[:start].rstrip(" ").endswith("?"):
            return Layout(why_not="a key is written with ?")
        entries.append(Entry(pair[0].value, start, end_of(manifest.source, pair[1]), *pair))
    if len({one.name for one in entries}) < len(entries):
        return Layout(why_not="a key is given twice")
    return Layout(tuple(entries), bool(node.flow_style))


def end_of(source: SourceText, node: Any) -> int:
    """Behind the last character of a node. PyYAML ends a block where the next token begins."""
    while isinstance(node.value, list) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    start, end = source.offset(node.start_mark), source.offset(node.end_mark)
    if getattr(node, "style", None) in ("|", ">"):
        raw = source.text[start:end]
        kept = "+" in raw.splitlines()[0]  # the blank lines behind it are part of its value
        return end if kept else start + len(raw.rstrip())
    return end


def line_of(source: SourceText, offset: int) -> int:
    """From 0."""
    return source.place(offset).line - 1


def start_of(source: SourceText, line: int) -> int:
    """Of a line from 0; the end of the text, where there is no such line."""
    return source.starts[line] if line < len(source.starts) else len(source.text)


def lead(source: SourceText, offset: int) -> str:
    """What stands before a character on its line."""
    return source.text[start_of(source, line_of(source, offset)) : offset]


def begins_line(source: SourceText, offset: int) -> bool:
    return not lead(source, offset).strip()


def line_text(source: SourceText, line: int) -> str:
    return source.text[start_of(source, line) : start_of(source, line + 1)].rstrip("\r\n")


def line_end(source: SourceText) -> str:
    """As the file writes it."""
    first = source.text.find("\n")
    return "\r\n" if first > 0 and source.text[first - 1] == "\r" else "\n"


def step(manifest: Manifest) -> int:
    """By how many columns the file indents."""
    for node in below(manifest.tree):
        pairs = node.value if isinstance(node.value, list) else ()
        for pair in pairs:
            if not isinstance(pair, tuple):
                continue
            inner = pair[1].value if isinstance(pair[1].value, list) and pair[1].value else None
            child = inner[0][0] if inner is not None and isinstance(inner[0], tuple) else None
            if child is None or not begins_line(manifest.source, manifest.source.offset(child.start_mark)):
                continue
            found = int(child.start_mark.column - pair[0].start_mark.column)
            if found > 0:
                return found
    return _STEP


def shifted(source: SourceText, lines: range, by: str, column: int) -> Iterator[Edit]:
    """Lines moved to the right. A blank line stays, and a comment that stands further left than the lines do."""
    for line in lines:
        text = line_text(source, line)
        outside = text.lstrip().startswith("#") and len(text) - len(text.lstrip()) < column
        if text and not outside:
            yield Edit(start_of(source, line), start_of(source, line), by)


def drawn_back(source: SourceText, lines: range, most: int) -> Iterator[Edit]:
    """Lines moved to the left, as far as they have blanks for it."""
    for line in lines:
        text = line_text(source, line)
        blanks = min(most, len(text) - len(text.lstrip(" \t")))
        start = start_of(source, line)
        if blanks > 0:
            yield Edit(start, start + blanks, "")
