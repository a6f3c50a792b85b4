"""What people write for CEL that CEL does not read: each with what they mean, where only one meaning is possible.

    >>> repaired("a.b = 'x' and (m >= 80Gi | not c == d)").text
    "a.b == 'x' && (m >= quantity('80Gi') || !(c == d))"
    >>> repaired("device.driver == “gpu.nvidia.com” && a =< 1 && b === True").text
    "device.driver == 'gpu.nvidia.com' && a <= 1 && b == true"

Only marks and words are looked at: whether the result is an expression, the parser says.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gputopo.cel.mapped import Mapped
from gputopo.cel.tokens import Token, pieces
from gputopo.terms.edits import Edit

JUNK = "?!"  # the kind of a character that begins no token
_QUOTED = re.compile(r"[“”„]([^“”„'\"\\\r\n]*)[“”]|[‘’‚]([^‘’‚'\"\\\r\n]*)[‘’]")
_SUFFIXES = ("k", "M", "G", "T", "P", "E", "m", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
# As disks and memory are labelled; Kubernetes takes no B.
UNITS = {one: one for one in _SUFFIXES} | {f"{one}B": one for one in _SUFFIXES if one not in ("k", "m")} | {"KB": "k"}
_WORDS = {"and": "&&", "or": "||"}
_CONSTANTS = {"True": "true", "False": "false"}
_ENDS = frozenset({"IDENT", "ESC", "INT", "UINT", "FLOAT", "STRING", "BYTES", "true", "false", "null", ")", "]", "}"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_BOUNDS = frozenset({"&&", "||", ",", "?", ":", "<EOF>"})


def repaired(text: str) -> Mapped:
    return Mapped.of(text).replaced(repairs(text))


def repairs(text: str) -> list[Edit]:
    tokens = pieces(text)
    found: list[Edit] = []
    place = 0
    while place < len(tokens) - 1:
        for rule in _RULES:
            made = rule(text, tokens, place)
            if made is not None:
                edits, taken = made
                found += edits
                place += taken
                break
        else:
            place += 1
    return found


_Made = tuple[list[Edit], int]  # and how many tokens they are for


def _quotes(text: str, tokens: list[Token], place: int) -> _Made | None:
    token = tokens[place]
    match = _QUOTED.match(text, token.offset) if token.kind == JUNK else None
    if match is None:
        return None
    inner = next(group for group in match.groups() if group is not None)
    behind = next(at for at in range(place, len(tokens)) if tokens[at].offset >= match.end())
    tokens[behind - 1] = tokens[behind - 1]._replace(kind="STRING")
    return [Edit(match.start(), match.end(), f"'{inner}'")], behind - place


def _number_with_unit(text: str, tokens: list[Token], place: int) -> _Made | None:
    """`80Gi`, which is a quantity only in quotes."""
    number, unit = tokens[place], tokens[place + 1]
    if number.kind not in ("INT", "FLOAT") or unit.kind != "IDENT" or number.text.startswith("0x"):
        return None
    apart = text[number.end : unit.offset]
    suffix = UNITS.get(unit.text)
    if suffix is None or apart.strip(" ") or (apart and len(unit.text) < 2) or tokens[place + 2].kind in ("(", "."):
        return None
    literal = f"'{number.text}{suffix}'"
    before = [token.text for token in tokens[max(place - 2, 0) : place]]
    inside = before == ["quantity", "("] and tokens[place + 2].kind == ")"
    tokens[place + 1] = unit._replace(kind="STRING")
    return [Edit(number.offset, unit.end, literal if inside else f"quantity({literal})")], 2


def _operator(text: str, tokens: list[Token], place: int) -> _Made | None:
    """Operators of other languages: = & | === !== <> =< =>."""
    token, following = tokens[place], tokens[place + 1]
    beside = following.offset == token.end
    pair = token.text + following.text if beside else ""
    if pair in ("===", "!=="):
        return [Edit(following.offset, following.end, "")], 2
    if pair in ("=<", "=>", "<>"):
        new = {"=<": "<=", "=>": ">=", "<>": "!="}[pair]
        tokens[place + 1] = following._replace(kind=new)
        return [Edit(token.offset, following.end, new)], 2
    if token.kind != JUNK or token.text not in "=&|" or place == 0 or tokens[place - 1].kind not in _ENDS:
        return None
    tokens[place] = token._replace(kind=token.text * 2)
    return [Edit(token.end, token.end, token.text)], 1


def _word(text: str, tokens: list[Token], place: int) -> _Made | None:
    """The words and, or, not, True, False."""
    token = tokens[place]
    before = tokens[place - 1].kind if place else ""
    if token.kind != "IDENT" or before == "." or tokens[place + 1].kind == ".":
        return None
    behind_operand = before in _ENDS
    new = _WORDS.get(token.text.lower())
    if new is not None and behind_operand:
        tokens[place] = token._replace(kind=new)
        return [Edit(token.offset, token.end, new)], 1
    if token.text in _CONSTANTS and not behind_operand:
        return [Edit(token.offset, token.end, _CONSTANTS[token.text])], 1
    if token.text.lower() == "not" and not behind_operand:
        return _negated(tokens, place)
    return None


def _negated(tokens: list[Token], place: int) -> _Made | None:
    """`not a == b` negates the comparison; CEL's `!` binds tighter."""
    token, operand = tokens[place], tokens[place + 1]
    if operand.kind == "<EOF>":
        return None
    end, simple, depth = place + 1, True, 0
    while depth or not (tokens[end].kind in _BOUNDS or tokens[end].kind in _CLOSING or _ends_here(tokens, end)):
        kind = tokens[end].kind
        if kind == "<EOF>":
            return None
        depth += (kind in _OPENING) - (kind in _CLOSING)
        simple = simple and (depth > 0 or kind in _ENDS or kind == "." or kind in _OPENING)
        end += 1
    if end == place + 1:
        return None
    tokens[place] = token._replace(kind="!")
    if simple:
        return [Edit(token.offset, operand.offset, "!")], 1
    last = tokens[end - 1].end
    return [Edit(token.offset, operand.offset, "!("), Edit(last, last, ")")], 1


def _ends_here(tokens: list[Token], place: int) -> bool:
    """Whether a word or mark that stands for && or || is here."""
    token = tokens[place]
    joins = token.text.lower() in _WORDS and token.kind == "IDENT" and tokens[place - 1].kind != "."
    return joins or (token.kind == JUNK and token.text in "&|")


_RULES: tuple[Callable[[str, list[Token], int], _Made | None], ...] = (_quotes, _number_with_unit, _operator, _word)
