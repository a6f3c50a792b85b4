"""The fields of a device, which v1beta1 has under `basic`, moved directly under the device, where v1 has them."""

from __future__ import annotations

import re

from gputopo.rules.manifests.fixes.layout import Entry, Layout, drawn_back, layout, line_end, line_of
from gputopo.terms.edits import Edit, Mend
from gputopo.terms.manifest import Manifest, Path

_OPENING = re.compile(r"\s*:\s*\{\s*")
_BETWEEN = re.compile(r"\s*,\s*")
_CLOSING = re.compile(r"\s*,?\s*\}")
_COLON = re.compile(r"\s*:[ \t]*")


def without_basic(manifest: Manifest, path: Path) -> Mend:
    """Of one device; without edits and without a reason where it has no `basic`."""
    own = layout(manifest, manifest.node(path))
    basic = next((one for one in own.entries if one.name == "basic"), None)
    if own.why_not or basic is None:
        return Mend((), own.why_not)
    inner = layout(manifest, basic.node)
    if inner.why_not or not inner.entries:
        return Mend((), inner.why_not or "basic is empty")
    both = sorted(set(inner.names) & set(own.names))
    if both:
        return Mend((), f"a device has {both[0]} both under basic and beside it")
    edits = _of_flow(manifest, own, inner, basic) if inner.flow else _of_block(manifest, inner, basic)
    return Mend((), "basic has an anchor, a tag or a comment beside its brackets") if edits is None else Mend(edits)


def _of_block(manifest: Manifest, inner: Layout, basic: Entry) -> tuple[Edit, ...] | None:
    """Its key goes, its lines move to the left; what a comment says behind the key or below it stays."""
    source = manifest.source
    first = inner.entries[0]
    key_end = source.offset(basic.key.end_mark)
    colon = _COLON.match(source.text, key_end)
    if colon is None:
        return None
    behind = source.text[colon.end() : first.start]
    begin = line_of(source, first.start)
    if behind.strip() and not behind.lstrip().startswith("#"):
        return None
    if behind.strip():
        edits = [Edit(basic.start, colon.end(), "")]
        begin = line_of(source, basic.start)
    else:
        edits = [Edit(basic.start, first.start, "")]
    by = first.key.start_mark.column - basic.key.start_mark.column
    lines = range(begin + 1, line_of(source, max(basic.end - 1, first.start)) + 1)
    return (*edits, *drawn_back(source, lines, by))


def _of_flow(manifest: Manifest, own: Layout, inner: Layout, basic: Entry) -> tuple[Edit, ...] | None:
    """Its brackets go; under a device that is a block each field gets a line of its own."""
    source, text = manifest.source, manifest.source.text
    first, last = inner.entries[0], inner.entries[-1]
    opening = _OPENING.fullmatch(text, source.offset(basic.key.end_mark), first.start)
    closing = _CLOSING.fullmatch(text, last.end, basic.end)
    if opening is None or closing is None:
        return None
    edits = [Edit(basic.start, first.start, ""), Edit(last.end, basic.end, "")]
    if own.flow:
        by = first.key.start_mark.column - basic.key.start_mark.column
        lines = range(line_of(source, first.start) + 1, line_of(source, last.end) + 1)
        return (*edits, *drawn_back(source, lines, by if by > 0 and opening[0].count("\n") else 0))
    apart = line_end(source) + " " * basic.key.start_mark.column
    for one, following in zip(inner.entries, inner.entries[1:]):
        if _BETWEEN.fullmatch(text, one.end, following.start) is None:
            return None
        edits.append(Edit(one.end, following.start, apart))
    return tuple(edits)
