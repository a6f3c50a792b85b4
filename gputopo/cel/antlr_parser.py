"""cel-go's parser as ANTLR made it: reads a text, and after an error goes on as the real one does.

It is slow, and asked only about a text in which the fast parser found an error.
Source: antlr4-go (BaseParser), the shape of the code that ANTLR generates, cel-go parser/parser.go (recursionListener).
"""

from __future__ import annotations

from collections.abc import Callable

from gputopo.cel.antlr_grammar import (
    RULES,
    Alternative,
    Choice,
    Element,
    Match,
    Maybe,
    Ref,
    Repeat,
    Suffixes,
)
from gputopo.cel.antlr_prediction import Callers, NoViable, predictor
from gputopo.cel.antlr_recovery import Mismatch, Recovery, Stopped, Tree
from gputopo.cel.tokens import Token

MOST_DEEP = 250


class AntlrParser(Recovery):
    """One reading. `report(offset, message)` is told every syntax error; the reading may end with Stopped."""

    def __init__(self, text: str, report: Callable[[int, str], None]) -> None:
        super().__init__(text, report)
        self._predictor = predictor()
        self._precedences = [0]
        self._depths = dict.fromkeys(RULES, 0)

    def read(self) -> Tree:
        return self._rule("start", 0)

    def _rule(self, name: str, precedence: int) -> Tree:
        rule = RULES[name]
        caller, called_at = self._tree, self._state
        self._tree = Tree(rule.first or name, caller, called_at, self._tokens.ahead(0))
        self._state = self._net.starts[name]
        self._depths[name] += 1
        if self._depths[name] > MOST_DEEP:
            raise Stopped(f"expression recursion limit exceeded: {MOST_DEEP}")
        if rule.recursive:
            self._precedences.append(precedence)
        try:
            self._run(rule.body)
        except Mismatch:
            self._recover()
        tree = self._tree
        assert tree is not None
        self._depths[name] -= 1
        if rule.recursive:
            self._precedences.pop()
        else:
            self._state = called_at
        self._tree = caller
        return tree

    def _run(self, body: list[Element]) -> None:
        for element in body:
            self._state = element.state
            if isinstance(element, Match):
                self._fill(element.label, self._match(element.kinds))
            elif isinstance(element, Ref):
                self._fill(element.label, self._rule(element.rule, element.precedence))
            elif isinstance(element, Maybe):
                self._sync()
                if self._kind in self._firsts(element.body):
                    self._run(element.body)
            elif isinstance(element, Repeat):
                self._repeat(element)
            elif isinstance(element, Choice):
                self._choice(element)
            else:
                self._suffixes(element)

    def _repeat(self, element: Repeat) -> None:
        first = self._firsts(element.body)
        self._sync()
        left = element.least
        while left or (self._goes_on(element) if element.predicts else self._kind in first):
            left = 0
            self._run(element.body)
            self._state = element.back
            self._sync()

    def _goes_on(self, element: Repeat) -> bool:
        return self._predicted(element.back if element.least else element.state) == 1

    def _choice(self, element: Choice) -> None:
        self._sync()
        if element.predicts:
            chosen = element.alternatives[self._predicted(element.state) - 1]
        else:
            fitting = [one for one in element.alternatives if self._kind in self._firsts(one.body)]
            if not fitting:
                raise self._no_viable(0)
            chosen = fitting[0]
        assert self._tree is not None
        self._tree.name = chosen.name
        self._run(chosen.body)

    def _suffixes(self, element: Suffixes) -> None:
        self._sync()
        while self._predicted(element.state) == 1:
            chosen = element.alternatives[0]
            if len(element.alternatives) > 1:
                self._state = element.inner
                self._sync()
                chosen = element.alternatives[self._predicted(element.inner) - 1]
            self._wrap(chosen)
            self._run(chosen.body)
            self._state = element.back
            self._sync()

    def _wrap(self, chosen: Alternative) -> None:
        """What was read becomes the left part of an operation."""
        left = self._tree
        assert left is not None
        self._tree = Tree(chosen.name, left.caller, left.called_at, left.start)
        self._tree.parts["left"] = left

    def _fill(self, label: str, part: Token | Tree) -> None:
        assert self._tree is not None
        if label.endswith("*"):
            self._tree.parts.setdefault(label[:-1], []).append(part)
        elif label:
            self._tree.parts[label] = part

    def _firsts(self, body: list[Element]) -> frozenset[str]:
        return self._net.first(body[0].state)

    def _predicted(self, decision: int) -> int:
        try:
            callers = Callers(self._callers(), self._precedences[-1])
            return self._predictor.predict(decision, self._tokens.ahead, callers)
        except NoViable as error:
            raise self._no_viable(error.ahead) from None

    def _match(self, kinds: frozenset[str]) -> Token:
        token = self._tokens.ahead(0)
        if token.kind in kinds:
            self._matched()
            self._tokens.consume()
            return token
        return self._recover_inline()
