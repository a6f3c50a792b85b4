"""The tree of a pattern, and what in a pattern stands for characters: classes and escapes of RE2 (regexp/syntax)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Union


class BadPattern(Exception):
    def __init__(self, why: str, what: str) -> None:
        self.text = f"error parsing regexp: {why}: `{what}`"
        super().__init__(self.text)


class One(NamedTuple):
    """One character out of ranges of code points, or with `negated` out of all others."""

    ranges: tuple[tuple[int, int], ...]
    negated: bool
    fold: bool


class Assert(NamedTuple):
    """`^ $ \\A \\z \\b \\B`; ^ and $ of a line are `(?m)^` and `(?m)$`."""

    kind: str


class Sequence(NamedTuple):
    items: tuple[Pattern, ...]


class Choice(NamedTuple):
    items: tuple[Pattern, ...]


class Repeat(NamedTuple):
    item: Pattern
    least: int
    most: int | None
    greedy: bool


Pattern = Union[One, Assert, Sequence, Choice, Repeat]  # noqa: UP007  (a name that Python 3.10 reads before its parts)

_CLASSES = {
    "d": ((48, 57),), "s": ((9, 10), (12, 13), (32, 32)), "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
}  # fmt: skip
_POSIX = {
    "alnum": ((48, 57), (65, 90), (97, 122)), "alpha": ((65, 90), (97, 122)), "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)), "cntrl": ((0, 31), (127, 127)), "digit": ((48, 57),), "graph": ((33, 126),),
    "lower": ((97, 122),), "print": ((32, 126),), "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)), "upper": ((65, 90),), "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}  # fmt: skip
_CONTROLS = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
ANY = ((0, 0x10FFFF),)


def complement(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    found, at = [], 0
    for low, high in sorted(ranges):
        if low > at:
            found.append((at, low - 1))
        at = max(at, high + 1)
    return (*found, (at, 0x10FFFF)) if at <= 0x10FFFF else tuple(found)


class CharacterReader:
    """A place in a pattern, and the rules for what stands for characters."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.fold = False

    def rest(self) -> str:
        return self.text[self.position :]

    def at(self, part: str) -> bool:
        return self.text.startswith(part, self.position)

    def escape(self) -> list[Pattern]:
        letter = self.text[self.position + 1 : self.position + 2]
        if letter in ("A", "z", "b", "B"):
            self.position += 2
            return [Assert(f"\\{letter}")]
        if letter == "Q":
            literal, end, _ = self.text[self.position + 2 :].partition("\\E")
            self.position += 2 + len(literal) + len(end)
            return [One(((ord(one), ord(one)),), False, self.fold) for one in literal]
        if letter == "C":
            raise BadPattern("invalid escape sequence", "\\C")
        named = self._named_class()
        if named is not None:
            return [One(named[0], named[1], self.fold)]
        point = self._escaped_point()
        return [One(((point, point),), False, self.fold)]

    def _named_class(self) -> tuple[tuple[tuple[int, int], ...], bool] | None:
        """`\\d` and its kin or `\\p{…}`: the ranges, and whether they are negated."""
        letter = self.text[self.position + 1 : self.position + 2]
        if letter and letter.lower() in _CLASSES:
            self.position += 2
            return _CLASSES[letter.lower()], letter.isupper()
        if letter and letter in "pP":
            from gputopo.cel.unicode_classes import property_ranges

            text = self.rest()
            end = text.find("}") + 1 if text[2:3] == "{" else 3
            if end <= 2 or len(text) < 3:
                raise BadPattern("invalid character class range", text)
            name = text[2:end].strip("{}")
            inverted = name.startswith("^")
            ranges = property_ranges(name.removeprefix("^"))
            if ranges is None:
                raise BadPattern("invalid character class range", text[:end])
            self.position += end
            return ranges, (letter == "P") != inverted
        return None

    def _escaped_point(self) -> int:
        text = self.text
        letter = text[self.position + 1 : self.position + 2]
        if not letter:
            raise BadPattern("trailing backslash at end of expression", "")
        start, self.position = self.position, self.position + 2
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in "1234567" and (text[self.position : self.position + 1] or "9") not in "01234567":
            raise BadPattern("invalid escape sequence", text[start : self.position])
        if letter in "01234567":
            return self._digits(start + 1, 3, 8, lambda one: one in "01234567")
        if letter == "x":
            return self._hexadecimal(start)
        if letter.isascii() and not letter.isalnum():
            return ord(letter)
        raise BadPattern("invalid escape sequence", text[start : self.position])

    def _digits(self, start: int, most: int, base: int, valid: Callable[[str], bool]) -> int:
        end = start
        while end < len(self.text) and end < start + most and valid(self.text[end]):
            end += 1
        self.position = end
        return int(self.text[start:end], base)

    def _hexadecimal(self, start: int) -> int:
        text = self.text
        braced = text[self.position : self.position + 1] == "{"
        end = text.find("}", self.position) if braced else self.position + 2
        digits = text[self.position + braced : end] if end > 0 else ""
        if not digits or (not braced and len(digits) < 2) or any(one not in "0123456789abcdefABCDEF" for one in digits):
            raise BadPattern("invalid escape sequence", text[start : self._bad_hexadecimal(braced)])
        if int(digits, 16) > 0x10FFFF:
            raise BadPattern("invalid escape sequence", text[start : self._bad_hexadecimal(braced)])
        self.position = end + braced
        return int(digits, 16)

    def _bad_hexadecimal(self, braced: bool) -> int:
        """Go quotes up to and with the character at which it gave up."""
        place = self.position + braced
        while place < len(self.text) and self.text[place] in "0123456789abcdefABCDEF":
            if not braced and place > self.position:
                break
            place += 1
        return place + 1

    def character_class(self) -> One:
        start = self.position
        self.position += 1
        negated = self.at("^")
        if negated:
            self.position += 1
        ranges: list[tuple[int, int]] = []
        first = True
        while not self.at("]") or first:
            if self.position >= len(self.text):
                raise BadPattern("missing closing ]", self.text[start:])
            self._class_item(ranges, start)
            first = False
        self.position += 1
        return One(tuple(ranges), negated, self.fold)

    def _class_item(self, ranges: list[tuple[int, int]], start: int) -> None:
        if self.at("[:"):
            end = self.text.find(":]", self.position + 2)
            if end >= 0:
                self._posix(ranges, self.text[self.position : end + 2])
                return
        if self.at("\\"):
            named = self._named_class()
            if named is not None:
                ranges += complement(named[0]) if named[1] else named[0]
                return
        low_at = self.position
        low = self._class_point(start)
        high = low
        if self.at("-") and self.rest()[1:2] not in ("]", ""):
            self.position += 1
            high = self._class_point(start)
        if high < low:
            raise BadPattern("invalid character class range", self.text[low_at : self.position])
        ranges.append((low, high))

    def _class_point(self, start: int) -> int:
        if self.position >= len(self.text):
            raise BadPattern("missing closing ]", self.text[start:])
        if self.at("\\"):
            return self._escaped_point()
        self.position += 1
        return ord(self.text[self.position - 1])

    def _posix(self, ranges: list[tuple[int, int]], whole: str) -> None:
        name = whole[2:-2]
        negated = name.startswith("^")
        known = _POSIX.get(name.removeprefix("^"))
        if known is None:
            raise BadPattern("invalid character class range", whole)
        ranges += complement(known) if negated else known
        self.position += len(whole)
