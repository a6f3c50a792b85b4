"""Listings: labels in columns, and beside them a text that goes on under itself."""

from __future__ import annotations

from gputopo.reports.blocks import Cell, Listing
from gputopo.reports.style import Style
from gputopo.reports.text.flow import cell_width, labelled, tidy

_GAP = 2  # blanks behind a label
_SHARE = 2  # labels take at most one part in so many of the width


def listing_lines(listing: Listing, style: Style) -> list[Cell]:
    rows = [
        (tuple(tidy(one, style) for one in row.labels), [tidy(one, style) for one in row.parts if one])
        for row in listing.rows
    ]
    count = max((len(labels) for labels, _ in rows), default=0)
    widths = [max((cell_width(labels[at]) for labels, _ in rows if at < len(labels)), default=0) for at in range(count)]
    room = style.columns // _SHARE - (_GAP + 1) * count
    # A label that is longer than there is room stands in a line of its own; the others keep their column.
    while widths and sum(widths) > room > 0:
        widest = max(range(count), key=widths.__getitem__)
        taken = [cell_width(labels[widest]) for labels, _ in rows if widest < len(labels)]
        shorter = [each for each in taken if each < widths[widest]]
        widths[widest] = max(shorter, default=4)
        if not shorter:
            break
    start = sum(widths) + _GAP * count
    lines: list[Cell] = []
    for labels, parts in rows:
        columns = [(label, width + _GAP) for label, width in zip(labels, widths)]
        lines += labelled(columns, parts, start, style)
    return lines
