"""What DOT, Mermaid and text have in common: a card's look, a box's letters, how links are counted."""

from __future__ import annotations

from gputopo.reports.picture.captions import pod_role
from gputopo.reports.picture.parts import Box, Bundle, Card, Picture
from gputopo.reports.views.words import cut

_BRIEF, _LONGEST = 28, 80


def colour_of(picture: Picture, card: Card) -> str:
    """The role of a card: of the set or pod it is in, else of its kind."""
    for one in picture.asked:
        if set(card.ids) & set(one.gpus):
            return f"{card.kind}-set-{one.letter.lower()}"
    for holder in picture.holders:
        if set(card.ids) & set(holder.devices):
            return f"{card.kind}-{pod_role(holder.number)}"
    return f"{card.kind}-other" if picture.asked or picture.holders else card.kind


def letters(box: Box) -> str:
    """`[PIX]`, `[NODE] [SYS]`, or nothing."""
    return " ".join(f"[{level}]" for level in box.levels)


def number(count: int | None) -> str:
    """Of links; a number that is not known is a question mark."""
    return "?" if count is None else str(count)


def link_label(bundle: Bundle) -> str:
    """`NV4` as nvidia-smi prints it, `1 xGMI`."""
    return f"{number(bundle.times)} xGMI" if bundle.kind == "xgmi" else f"NV{number(bundle.times)}"


def brief(text: str) -> str:
    """For a device, of which there are many beside each other."""
    return cut(text, _BRIEF)


def short(text: str) -> str:
    return cut(text, _LONGEST)
