"""cel-go's grammar as data: what ANTLR's way of reading it, and of recovering from an error, is decided by.

Source: cel-go parser/gen/CEL.g4; which decision looks at one token and which predicts is as ANTLR generated it.

>>> [type(one).__name__ for one in RULES["expr"].body]
['Ref', 'Maybe']
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# In the order of the token types, which is that of "expecting {...}".
ORDER = (
    "<EOF>", "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?",
    ":", "+", "*", "/", "%", "true", "false", "null", "FLOAT", "INT", "UINT", "STRING", "BYTES", "IDENT", "ESC",
)  # fmt: skip
_SYMBOLIC = {
    "FLOAT": "NUM_FLOAT", "INT": "NUM_INT", "UINT": "NUM_UINT", "STRING": "STRING", "BYTES": "BYTES",
    "IDENT": "IDENTIFIER", "ESC": "ESC_IDENTIFIER", "<EOF>": "<EOF>",
}  # fmt: skip
_PLACES = {kind: place for place, kind in enumerate(ORDER)}


def named(kind: str) -> str:
    return _SYMBOLIC.get(kind) or f"'{kind}'"


def missing(kinds: frozenset[str]) -> str:
    """The text of the token that is put in where one of these is missing."""
    first = min(kinds, key=_PLACES.__getitem__)
    if first == "<EOF>":
        return "<missing EOF>"
    return "<missing undefined>" if first in _SYMBOLIC else f"<missing '{first}'>"


def listed(kinds: frozenset[str]) -> str:
    """As an error message says what was expected.

    >>> listed(frozenset({")", "IDENT", "<EOF>"})), listed(frozenset({"]"}))
    ("{<EOF>, ')', IDENTIFIER}", "']'")
    """
    names = [named(kind) for kind in sorted(kinds, key=_PLACES.__getitem__)]
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


# The elements of a rule. A label names the part of the tree that an element fills, with `*` one of a list.
# States are numbered when the network is built.


@dataclass(slots=True)
class Match:
    """One token of a set."""

    kinds: frozenset[str]
    label: str = ""
    state: int = -1


@dataclass(slots=True)
class Ref:
    """A rule, for a left-recursive one with the least precedence of its operators."""

    rule: str
    label: str = ""
    precedence: int = 0
    state: int = -1


@dataclass(slots=True)
class Maybe:
    """`( … )?`, which one token decides."""

    body: list[Element]
    state: int = -1


@dataclass(slots=True)
class Repeat:
    """`( … )*`, or with `least` 1 `( … )+`. `back` is the state behind an iteration."""

    body: list[Element]
    least: int = 0
    predicts: bool = False
    state: int = -1
    back: int = -1


class Alternative(NamedTuple):
    name: str
    body: list[Element]
    precedence: int = 0  # of an operator of a left-recursive rule


@dataclass(slots=True)
class Choice:
    alternatives: list[Alternative]
    predicts: bool = True
    state: int = -1


@dataclass(slots=True)
class Suffixes:
    """The operators behind the first operand of a left-recursive rule. `inner` chooses one where there are several."""

    alternatives: list[Alternative]
    state: int = -1
    back: int = -1
    inner: int = -1


Element = Match | Ref | Maybe | Repeat | Choice | Suffixes


class Rule(NamedTuple):
    name: str
    body: list[Element]
    recursive: bool = False  # its alternatives begin with the rule itself
    first: str = ""  # the name of the tree before any suffix


def _token(kinds: str, label: str = "") -> Match:
    return Match(frozenset(kinds.split()), label)


def _more(separator: str, *body: Element, predicts: bool = False) -> Repeat:
    return Repeat([_token(separator), *body], predicts=predicts)


def _pairs(key: str, label: str) -> list[Element]:
    """`key ':' expr`, separated by commas."""

    def one() -> list[Element]:
        return [Ref(key, label), _token(":", "cols*"), Ref("expr", "values*")]

    return [*one(), _more(",", *one(), predicts=True)]


def _named(label: str = "leadingDot") -> list[Element]:
    return [Maybe([_token(".", label)])]


def _call() -> list[Element]:
    return [Maybe([Ref("exprList", "args")]), _token(")")]


def _braced(rule: str) -> list[Element]:
    return [_token("{", "op"), Maybe([Ref(rule, "entries")]), Maybe([_token(",")]), _token("}")]


def _signed(kind: str) -> list[Element]:
    return [Maybe([_token("-", "sign")]), _token(kind, "tok")]


def _literal(name: str, kind: str) -> Alternative:
    return Alternative(name, [_token(kind, "tok")])


def _logical(symbol: str, below: str) -> list[Element]:
    return [Ref(below, "e"), Repeat([_token(symbol, "ops*"), Ref(below, "e1*")])]


_RULES = (
    Rule("start", [Ref("expr", "e"), _token("<EOF>")]),
    Rule("expr", [
        Ref("conditionalOr", "e"),
        Maybe([_token("?", "op"), Ref("conditionalOr", "e1"), _token(":"), Ref("expr", "e2")]),
    ]),
    Rule("conditionalOr", _logical("||", "conditionalAnd")),
    Rule("conditionalAnd", _logical("&&", "relation")),
    Rule("relation", [
        Ref("calc", "operand"),
        Suffixes([Alternative("Relation", [_token("< <= >= > == != in", "op"), Ref("relation", "right", 2)], 1)]),
    ], recursive=True, first="Relation"),
    Rule("calc", [
        Ref("unary", "operand"),
        Suffixes([
            Alternative("Calc", [_token("* / %", "op"), Ref("calc", "right", 3)], 2),
            Alternative("Calc", [_token("+ -", "op"), Ref("calc", "right", 2)], 1),
        ]),
    ], recursive=True, first="Calc"),
    Rule("unary", [Choice([
        Alternative("MemberExpr", [Ref("member", "member")]),
        Alternative("LogicalNot", [Repeat([_token("!", "ops*")], 1), Ref("member", "member")]),
        Alternative("Negate", [Repeat([_token("-", "ops*")], 1, predicts=True), Ref("member", "member")]),
    ])]),
    Rule("member", [
        Ref("primary", "primary"),
        Suffixes([
            Alternative("Select", [_token(".", "op"), Maybe([_token("?", "opt")]), Ref("escapeIdent", "id")], 3),
            Alternative("MemberCall", [_token(".", "op"), _token("IDENT", "id"), _token("(", "open"), *_call()], 2),
            Alternative("Index", [
                _token("[", "op"), Maybe([_token("?", "opt")]), Ref("expr", "index"), _token("]"),
            ], 1),
        ]),
    ], recursive=True, first="PrimaryExpr"),
    Rule("primary", [Choice([
        Alternative("Ident", [*_named(), _token("IDENT", "id")]),
        Alternative("GlobalCall", [*_named(), _token("IDENT", "id"), _token("(", "op"), *_call()]),
        Alternative("Nested", [_token("("), Ref("expr", "e"), _token(")")]),
        Alternative("CreateList", [
            _token("[", "op"), Maybe([Ref("listInit", "elems")]), Maybe([_token(",")]), _token("]"),
        ]),
        Alternative("CreateStruct", _braced("mapInitializerList")),
        Alternative("CreateMessage", [
            *_named(), _token("IDENT", "ids*"), Repeat([_token(".", "ops*"), _token("IDENT", "ids*")]),
            *_braced("fieldInitializerList"),
        ]),
        Alternative("ConstantLiteral", [Ref("literal", "literal")]),
    ])]),
    Rule("exprList", [Ref("expr", "e*"), _more(",", Ref("expr", "e*"))]),
    Rule("listInit", [Ref("optExpr", "elems*"), _more(",", Ref("optExpr", "elems*"), predicts=True)]),
    Rule("fieldInitializerList", _pairs("optField", "fields*")),
    Rule("optField", [Maybe([_token("?", "opt")]), Ref("escapeIdent", "id")]),
    Rule("mapInitializerList", _pairs("optExpr", "keys*")),
    Rule("escapeIdent", [Choice([
        Alternative("SimpleIdentifier", [_token("IDENT", "id")]),
        Alternative("EscapedIdentifier", [_token("ESC", "id")]),
    ], predicts=False)]),
    Rule("optExpr", [Maybe([_token("?", "opt")]), Ref("expr", "e")]),
    Rule("literal", [Choice([
        Alternative("Int", _signed("INT")), _literal("Uint", "UINT"), Alternative("Double", _signed("FLOAT")),
        _literal("String", "STRING"), _literal("Bytes", "BYTES"), _literal("BoolTrue", "true"),
        _literal("BoolFalse", "false"), _literal("Null", "null"),
    ])]),
)  # fmt: skip
RULES = {rule.name: rule for rule in _RULES}
