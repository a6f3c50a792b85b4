"""Parser: cel-go's grammar by recursive descent, with its error places, its nesting limits and recovery after a fault.

cel-go parses with ANTLR. The first fault here is where ANTLR has it: the first token with which no
expression can go on. What follows a fault is our own way of going on, so that later faults are found too;
what Kubernetes says of the same text, antlr_faults.py tells.

    >>> node, faults = parse("a == 80Gi && b = c", frozenset())
    >>> [(fault.column, fault.message) for fault in faults[:2]]
    [(8, "Syntax error: mismatched input 'Gi' expecting <EOF>"), (16, "Syntax error: token recognition error at: '= '")]
"""

from __future__ import annotations

from collections.abc import Callable

from gputopo.cel.calls import Calls
from gputopo.cel.syntax import NOWHERE, Call, Fault, Hole, Node, fault_at

MOST_CODE_POINTS = 100_000
_RELATIONS = frozenset({"<", "<=", ">=", ">", "==", "!=", "in"})
_FACTORS = frozenset({"*", "/", "%"})
_NAMES = {"in": "@in", "-": "_-_"}
_OPERATORS = _RELATIONS | _FACTORS | {"+", "-", "&&", "||", "?"}


class TooDeep(Exception):
    """The expression nests deeper than cel-go parses; nothing more can be said about it."""


def parse(text: str, macros: frozenset[str], escapes: bool = False) -> tuple[Node, list[Fault]]:
    """The tree, with holes where it could not be read, and the faults in text order.

    `escapes`: fields may be written in backquotes."""
    if len(text) > MOST_CODE_POINTS:
        words = f"expression code point size exceeds limit: size: {len(text)}, limit {MOST_CODE_POINTS}"
        return Hole([], NOWHERE, 0, 0), [Fault(-1, 0, words)]
    parser = Parser(text, macros, escapes)
    try:
        node = parser.whole()
    except TooDeep as error:
        return Hole([], NOWHERE, 0, len(text)), [Fault(-1, 0, str(error))]
    found = sorted(parser.errors, key=lambda each: each[0])
    faults = [fault_at(text, offset, message) for offset, message in found]
    if node.deep > MOST_DEEP:
        return Hole([], NOWHERE, 0, len(text)), [Fault(-1, 0, "max recursion depth exceeded"), *faults]
    return node, faults


MOST_DEEP = 250


class Parser(Calls):
    """One reading of one text: operators; `Calls` has what binds tighter."""

    def whole(self) -> Node:
        node = self.expression()
        while self.kind != "<EOF>":
            following = self.tokens[self.position + 1].kind
            word = "extraneous" if following == "<EOF>" else "mismatched"
            self.syntax_error(f"{word} input '{self.token.text}' expecting <EOF>")
            node = self._after_junk(node)
        return node

    def _after_junk(self, node: Node) -> Node:
        """Skips to the next operator and reads on, so that what stands behind it is looked at as well."""
        while self.kind != "<EOF>" and self.kind not in _OPERATORS:
            self.take()
        if self.kind == "<EOF>":
            return node
        operator = self.take()
        # Side by side: in one another, they would be as deep as the text is long.
        before = node.found if isinstance(node, Hole) else [node]
        return Hole([*before, self.expression()], operator.offset, node.start, self.last_end)

    def expression(self) -> Node:
        self.enter("expression")
        node = self._disjunction()
        if self.kind == "?":
            operator = self.take()
            yes = self._disjunction()
            self.expect(":")
            no = self.expression()
            node = self.operation("_?_:_", [node, yes, no], operator.offset)
            node.deep += 1
        self.leave("expression")
        return node

    def _disjunction(self) -> Node:
        return self._chain("||", self._conjunction)

    def _conjunction(self) -> Node:
        return self._chain("&&", self._relation)

    def _chain(self, symbol: str, below: Callable[[], Node]) -> Node:
        """`a && b && c` as one node: cel-go balances a tree of pairs, which evaluates the same."""
        terms = [below()]
        places = []
        while self.kind == symbol:
            places.append(self.take().offset)
            terms.append(below())
        if not places:
            return terms[0]
        # The root of cel-go's balanced tree is the operator in the middle.
        return self.operation(f"_{symbol}_", terms, places[len(places) // 2])

    def _relation(self) -> Node:
        self.enter("relation")
        node = self._calculation(1)
        while self.kind in _RELATIONS:
            operator = self.take()
            self.enter("relation")
            right = self._calculation(1)
            self.leave("relation")
            node = self._binary(operator.kind, node, right, operator.offset)
        self.leave("relation")
        return node

    def _calculation(self, level: int) -> Node:
        """Sums at level 1, products at level 2."""
        self.enter("calculation")
        node = self._unary()
        while True:
            if self.kind in _FACTORS:
                operator, next_level = self.take(), 3
            elif self.kind in ("+", "-") and level == 1:
                operator, next_level = self.take(), 2
            else:
                break
            right = self._factor() if next_level == 3 else self._calculation(2)
            node = self._binary(operator.kind, node, right, operator.offset)
        self.leave("calculation")
        return node

    def _factor(self) -> Node:
        self.enter("calculation")
        node = self._unary()
        self.leave("calculation")
        return node

    def _binary(self, symbol: str, left: Node, right: Node, at: int) -> Call:
        node = self.operation(_NAMES.get(symbol, f"_{symbol}_"), [left, right], at)
        node.deep += 1
        return node

    def _unary(self) -> Node:
        """`!!x` is x and `!x` a call; `-1` is a literal, `- -x` is x."""
        symbol = self.kind
        if symbol not in ("!", "-") or self.at_number():
            return self.member()
        first = self.take()
        count = 1
        while self.kind == symbol:
            self.take()
            count += 1
        operand = self.member()
        if count % 2 == 0:
            return operand
        node = self.operation("!_" if symbol == "!" else "-_", [operand], first.offset)
        node.start = first.offset
        return node

    def operation(self, name: str, args: list[Node], at: int) -> Call:
        return Call(name, None, args, at, args[0].start, args[-1].end)

    def enter(self, rule: str) -> None:
        depth = self.depths.get(rule, 0) + 1
        self.depths[rule] = depth
        if depth > MOST_DEEP:
            raise TooDeep(f"expression recursion limit exceeded: {MOST_DEEP}")

    def leave(self, rule: str) -> None:
        self.depths[rule] -= 1
