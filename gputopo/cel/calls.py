"""The parser's members and primaries: names, fields, calls, indexes, literals, lists, maps."""

from __future__ import annotations

from gputopo.cel import literals, macros
from gputopo.cel.syntax import (
    FIRST,
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
from gputopo.cel.tokens import Token, tokenize

_START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_STARTING = frozenset(
    {"[", "{", "(", "true", "false", "null", "FLOAT", "INT", "UINT", "STRING", "BYTES", "IDENT", ".", "-", "!"}
)
_NUMBERS = ("INT", "FLOAT")


class Calls:
    """The state of one reading and the rules for all that binds tighter than an operator."""

    def __init__(self, text: str, macro_names: frozenset[str], escapes: bool = False) -> None:
        self.text = text
        self.macros = macro_names
        self.escapes = escapes
        self.tokens, lexical = tokenize(text)
        self.errors = [(offset, f"Syntax error: {message}") for offset, message in lexical]
        self.position = 0
        self.last_end = 0
        self.depths: dict[str, int] = {}
        self._complained = -1

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    @property
    def kind(self) -> str:
        return self.tokens[self.position].kind

    def take(self) -> Token:
        token = self.tokens[self.position]
        if token.kind != "<EOF>":
            self.position += 1
            self.last_end = token.end
        return token

    def expect(self, kind: str) -> Token:
        """The token of this kind; where another stands, an error, and the reading goes on as if it were there."""
        if self.kind == kind:
            return self.take()
        at = self.token
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)].kind
        word = "extraneous" if following == kind else "mismatched"
        self.syntax_error(f"{word} input '{at.text}' expecting '{kind}'")
        if following == kind:
            self.take()
            return self.take()
        return Token(kind, "", at.offset)

    def syntax_error(self, message: str) -> None:
        """One complaint a token: what follows from it is not said again."""
        if self._complained != self.position:
            self._complained = self.position
            self.errors.append((self.token.offset, f"Syntax error: {message}"))

    def error(self, node_at: int, message: str) -> None:
        self.errors.append((node_at, message))

    def expression(self) -> Node:
        raise NotImplementedError

    def at_number(self) -> bool:
        return self.kind == "-" and self.tokens[self.position + 1].kind in _NUMBERS

    def member(self) -> Node:
        node = self._primary()
        while True:
            if self.kind == ".":
                node, lost = self._after_dot(node)
                if lost:
                    return node
            elif self.kind == "[":
                node, lost = self._index(node)
                if lost:
                    return node
            else:
                return node

    def _after_dot(self, node: Node) -> tuple[Node, bool]:
        """The field or call behind a dot; true where there is none, after which a member does not go on."""
        dot = self.take()
        optional = self.kind == "?"
        if optional:
            self.take()
        if self.kind not in ("IDENT", "ESC"):
            self.syntax_error(f"mismatched input '{self.token.text}' expecting IDENTIFIER")
            return (Hole([node], dot.offset, node.start, self.last_end) if optional else node), True
        name = self.take()
        field = self._field(name, name.offset)
        if name.kind == "IDENT" and not optional and self.kind == "(":
            return self._call(name.text, node, node.start), False
        if optional:
            literal = Literal(field, name.offset, name.offset, name.end)
            call = Call("_?._", None, [node, literal], dot.offset, node.start, name.end)
            call.deep = node.deep + 1
            return call, False
        return Select(node, field, False, dot.offset, node.start, name.end), False

    def _field(self, name: Token, at: int) -> str:
        """The name that the token stands for; `at` is where it is refused."""
        if name.kind != "ESC":
            return name.text
        if not self.escapes:
            self.error(at, "unsupported syntax: '`'")
        return name.text[1:-1]

    def _index(self, node: Node) -> tuple[Node, bool]:
        """The index; true where nothing could be read between the brackets, after which a member does not go on."""
        bracket = self.take()
        optional = self.kind == "?"
        if optional:
            self.take()
        index = self.expression()
        self.expect("]")
        name = "_[?_]" if optional else "_[_]"
        call = Call(name, None, [node, index], bracket.offset, node.start, self.last_end)
        call.deep = max(node.deep, index.deep) + 1
        return call, isinstance(index, Hole) and not index.found

    def _call(self, name: str, target: Node | None, start: int) -> Node:
        opening = self.take()
        args: list[Node] = []
        if self.kind != ")":
            args.append(self.expression())
            while self.kind == ",":
                self.take()
                args.append(self.expression())
        self.expect(")")
        call = Call(name, target, args, opening.offset, start, self.last_end)
        if target is not None:
            call.deep += 1
        return macros.expanded(call, self.macros, self.error)

    def _primary(self) -> Node:
        token = self.token
        if token.kind == "." or token.kind == "IDENT":
            return self._name()
        if token.kind == "(":
            self.take()
            node = self.expression()
            self.expect(")")
            node.start, node.end = token.offset, self.last_end
            return node
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        if token.kind in literals.WORDS:
            self.take()
            return Literal(literals.WORDS[token.kind], token.offset, token.offset, token.end)
        if token.kind in ("INT", "UINT", "FLOAT", "STRING", "BYTES") or self.at_number():
            return self._literal()
        if token.kind == "-":
            self.take()
            token = self.token
        return self._no_primary(token)

    def _no_primary(self, token: Token) -> Node:
        """Drops one token where the next can begin an operand, as ANTLR does."""
        following = self.tokens[min(self.position + 1, len(self.tokens) - 1)].kind
        drop = following in _STARTING and token.kind != "<EOF>"
        word = "extraneous" if drop else "mismatched"
        self.syntax_error(f"{word} input '{token.text}' expecting {_START}")
        if drop:
            self.take()
            return self._primary()
        return Hole([], token.offset, token.offset, token.offset)

    def _name(self) -> Node:
        first = self.token
        if first.kind == ".":
            self.take()
            if self.kind != "IDENT":
                self.syntax_error(f"no viable alternative at input '.{self.token.text}'")
                return Hole([], FIRST, first.offset, self.last_end)
        name = self.take()
        if self._at_struct():
            return self._struct(first, name)
        if name.text in RESERVED:
            self.error(first.offset, f"reserved identifier: {name.text}")
            if self.kind == "(":
                self._call(name.text, None, first.offset)
            return Hole([], first.offset, first.offset, self.last_end)
        full = f".{name.text}" if first.kind == "." else name.text
        if self.kind == "(":
            return self._call(full, None, first.offset)
        return Ident(full, name.offset, first.offset, name.end)

    def _at_struct(self) -> bool:
        """Whether `.name`s up to a brace follow: then all of it is the name of a message."""
        position = self.position
        while self.tokens[position].kind == "." and self.tokens[position + 1].kind == "IDENT":
            position += 2
        return self.tokens[position].kind == "{"

    def _struct(self, first: Token, name: Token) -> Node:
        full = f".{name.text}" if first.kind == "." else name.text
        while self.kind == ".":
            self.take()
            full += f".{self.take().text}"
        brace = self.take()
        fields: list[Node] = []
        if self.kind == ",":
            self.take()
        at = self.token.offset
        while self.kind not in ("}", "<EOF>"):
            if self.kind == "?":
                self.take()
            field = self.token
            if field.kind not in ("IDENT", "ESC"):
                self.syntax_error(f"extraneous input '{field.text}' expecting '}}'")
                break
            self.take()
            self._field(field, at)
            self.expect(":")
            fields.append(self.expression())
            if self.kind != ",":
                break
            self.take()
        self.expect("}")
        return StructNode(full, fields, brace.offset, first.offset, self.last_end)

    def _list(self) -> Node:
        bracket = self.take()
        elements: list[Node] = []
        optional: set[int] = set()
        while self.kind not in ("]", ",") or elements:
            if self.kind == "]":
                break
            if elements and self._comma_or_end("]"):
                break
            if self.kind == "?":
                self.take()
                optional.add(len(elements))
            elements.append(self.expression())
        if not elements and self.kind == ",":
            self.take()
        self.expect("]")
        return ListNode(elements, frozenset(optional), bracket.offset, bracket.offset, self.last_end)

    def _comma_or_end(self, closing: str) -> bool:
        """Takes the comma between two elements; true where the aggregate ends or cannot go on."""
        if self.kind != ",":
            return True
        self.take()
        return self.kind == closing

    def _map(self) -> Node:
        brace = self.take()
        entries: list[Entry] = []
        while self.kind not in ("}", ",") or entries:
            if self.kind == "}":
                break
            if entries and self._comma_or_end("}"):
                break
            optional = self.kind == "?"
            if optional:
                self.take()
            key = self.expression()
            self.expect(":")
            entries.append(Entry(key, self.expression(), optional))
        if not entries and self.kind == ",":
            self.take()
        self.expect("}")
        return MapNode(entries, brace.offset, brace.offset, self.last_end)

    def _literal(self) -> Node:
        first = self.take()
        token = self.take() if first.kind == "-" else first
        text = self.text[first.offset : first.offset + 1] + token.text if first is not token else token.text
        try:
            value = literals.value(token.kind, text)
        except ValueError as error:
            self.error(first.offset, str(error))
            return Hole([], first.offset, first.offset, token.end)
        return Literal(value, first.offset, first.offset, token.end)
