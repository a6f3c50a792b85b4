"""RE2 syntax as Go reads it (regexp/syntax with the Perl flags): a tree, or the error Go prints.

>>> parse_pattern("(?=a)")
Traceback (most recent call last):
gputopo.cel.pattern_characters.BadPattern: error parsing regexp: invalid or unsupported Perl syntax: `(?=`
"""

from __future__ import annotations

from gputopo.cel.pattern_characters import (
    ANY,
    Assert,
    BadPattern,
    CharacterReader,
    Choice,
    One,
    Pattern,
    Repeat,
    Sequence,
    complement,
)

MOST_REPEATS = 1000
_DEEPEST = 1000


def parse_pattern(text: str) -> Pattern:
    """Raises BadPattern."""
    reader = _Reader(text)
    pattern = reader.choice(0)
    if reader.position < len(text):
        raise BadPattern("unexpected )", text)
    return pattern


class _Reader(CharacterReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.many_lines = self.dot_newline = self.lazy = False

    def choice(self, depth: int) -> Pattern:
        if depth > _DEEPEST:
            raise BadPattern("expression nests too deeply", self.text)
        branches = [self._sequence(depth)]
        while self.at("|"):
            self.position += 1
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _sequence(self, depth: int) -> Pattern:
        items: list[Pattern] = []
        repeated = ""
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            start = self.position
            bounds = self._bounds()
            if bounds is None:
                items += self._item(depth)
                repeated = ""
                continue
            operator = self.text[start : self.position]
            if not items:
                raise BadPattern("missing argument to repetition operator", operator)
            if repeated:
                raise BadPattern("invalid nested repetition operator", repeated + operator)
            items.append(self._repeat(items.pop(), bounds, operator))
            repeated = operator
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _repeat(self, item: Pattern, bounds: tuple[int, int | None, bool], operator: str) -> Repeat:
        least, most, greedy = bounds
        if _repeats(item) * max(least, most or 0, 1) > MOST_REPEATS and operator[0] == "{":
            raise BadPattern("invalid repeat count", operator)
        return Repeat(item, least, most, greedy)

    def _bounds(self) -> tuple[int, int | None, bool] | None:
        """The repetition operator here, taken; None where there is none."""
        one = self.text[self.position]
        start = self.position
        if one in "*+?":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[one]
            self.position += 1
        elif one == "{":
            found = self._counts()
            if found is None:
                return None
            least, most = found
        else:
            return None
        greedy = not self.lazy
        if self.at("?"):
            self.position += 1
            greedy = not greedy
        if least > MOST_REPEATS or (most or 0) > MOST_REPEATS or (most is not None and least > most):
            raise BadPattern("invalid repeat count", self.text[start : self.position].removesuffix("?"))
        return least, most, greedy

    def _counts(self) -> tuple[int, int | None] | None:
        """`{n}`, `{n,}`, `{n,m}`; a brace that is none of these is a plain character."""
        close = self.text.find("}", self.position)
        low, comma, high = self.text[self.position + 1 : close].partition(",") if close > 0 else ("", "", "")
        if not _count(low) or (high and not _count(high)):
            return None
        self.position = close + 1
        least = min(int(low[:9]), MOST_REPEATS + 1)
        return least, (min(int(high[:9]), MOST_REPEATS + 1) if high else None) if comma else least

    def _item(self, depth: int) -> list[Pattern]:
        one = self.text[self.position]
        if one == "(":
            return self._group(depth)
        if one == "[":
            return [self.character_class()]
        if one == "\\":
            return self.escape()
        self.position += 1
        if one == ".":
            return [One(ANY if self.dot_newline else complement(((10, 10),)), False, False)]
        if one == "^":
            return [Assert("(?m)^" if self.many_lines else "\\A")]
        if one == "$":
            return [Assert("(?m)$" if self.many_lines else "\\z")]
        return [One(((ord(one), ord(one)),), False, self.fold)]

    def _group(self, depth: int) -> list[Pattern]:
        flags = (self.fold, self.many_lines, self.dot_newline, self.lazy)
        if self.at("(?"):
            if not self._named() and self._flags():
                return []
        else:
            self.position += 1
        inner = self.choice(depth + 1)
        if not self.at(")"):
            raise BadPattern("missing closing )", self.text)
        self.position += 1
        self.fold, self.many_lines, self.dot_newline, self.lazy = flags
        # An empty group still is something that can be repeated.
        return [Sequence((inner,))]

    def _named(self) -> bool:
        opening = "(?P<" if self.at("(?P<") else ""
        if self.at("(?<") and self.rest()[3:4] not in ("=", "!", ""):
            opening = "(?<"
        if not opening:
            return False
        end = self.text.find(">", self.position)
        if end < 0:
            raise BadPattern("invalid named capture", self.rest())
        name = self.text[self.position + len(opening) : end]
        whole = self.text[self.position : end + 1]
        if not name or not all(one == "_" or (one.isascii() and one.isalnum()) for one in name):
            raise BadPattern("invalid named capture", whole)
        self.position = end + 1
        return True

    def _flags(self) -> bool:
        """`(?i)` applies to the rest of the group (true), `(?i:` opens one (false)."""
        place, on, seen = self.position + 2, True, False
        wanted = {"i": self.fold, "m": self.many_lines, "s": self.dot_newline, "U": self.lazy}
        while place < len(self.text):
            one = self.text[place]
            place += 1
            if one in wanted:
                wanted[one], seen = on, True
            elif one == "-" and on:
                on, seen = False, False
            elif one in ":)" and (on or seen):
                self.position = place
                self.fold, self.many_lines, self.dot_newline, self.lazy = (wanted[each] for each in "imsU")
                return one == ")"
            else:
                raise BadPattern("invalid or unsupported Perl syntax", self.text[self.position : place])
        raise BadPattern("invalid or unsupported Perl syntax", self.rest())


def _count(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or text[0] != "0")


def _repeats(pattern: Pattern) -> int:
    """How often the deepest part of a pattern can be written out: Go allows 1000."""
    if isinstance(pattern, Repeat):
        return max(pattern.least, pattern.most or 0, 1) * _repeats(pattern.item)
    if isinstance(pattern, (Sequence, Choice)):
        return max((_repeats(item) for item in pattern.items), default=1)
    return 1
