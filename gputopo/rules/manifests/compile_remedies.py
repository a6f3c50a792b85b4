"""What to write instead of what does not compile, as far as the error and the text around it tell.

    >>> fault = Fault(1, 22, "Syntax error: mismatched input 'and' expecting <EOF>")
    >>> remedy("device.driver == 'a' and true", fault, ())
    '&&'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.cel.references import Reference
from gputopo.cel.syntax import Fault
from gputopo.rules.manifests import literal_texts

_WORDS = {"and": "&&", "or": "||", "not": "!", "is": "==", "AND": "&&", "OR": "||", "NOT": "!"}
_SINGLE = {"&": "&&", "|": "||", "=": "=="}
_OVERLOAD = re.compile(r"found no matching overload for '([^']+)' applied to '(.*)'\Z")
_OPERATOR = re.compile(r"_(<=|>=|<|>|==|!=|\+|-)_\Z")
_ORDER = ("<", "<=", ">", ">=")
_OF = {"+": "add", "-": "sub"}
_ARGUMENT = re.compile(r"\(\s*['\"]([^'\"]*)['\"]")
_COMPARING = ("compareTo", "isGreaterThan", "isLessThan")
_SUFFIXED = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[kMGTPE]i?|[kmg]i?[bB]?|[KMGTPE]i?B)\b")
_FIELDS = "device has driver, attributes, capacity and, from 1.34 on, allowMultipleAllocations"


def remedy(text: str, fault: Fault, reads: Sequence[Reference]) -> str:
    """"" where nothing is certain."""
    message, here = fault.message, _from(text, fault)
    if "Syntax error" in message:
        return _of_syntax(text, fault, here)
    if message.startswith("undefined field"):
        return _FIELDS
    if message.startswith("undeclared reference"):
        word = re.match(r"undeclared reference to '(\w+)'", message)
        known = _WORDS.get(word[1]) if word else None
        return known or "the one variable is device: device.attributes['DOMAIN'].NAME"
    found = _OVERLOAD.match(message)
    return _of_types(found[1], found[2], here, fault, reads) if found else ""


def _from(text: str, fault: Fault) -> str:
    lines = text.split("\n")
    return lines[fault.line - 1][fault.column - 1 :] if 0 < fault.line <= len(lines) and fault.column > 0 else ""


def _of_syntax(text: str, fault: Fault, here: str) -> str:
    word = re.match(r"[A-Za-z]+", here)
    if word and word[0] in _WORDS:
        return _WORDS[word[0]]
    if "token recognition error" in fault.message and here[:1] in _SINGLE:
        if here.startswith("=>"):
            return ">="
        before = _from(text, fault._replace(column=max(fault.column - 2, 1)))[:2]
        return f"{_SINGLE[here[0]]}" if before not in ("==", "!=") else f"{before} alone"
    for found in _SUFFIXED.finditer(text.split("\n")[fault.line - 1] if here else ""):
        if found.start() < fault.column <= found.end():
            quantity = literal_texts.quantity(found[0])
            return f"quantity('{quantity}'), compared with .compareTo(...) >= 0 or .isGreaterThan(...)"
    return ""


def _of_types(function: str, types: str, here: str, fault: Fault, reads: Sequence[Reference]) -> str:
    one_level = _one_level(fault, reads)
    if one_level and "map(string" in types:
        return one_level
    operator = _OPERATOR.match(function)
    if "kubernetes.Quantity" in types:
        return _of_quantity(function, operator[1] if operator else "", here)
    if "kubernetes.Semver" in types and operator is not None and operator[1] in _ORDER:
        value = _operand(here, "semver") or "580.0.0"
        return f".compareTo(semver('{value}')) {operator[1]} 0"
    return ""


def _one_level(fault: Fault, reads: Sequence[Reference]) -> str:
    """`device.attributes['domain/name']`, nearest before the error."""
    before = [one for one in reads if "/" in one.domain and (one.line, one.column) <= (fault.line, fault.column)]
    if not before:
        return ""
    domain, _, name = before[-1].domain.partition("/")
    return f"device.{before[-1].kind}['{domain}'].{name}"


def _of_quantity(function: str, operator: str, here: str) -> str:
    if function in _COMPARING:
        given = _ARGUMENT.match(here)
        return f"{function}(quantity('{(given and literal_texts.quantity(given[1])) or '...'}'))"
    if function == "sign":
        return "sign(...), a function and no method"
    value = _operand(here, "quantity")
    if operator in ("==", "!="):
        return f"{operator} quantity('{value or '...'}')"
    if operator in _OF:
        return f".{_OF[operator]}(...)"
    return f".compareTo(quantity('{value or '...'}')) {operator} 0" if operator in _ORDER else ""


def _operand(here: str, function: str) -> str:
    """The literal right of the operator that `here` begins with, bare, as a text or in a call of the function."""
    found = re.match(rf"\W{{1,2}}\s*(?:{function}\(\s*)?['\"]?([0-9][0-9A-Za-z.+-]*)['\"]?\s*\)?\s*", here)
    if found is None or here[found.end() : found.end() + 1] not in ("", "&", "|", "?", ":", ")", "]", ","):
        return ""
    return literal_texts.quantity(found[1]) if function == "quantity" else found[1]
