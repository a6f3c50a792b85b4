"""From the tree of a text with errors to nodes, as far as that brings further errors: macros, literals, reserved names.

Source: cel-go parser/parser.go (unnest, the Visit methods). The nodes are good for the macros alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gputopo.cel import literals, macros
from gputopo.cel.antlr_parser import MOST_DEEP
from gputopo.cel.antlr_recovery import Stopped, Tree
from gputopo.cel.syntax import (
    FIRST,
    NOWHERE,
    RESERVED,
    Call,
    Entry,
    Hole,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
)
from gputopo.cel.tokens import Token

_DEEPER = frozenset({"expr", "Relation", "Calc", "Select", "MemberCall", "Index"})
_THROUGH = {
    "expr": ("op", "e"), "conditionalOr": ("ops", "e"), "conditionalAnd": ("ops", "e"), "Relation": ("op", "operand"),
    "Calc": ("op", "operand"), "MemberExpr": ("", "member"), "PrimaryExpr": ("", "primary"), "Nested": ("", "e"),
    "ConstantLiteral": ("", "literal"),
}  # fmt: skip
_NAMES = {"in": "@in", "-": "_-_"}


class Visitor:
    """`report(at, message)` is told every error that is not one of syntax."""

    def __init__(self, macro_names: frozenset[str], escapes: bool, report: Callable[[int, str], None]) -> None:
        self._macros, self._escapes, self._report = macro_names, escapes, report
        self._depth = 0
        self._visits: dict[str, Callable[[Tree], Node]] = {
            "expr": self._conditional, "conditionalOr": self._logical, "conditionalAnd": self._logical,
            "Relation": self._operation, "Calc": self._operation, "LogicalNot": self._unary, "Negate": self._unary,
            "unary": self._no_operand, "Select": self._select, "MemberCall": self._member_call, "Index": self._index,
            "Ident": self._ident, "GlobalCall": self._global_call, "CreateList": self._list,
            "CreateStruct": self._map, "CreateMessage": self._message, "Int": self._literal, "Uint": self._literal,
            "Double": self._literal, "String": self._literal, "Bytes": self._literal, "BoolTrue": self._literal,
            "BoolFalse": self._literal, "Null": self._literal,
        }  # fmt: skip

    def visit(self, tree: Tree | None) -> Node:
        """The node; a hole without a place for what was not read at all. Raises Stopped."""
        tree = _unnested(tree)
        visit = self._visits.get(tree.name) if tree is not None else None
        if tree is None or visit is None:
            return _hole(FIRST)
        if tree.name not in _DEEPER:
            return visit(tree)
        self._depth += 1
        if self._depth > MOST_DEEP:
            raise Stopped("max recursion depth exceeded")
        node = visit(tree)
        self._depth -= 1
        return node

    def _complained(self, at: int, message: str) -> Hole:
        self._report(at, message)
        return _hole(at)

    def _expanded(self, name: str, target: Node | None, args: list[Node], at: int) -> Node:
        return macros.expanded(Call(name, target, args, at, at, at), self._macros, self._report)

    def _conditional(self, tree: Tree) -> Node:
        parts = [self.visit(tree.get(label)) for label in ("e", "e1", "e2")]
        return _call("_?_:_", parts, _at(tree.get("op")))

    def _logical(self, tree: Tree) -> Node:
        terms = [self.visit(tree.get("e"))]
        terms += [self.visit(one) for one in tree.all("e1")]
        operators = tree.all("ops")
        symbol = operators[0].kind
        if len(operators) >= len(terms):
            return self._complained(tree.start.offset, f"unexpected character, wanted '{symbol}'")
        return _call(f"_{symbol}_", terms, operators[len(operators) // 2].offset)

    def _operation(self, tree: Tree) -> Node:
        operator = tree.get("op")
        sides = [self.visit(tree.get("left")), self.visit(tree.get("right"))]
        return _call(_NAMES.get(operator.kind, f"_{operator.kind}_"), sides, operator.offset)

    def _unary(self, tree: Tree) -> Node:
        operators = tree.all("ops")
        operand = self.visit(tree.get("member"))
        if len(operators) % 2 == 0:
            return operand
        return _call("!_" if tree.name == "LogicalNot" else "-_", [operand], operators[0].offset)

    def _no_operand(self, tree: Tree) -> Node:
        return Literal("<<error>>", tree.start.offset, 0, 0)

    def _select(self, tree: Tree) -> Node:
        operand = self.visit(tree.get("left"))
        name, dot = tree.get("id"), tree.get("op")
        if name is None or dot is None:
            return _hole(tree.start.offset)
        field = self._identifier(name, name.start.offset) or ""
        if tree.get("opt") is not None:
            literal = Literal(field, name.start.offset, 0, 0)
            return _call("_?._", [operand, literal], dot.offset)
        return Select(operand, field, False, dot.offset, 0, 0)

    def _identifier(self, tree: Tree | None, at: int) -> str | None:
        name = tree.get("id") if tree is not None else None
        if tree is not None and tree.name == "SimpleIdentifier" and name is not None:
            return str(name.text)
        if tree is None or tree.name != "EscapedIdentifier" or name is None:
            self._report(at, "unsupported ident kind")
            return None
        if self._escapes:
            return str(name.text[1:-1])
        self._report(at, "unsupported syntax: '`'")
        return None

    def _member_call(self, tree: Tree) -> Node:
        target = self.visit(tree.get("left"))
        if tree.get("id") is None:
            return _hole(tree.start.offset)
        return self._expanded(tree.get("id").text, target, self._args(tree), _at(tree.get("open")))

    def _args(self, tree: Tree) -> list[Node]:
        listed = tree.get("args")
        return [self.visit(one) for one in listed.all("e")] if listed is not None else []

    def _index(self, tree: Tree) -> Node:
        target = self.visit(tree.get("left"))
        if tree.get("op") is None:
            return _hole(tree.start.offset)
        name = "_[?_]" if tree.get("opt") is not None else "_[_]"
        return _call(name, [target, self.visit(tree.get("index"))], tree.get("op").offset)

    def _ident(self, tree: Tree) -> Node:
        name = self._simple_name(tree)
        return Ident(name, tree.get("id").offset, 0, 0) if isinstance(name, str) else name

    def _simple_name(self, tree: Tree) -> str | Hole:
        if tree.get("id") is None:
            return _hole(tree.start.offset)
        name = str(tree.get("id").text)
        if name in RESERVED:
            return self._complained(tree.start.offset, f"reserved identifier: {name}")
        return f".{name}" if tree.get("leadingDot") is not None else name

    def _global_call(self, tree: Tree) -> Node:
        name = self._simple_name(tree)
        if not isinstance(name, str):
            return name
        return self._expanded(name, None, self._args(tree), _at(tree.get("op")))

    def _list(self, tree: Tree) -> Node:
        listed = tree.get("elems")
        elements = [self.visit(one.get("e")) for one in listed.all("elems")] if listed is not None else []
        return ListNode(elements, frozenset(), tree.get("op").offset, 0, 0)

    def _map(self, tree: Tree) -> Node:
        listed = tree.get("entries")
        keys, values = (listed.all("keys"), listed.all("values")) if listed is not None else ([], [])
        entries = [
            Entry(self.visit(key.get("e")), self.visit(value), key.get("opt") is not None)
            for key, value in zip(keys, values)
        ]
        return MapNode(entries, _at(tree.get("op")), 0, 0)

    def _message(self, tree: Tree) -> Node:
        listed = tree.get("entries")
        fields: list[Node] = []
        if listed is not None:
            for field, value in zip(listed.all("fields"), listed.all("values")):
                if self._identifier(field.get("id"), listed.start.offset) is not None:
                    fields.append(self.visit(value))
        return StructNode(".".join(token.text for token in tree.all("ids")), fields, _at(tree.get("op")), 0, 0)

    def _literal(self, tree: Tree) -> Node:
        token, sign = tree.get("tok"), tree.get("sign")
        if token is None or not token.kind:
            return _hole(tree.start.offset)
        text = token.text if sign is None else sign.text + token.text
        value: Any = None
        try:
            value = literals.value(token.kind, text)
        except ValueError as error:
            self._report(tree.start.offset, str(error))
            if token.kind not in ("STRING", "BYTES"):
                return _hole(tree.start.offset)
        return Literal(value, tree.start.offset, 0, 0)


def _unnested(tree: Tree | None) -> Tree | None:
    """Down to the first tree that is more than a bracket around another."""
    while tree is not None and tree.name in _THROUGH:
        operator, inner = _THROUGH[tree.name]
        if tree.get(operator):
            return tree
        tree = tree.get(inner)
    return tree


def _hole(at: int) -> Hole:
    return Hole([], at, 0, 0)


def _at(token: Token | None) -> int:
    return NOWHERE if token is None else token.offset


def _call(name: str, args: list[Node], at: int) -> Call:
    return Call(name, None, args, at, 0, 0)
