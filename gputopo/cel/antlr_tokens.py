"""The tokens of one text as ANTLR's parser sees them: read no further than it looks.

What is no token is reported when it is come to, between the parser's own errors; there the limit of 100 is counted.
"""

from __future__ import annotations

from collections.abc import Callable

from gputopo.cel.tokens import HIDDEN, UNREAD, Token, scan


class Tokens:
    def __init__(self, text: str, report: Callable[[int, str], None]) -> None:
        self._source, self._report = scan(text), report
        self._all: list[Token] = []  # with spaces and comments
        self._places: list[int] = []  # of those that the grammar knows, among all
        self.position = 0
        self.ahead(0)

    def ahead(self, count: int) -> Token:
        """The token that many behind the next one; at the end always <EOF>."""
        wanted = self.position + count
        while wanted >= len(self._places) and not (self._all and self._all[-1].kind == "<EOF>"):
            self._fetch()
        return self._all[self._places[min(wanted, len(self._places) - 1)]]

    def before(self) -> Token | None:
        return self._all[self._places[self.position - 1]] if self.position else None

    def consume(self) -> None:
        if self.ahead(0).kind != "<EOF>":
            self.position += 1
            self.ahead(0)

    def text(self, count: int) -> str:
        """From the next token to the one that many behind it, with the spaces between them."""
        first = self._places[self.position]
        last = self._places[min(self.position + count, len(self._places) - 1)]
        return "".join(token.text for token in self._all[first : last + 1] if token.kind != "<EOF>")

    def _fetch(self) -> None:
        for token in self._source:
            if token.kind == UNREAD:
                self._report(token.offset, f"token recognition error at: '{token.text}'")
                continue
            if token.kind != HIDDEN:
                self._places.append(len(self._all))
            self._all.append(token)
            return
