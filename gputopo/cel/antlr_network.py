"""The grammar as ANTLR's network of states: what can be read from a state, and what is expected there.

Source: antlr4-go (ATN, LL1Analyzer); only what decides an answer is kept of it.

>>> net = network()
>>> sorted(net.first(net.starts["escapeIdent"]))
['ESC', 'IDENT']
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

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

EPSILON = "<EPSILON>"  # in a set of tokens: the end of the rule can be reached without one
_BASIC, _BLOCK, _ENTRY, _BACK, _END, _STOP = range(6)


class Edge(NamedTuple):
    """Of the four kinds one: a token of `tokens`, a call of a rule, a predicate, or nothing at all."""

    target: int
    tokens: frozenset[str] = frozenset()
    follow: int = -1  # of a call: where it returns to
    least: int = 0  # of a call: the precedence it asks for
    predicate: int = 0  # the precedence that must not be below the asked one
    outermost: str = ""  # of a return from a call for any precedence: the left-recursive rule


class Network:
    """States are numbers; `edges` those of each, the alternatives of a decision in order."""

    def __init__(self) -> None:
        self.edges: list[list[Edge]] = []
        self.rules: list[str] = []  # the rule of each state
        self.kinds: list[int] = []
        self.starts: dict[str, int] = {}
        self.stops: dict[str, int] = {}
        self.ends: dict[int, int] = {}  # where the alternatives of a left-recursive rule meet, by loop entry
        self._first: dict[int, frozenset[str]] = {}
        for name in RULES:
            self.starts[name] = self._state(name, _BASIC)
            self.stops[name] = self._state(name, _STOP)
        for name, rule in RULES.items():
            last = self._sequence(name, rule.body, self.starts[name])
            self._skip(last, self.stops[name])
        self._returns()
        self.reading = [any(edge.tokens for edge in edges) for edges in self.edges]

    def is_stop(self, state: int) -> bool:
        return self.kinds[state] == _STOP

    def deletes(self, state: int) -> bool:
        """Whether an unexpected token at this state is dropped if the next one fits."""
        return self.kinds[state] in (_BLOCK, _ENTRY)

    def skips(self, state: int) -> bool:
        """Whether tokens are dropped at this state until one fits."""
        return self.kinds[state] == _BACK

    def first(self, state: int) -> frozenset[str]:
        """The tokens that can come next within the rule, with EPSILON where it can end here."""
        known = self._first.get(state)
        if known is None:
            known = self._first[state] = frozenset(self._reachable(state))
        return known

    def _reachable(self, state: int) -> set[str]:
        found: set[str] = set()
        seen: set[int] = set()
        waiting = [state]
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            if self.is_stop(one):
                found.add(EPSILON)
                continue
            for edge in self.edges[one]:
                if edge.tokens:
                    found |= edge.tokens
                elif edge.follow >= 0:  # no rule of the grammar is empty
                    found |= self.first(edge.target)
                else:
                    waiting.append(edge.target)
        return found

    def drops_entry(self, entry: int, returns: list[int]) -> bool:
        """Whether a left-recursive rule that returns only into itself need not be entered once more from here."""
        rule, end = self.rules[entry], self.ends.get(entry)
        if end is None or any(self.rules[state] != rule for state in returns):
            return False
        for state in returns:
            edges = self.edges[state]
            if len(edges) != 1 or edges[0].tokens or (state != end and edges[0].target != end):
                return False
        return True

    def _state(self, rule: str, kind: int) -> int:
        self.edges.append([])
        self.rules.append(rule)
        self.kinds.append(kind)
        return len(self.edges) - 1

    def _skip(self, left: int, right: int) -> int:
        self.edges[left].append(Edge(right))
        return right

    def _sequence(self, rule: str, body: list[Element], left: int) -> int:
        for element in body:
            left = self._element(rule, element, self._skip(left, self._state(rule, _BASIC)))
        return left

    def _element(self, rule: str, element: Element, left: int) -> int:
        """Builds an element behind a state and gives the state behind it."""
        if isinstance(element, Match):
            element.state, right = left, self._state(rule, _BASIC)
            self.edges[left].append(Edge(right, element.kinds))
            return right
        if isinstance(element, Ref):
            element.state, right = left, self._state(rule, _BASIC)
            self.edges[left].append(Edge(self.starts[element.rule], follow=right, least=element.precedence))
            return right
        if isinstance(element, Maybe):
            element.state, end = self._block(rule, [Alternative("", element.body)], left)
            return self._skip(element.state, end)
        if isinstance(element, Choice):
            element.state, end = self._block(rule, element.alternatives, left)
            return end
        if isinstance(element, Repeat):
            return self._repeat(rule, element, left)
        return self._suffixes(rule, element, left)

    def _block(self, rule: str, alternatives: list[Alternative], left: int) -> tuple[int, int]:
        start, end = self._state(rule, _BLOCK), self._state(rule, _END)
        if left >= 0:
            self._skip(left, start)
        for _, body, precedence in alternatives:
            inner = self._skip(start, self._state(rule, _BASIC))
            if precedence:
                after = self._state(rule, _BASIC)
                self.edges[inner].append(Edge(after, predicate=precedence))
                inner = after
            self._skip(self._sequence(rule, body, inner), end)
            last = body[-1]
            if isinstance(last, Ref) and not any(isinstance(one, Ref) for one in body[:-1]):
                # So the last calls of all alternatives return to one state, and predictions see that they are alike.
                self.edges[last.state] = [self.edges[last.state][0]._replace(follow=end)]
        return start, end

    def _repeat(self, rule: str, element: Repeat, left: int) -> int:
        if not element.least:
            return self._loop(rule, [Alternative("", element.body)], element, left)[1]
        block, end = self._block(rule, [Alternative("", element.body)], left)
        element.state, element.back = block, self._state(rule, _BACK)
        self._skip(self._skip(end, element.back), block)
        return self._skip(element.back, self._state(rule, _END))

    def _suffixes(self, rule: str, element: Suffixes, left: int) -> int:
        element.inner, end = self._loop(rule, element.alternatives, element, left)
        return end

    def _loop(
        self, rule: str, alternatives: list[Alternative], element: Repeat | Suffixes, left: int
    ) -> tuple[int, int]:
        """The state at which the alternatives part, and the one behind the loop."""
        element.state, element.back = self._state(rule, _ENTRY), self._state(rule, _BACK)
        block, end = self._block(rule, alternatives, -1)
        self._skip(left, element.state)
        self._skip(element.state, block)
        self._skip(end, element.back)
        self._skip(element.back, element.state)
        if isinstance(element, Suffixes):
            self.ends[element.state] = end
        return block, self._skip(element.state, self._state(rule, _END))

    def _returns(self) -> None:
        """From the end of a rule to wherever it was called: what can follow where the caller is not known."""
        for edges in list(self.edges):
            for edge in edges:
                if edge.follow >= 0:
                    rule = self.rules[edge.target]
                    outermost = rule if RULES[rule].recursive and edge.least == 0 else ""
                    self.edges[self.stops[rule]].append(Edge(edge.follow, outermost=outermost))


@lru_cache(maxsize=1)
def network() -> Network:
    return Network()
