"""A text after changes, which still knows where each of its characters stood before.

>>> mapped = Mapped.of("a = 80Gi").replaced([Edit(2, 3, "=="), Edit(4, 8, "q('80Gi')")])
>>> mapped.text, mapped.back(mapped.text.index("q")), mapped.edits()
("a == q('80Gi')", 4, (Edit(start=2, end=3, text='=='), Edit(start=4, end=8, text="q('80Gi')")))
"""

from __future__ import annotations

from collections.abc import Iterable

from gputopo.terms.edits import Edit


class Mapped:
    """`origin`: for each character its offset in the first text; for one that was put in, that of what it replaced."""

    __slots__ = ("first", "kept", "origin", "text")

    def __init__(self, first: str, text: str, origin: list[int], kept: list[bool]) -> None:
        self.first, self.text, self.origin, self.kept = first, text, origin, kept

    @classmethod
    def of(cls, text: str) -> Mapped:
        return cls(text, text, list(range(len(text))), [True] * len(text))

    def replaced(self, edits: Iterable[Edit]) -> Mapped:
        text, origin, kept, place = "", [], [], 0
        for start, end, new in sorted(edits, key=lambda one: (one.start, one.end)):
            text += self.text[place:start] + new
            origin += self.origin[place:start] + [self.back(start)] * len(new)
            kept += self.kept[place:start] + [False] * len(new)
            place = end
        return Mapped(self.first, text + self.text[place:], origin + self.origin[place:], kept + self.kept[place:])

    def back(self, offset: int) -> int:
        """The place in the first text."""
        return self.origin[offset] if 0 <= offset < len(self.origin) else len(self.first)

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """A part in the first text; None where it is not the same there."""
        if not start < end <= len(self.text) or not all(self.kept[start:end]):
            return None
        first, last = self.origin[start], self.origin[end - 1]
        return (first, last + 1) if last - first == end - start - 1 else None

    def around(self, start: int, end: int) -> tuple[int, int]:
        """What of the first text became this part, or lies between its ends."""
        last = self.back(end - 1)
        return self.back(start), last + 1 if self.kept[end - 1] else max(last, self.back(end))

    def edits(self) -> tuple[Edit, ...]:
        """The changes, of the first text."""
        found, new, expected = [], "", 0
        for character, origin, kept in zip(self.text, self.origin, self.kept):
            if not kept:
                new += character
                continue
            if new or origin > expected:
                found.append(Edit(expected, origin, new))
            new, expected = "", origin + 1
        if new or expected < len(self.first):
            found.append(Edit(expected, len(self.first), new))
        return tuple(found)
