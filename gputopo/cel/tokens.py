"""Lexer: the tokens of cel-go's grammar (parser/gen/CEL.g4), with ANTLR's way of going on after a bad character.

>>> [token.text for token in tokenize("a.b == 80Gi")[0]]
['a', '.', 'b', '==', '80', 'Gi', '<EOF>']
>>> tokenize("a = b")[1]
[(2, "token recognition error at: '= '")]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    kind: str  # the symbol or keyword itself, or IDENT ESC INT UINT FLOAT STRING BYTES <EOF>; HIDDEN, UNREAD
    text: str
    offset: int

    @property
    def end(self) -> int:
        return self.offset if self.kind == "<EOF>" else self.offset + len(self.text)


_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
# Longest first: what ANTLR decides by the longest match is here decided by the order.
_STRING = (
    rf"[rR](?:'''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'[^'\n\r]*'|\"[^\"\n\r]*\")"
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''|\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\""
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'|\"(?:{_ESCAPE}|[^\\\"\n\r])*\""
)
_TOKEN = re.compile(
    rf"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)|(?P<BYTES>[bB](?:{_STRING}))|(?P<STRING>{_STRING})"
    r"|(?P<FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])|(?P<INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENT>[A-Za-z_][A-Za-z0-9_]*)|(?P<ESC>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_KEYWORDS = frozenset({"in", "true", "false", "null"})
_MORE = {"'": rf"'(?:{_ESCAPE}|[^\\'\n\r])*", '"': rf"\"(?:{_ESCAPE}|[^\\\"\n\r])*", "`": r"`[A-Za-z0-9_.\-/ ]*"}
_HALF_ESCAPE = r"\\(?:[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?)?"
MOST_ERRORS = 100
HIDDEN, UNREAD = "SPACE", "?!"  # kinds that no grammar rule asks for


def tokenize(text: str) -> tuple[list[Token], list[tuple[int, str]]]:
    """All tokens, the last one <EOF>, and (offset, message) of what is no token; reading stops after 100 of these."""
    tokens: list[Token] = []
    errors: list[tuple[int, str]] = []
    for token in scan(text):
        if token.kind == UNREAD:
            errors.append((token.offset, f"token recognition error at: '{shown(token.text)}'"))
            if len(errors) > MOST_ERRORS:
                break
        elif token.kind != HIDDEN:
            tokens.append(token)
    if not tokens or tokens[-1].kind != "<EOF>":
        tokens.append(Token("<EOF>", "<EOF>", len(text)))
    return tokens, errors


def scan(text: str) -> Iterator[Token]:
    """Everything in order, up to <EOF>: tokens, spaces and comments, and what ANTLR drops because it is no token."""
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            stop = _stopped(text, offset)
            yield Token(UNREAD, text[offset : stop + 1], offset)
            offset = stop + 1
            continue
        kind, found = match.lastgroup or "", match[0]
        if kind == "SYMBOL" or (kind == "IDENT" and found in _KEYWORDS):
            kind = found
        yield Token(kind, found, offset)
        offset = match.end()
    yield Token("<EOF>", "<EOF>", len(text))


def pieces(text: str) -> list[Token]:
    """Every token and, of kind `UNREAD`, every character that begins none; the last one is <EOF>.

    >>> [(one.kind, one.text) for one in pieces("a = 80Gi")]
    [('IDENT', 'a'), ('?!', '='), ('INT', '80'), ('IDENT', 'Gi'), ('<EOF>', '<EOF>')]
    """
    found: list[Token] = []
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        kind, word = (match.lastgroup or "", match[0]) if match else (UNREAD, text[offset])
        if kind == "SYMBOL" or (kind == "IDENT" and word in _KEYWORDS):
            kind = word
        if kind != HIDDEN:
            found.append(Token(kind, word, offset))
        offset += len(word)
    return [*found, Token("<EOF>", "<EOF>", len(text))]


def _stopped(text: str, offset: int) -> int:
    """The character at which no token is possible any more: ANTLR drops it with all before it."""
    first = text[offset]
    if first in "=&|":
        return offset + 1
    if first not in _MORE:
        return offset
    match = re.compile(_MORE[first]).match(text, offset)
    end = match.end() if match else offset + 1
    half = re.compile(_HALF_ESCAPE).match(text, end) if first != "`" else None
    return half.end() if half else end


def shown(text: str) -> str:
    """On one line."""
    return text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
