"""What cel-go's parser does about a syntax error: which tokens it drops or puts in, and what it says.

Source: antlr4-go (DefaultErrorStrategy), cel-go parser/parser.go (recoveryLimitErrorStrategy, SyntaxError).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gputopo.cel.antlr_grammar import listed, missing
from gputopo.cel.antlr_network import EPSILON, network
from gputopo.cel.antlr_tokens import Tokens
from gputopo.cel.tokens import Token

MOST_ERRORS = 100
_MOST_RECOVERIES = 30
_MOST_DROPPED = 256
_WORD = re.compile(r"no viable alternative at input '.(true|false|null)'")


class Stopped(Exception):
    """The real parser reads no further. `said`: what it adds about the whole text."""

    def __init__(self, said: str = "") -> None:
        super().__init__(said)
        self.said = said


class Mismatch(Exception):
    """The rule cannot be read on."""


class Tree:
    """A rule that was read, or read as far as possible. `name` is that of the alternative, of the rule where none was
    chosen; `parts` what the labels of the grammar name: tokens, trees, lists of them."""

    __slots__ = ("called_at", "caller", "name", "parts", "start")

    def __init__(self, name: str, caller: Tree | None, called_at: int, start: Token) -> None:
        self.name, self.caller, self.called_at, self.start = name, caller, called_at, start
        self.parts: dict[str, Any] = {}

    def get(self, label: str) -> Any:
        """What the label names, None where it was not read."""
        return self.parts.get(label)

    def all(self, label: str) -> list[Any]:
        found: list[Any] = self.parts.get(label) or []
        return found


class Recovery:
    """Where a reading stands: the next token, the state of the network, the open rules. `report(offset, message)` is
    told every syntax error."""

    def __init__(self, text: str, report: Callable[[int, str], None]) -> None:
        self._report, self._said = report, 0
        self._net = network()
        self._state = -1
        self._tree: Tree | None = None
        self._recovering = False
        self._recoveries = 0
        self._error_at, self._error_states = -1, set[int]()
        self._tokens = Tokens(text, self._error)

    @property
    def _kind(self) -> str:
        return self._tokens.ahead(0).kind

    def _callers(self) -> tuple[int, ...]:
        """The states from which the open rules were called, the innermost first."""
        found, tree = [], self._tree
        while tree is not None and tree.called_at >= 0:
            found.append(tree.called_at)
            tree = tree.caller
        return tuple(found)

    def _error(self, offset: int, message: str) -> None:
        if self._said == MOST_ERRORS:
            self._report(offset, f"More than {MOST_ERRORS} syntax errors")
            raise Stopped
        self._said += 1
        self._report(offset, message)

    def _complain(self, message: str, at: Token) -> None:
        """One error, unless nothing was read since the last one."""
        if not self._recovering:
            self._recovering = True
            self._error(at.offset, message)

    def _shown(self, count: int = 0) -> str:
        text = self._tokens.text(count)
        if count == 0 and self._kind == "<EOF>":
            text = "<EOF>"
        return "'" + text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r") + "'"

    def _mismatched(self) -> Mismatch:
        self._complain(f"mismatched input {self._shown()} expecting {listed(self._expected())}", self._tokens.ahead(0))
        return Mismatch()

    def _no_viable(self, count: int) -> Mismatch:
        message = f"no viable alternative at input {self._shown(count)}"
        message = _WORD.sub(r"mismatched input '\1' expecting IDENTIFIER", message)
        self._complain(message, self._tokens.ahead(count))
        return Mismatch()

    def _matched(self) -> None:
        self._recovering = False
        self._error_at, self._error_states = -1, set()

    def _expected(self, state: int = -1) -> frozenset[str]:
        """What can come next, also behind the open rules where they can end."""
        found = self._net.first(self._state if state < 0 else state)
        expected = set(found)
        for called_at in self._callers():
            if EPSILON not in found:
                break
            found = self._net.first(self._net.edges[called_at][0].follow)
            expected |= found
        if EPSILON in found:
            expected.add("<EOF>")
        return frozenset(expected - {EPSILON})

    def _following(self) -> frozenset[str]:
        """What can come behind any of the open rules."""
        expected: set[str] = set()
        for called_at in self._callers():
            expected |= self._net.first(self._net.edges[called_at][0].follow)
        return frozenset(expected - {EPSILON})

    def _sync(self) -> None:
        if self._recovering:
            return
        fitting = self._net.first(self._state)
        if EPSILON in fitting or self._kind in fitting:
            return
        if self._net.deletes(self._state):
            if self._deleted() is None:
                raise self._mismatched()
        elif self._net.skips(self._state):
            self._unwanted()
            self._drop_until(self._expected() | self._following(), limited=False)

    def _unwanted(self) -> None:
        self._complain(f"extraneous input {self._shown()} expecting {listed(self._expected())}", self._tokens.ahead(0))

    def _deleted(self) -> Token | None:
        """Drops the next token if the one behind it is expected, and gives that."""
        if self._tokens.ahead(1).kind not in self._expected():
            return None
        self._unwanted()
        self._tokens.consume()
        self._matched()
        return self._tokens.ahead(0)

    def _recover_inline(self) -> Token:
        self._attempt()
        found = self._deleted()
        if found is not None:
            self._tokens.consume()
            return found
        token = self._tokens.ahead(0)
        expected = self._expected()
        if token.kind not in self._expected(self._net.edges[self._state][0].target):
            raise self._mismatched()
        self._complain(f"missing {listed(expected)} at {self._shown()}", token)
        before = self._tokens.before()
        beside = before if token.kind == "<EOF>" and before is not None else token
        return Token("", missing(expected), beside.offset)

    def _recover(self) -> None:
        """Drops tokens until one can follow an open rule."""
        self._attempt()
        dropped = 0
        if self._error_at == self._tokens.position and self._state in self._error_states:
            self._tokens.consume()
            dropped = 1
        self._error_at = self._tokens.position
        self._error_states.add(self._state)
        self._drop_until(self._following(), limited=True, dropped=dropped)

    def _attempt(self) -> None:
        self._recoveries += 1
        if self._recoveries > _MOST_RECOVERIES:
            self._error(self._tokens.ahead(0).offset, f"error recovery attempt limit exceeded: {_MOST_RECOVERIES}")
            raise Stopped

    def _drop_until(self, kinds: frozenset[str], limited: bool, dropped: int = 0) -> None:
        while self._kind != "<EOF>" and self._kind not in kinds:
            if limited and dropped == _MOST_DROPPED:
                raise Stopped(f"error recovery token lookahead limit exceeded: {_MOST_DROPPED}")
            dropped += 1
            self._tokens.consume()
