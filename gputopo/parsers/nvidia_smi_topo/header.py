"""The header line: column labels, then the headings of the affinity columns.

>>> header = read_header("\\t    GPU0GPU1mlx5_0\\tmlx5_2\\tCPU AffinityNUMA Affinity", 1)
>>> header.labels, header.heads
(['GPU0', 'GPU1', 'mlx5_0', 'mlx5_2'], 2)
>>> read_header("- NUMA Node 0: GPU0, GPU1", 1) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.parsers.limits import LINE_MOST

_START = re.compile(r"(?<![\w.-])GPU\d{1,4}(?!\d)")
_ITEM = re.compile(
    r"CPU\s+Affinity|NUMA\s+Affinity|GPU\s+NUMA\s+ID|(?:GPU|NIC)\d{1,4}|mlx\d+_(?:bond_?)?\d{1,3}|[^\s|]+"
)
_NUMBERED = re.compile(r"(?:GPU|NIC)\d{1,4}\Z")
_DEVICE = re.compile(r"(?!GPU|NIC)[a-zA-Z][\w.\-]*\d[\w.\-]*\Z")
_NAME = re.compile(r"[a-zA-Z][\w.\-]*\Z")
_NUMBER_AT_END = re.compile(r"(.*?)(\d+)\Z")
_HEADS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


class Header:
    """`heads`: how many of CPU Affinity, NUMA Affinity, GPU NUMA ID stand there, `None` = not told."""

    __slots__ = ("damage", "heads", "labels", "last_line", "line", "text")

    def __init__(self, labels: list[str], heads: int | None, line: int, text: str, damage: str) -> None:
        self.labels = labels
        self.heads = heads
        self.line = line
        self.last_line = line  # differs where the header was wrapped
        self.text = text
        self.damage = damage


def read_header(text: str, line: int) -> Header | None:
    """The header a line holds, with whatever stands before its first GPU label, or `None`."""
    start = _START.search(text)
    if start is None:
        return None
    return _read(_items(text[start.start() :]), line, text)


def _items(text: str) -> list[str]:
    for head in _HEADS:
        text = text.replace(head, f" {head}")  # may have run into the label before it
    return _ITEM.findall(text)


def read_continuation(text: str, line: int, before: Header) -> Header | None:
    """The header whose rest was wrapped to this line, between two words or within one."""
    if before.heads == len(_HEADS) and before.damage != "cut":
        return None
    start = _START.search(before.text)
    first = before.text[start.start() :] if start else before.text
    # Joined without a blank: two names that then are one make a label less than there are cells, which
    # shows; a name broken into two would make one more, as if the rows were cut.
    if len(before.text) > LINE_MOST:
        return None
    whole = _read(_items(first + text), before.line, before.text + text)
    if whole is None or (len(whole.labels) == len(before.labels) and whole.heads == before.heads):
        return None
    whole.damage = whole.damage or "wrapped"
    whole.last_line = line
    return whole


def _read(items: list[str], line: int, text: str) -> Header | None:
    labels: list[str] = []
    heads: list[str] = []
    damage = ""
    last = len(items) - 1
    for at, item in enumerate(items):
        if not heads and _NUMBERED.match(item):
            labels.append(item)
            continue
        name = " ".join(item.split())
        if name in _HEADS:
            heads.append(name)
        elif not heads and not damage and _DEVICE.match(item):
            labels.append(item)
        elif any(word.startswith(item) for head in _HEADS for word in head.split()):
            damage = "cut"
        elif at == last and len(labels) > 1 and _NAME.match(item):
            damage = "cut"  # the beginning of one more label
        else:
            return None
    if len(set(labels)) < len(labels):
        labels, damage = _without_repeats(labels)
    count: int | None = len(heads) if heads else None
    if heads != list(_HEADS[: len(heads)]):
        count, damage = None, "headings in another order"
    if not labels and not heads:
        return None
    return Header(labels, count, line, text, damage)


def _without_repeats(labels: list[str]) -> tuple[list[str], str]:
    """Labels up to the first one that comes twice: `NIC1` again is `NIC10` or later, cut."""
    kept: list[str] = []
    for label in labels:
        if label in kept:
            break
        kept.append(label)
    return kept, "cut"


def is_whole_name(name: str, before: Sequence[str]) -> bool:
    """Whether a device name at the end of a text or line cannot go on.

    >>> is_whole_name("mlx5_7", ["mlx5_6"]), is_whole_name("mlx5_bond_0", []), is_whole_name("mlx5_1", [])
    (True, True, False)
    """
    match = _NUMBER_AT_END.match(name)
    if match is None:
        return False
    stem, number = match[1], match[2]
    return (stem.endswith("_") and number == "0") or f"{stem}{int(number) - 1}" in before[-2:]
