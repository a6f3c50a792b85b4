"""What Kubernetes checks after the types: duration, timestamp and regex literals, mixed lists and maps, format strings.

Source: cel-go cel/validator.go, ext/formatting.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.cel import operators, times
from gputopo.cel.format_text import FormatFault, check_literal
from gputopo.cel.pattern_characters import BadPattern
from gputopo.cel.patterns import compile_pattern
from gputopo.cel.static_types import Type, formatted, is_optional
from gputopo.cel.syntax import Call, ListNode, Literal, MapNode, Node
from gputopo.cel.values import CelError

Faults = Iterator[tuple[int, str]]


def literal_faults(root: Node) -> list[tuple[int, str]]:
    return list(_visited(root, exempt=False))


def _visited(node: Node, exempt: bool) -> Faults:
    if isinstance(node, Call):
        yield from _call(node)
        exempt = exempt or node.function == "format"
    elif not exempt and isinstance(node, ListNode):
        yield from _list(node)
    elif not exempt and isinstance(node, MapNode):
        yield from _map(node)
    for part in node.parts():
        yield from _visited(part, exempt)


def _call(node: Call) -> Faults:
    if node.function == "format":
        yield from _format(node)
    if not node.args or not isinstance(node.args[0], Literal):
        return
    literal = node.args[0]
    if node.function in ("duration", "timestamp", "matches") and not _valid(node.function, literal.value):
        yield literal.at, f"invalid {node.function} argument"


def _valid(function: str, value: object) -> bool:
    try:
        if function == "matches":
            compile_pattern(str(value))
        elif function == "duration" and isinstance(value, str):
            times.parse_duration(value)
        elif isinstance(value, str):
            times.parse_timestamp(value)
        elif isinstance(value, int) and function == "timestamp":
            operators.timestamp(int(value) * 10**9)
        else:
            # cel-go declares a duration of an int, and takes null for either, and can convert neither.
            return False
    except (BadPattern, CelError):
        return False
    return True


def _mismatch(node: Node, wanted: Type, found: Type) -> tuple[int, str]:
    return node.at, f"expected type '{formatted(wanted)}' but found '{formatted(found)}'"


def _inner(one: Type, optional: bool) -> Type:
    return one.parameters[0] if optional and is_optional(one) else one


def _list(node: ListNode) -> Faults:
    first: Type | None = None
    for place, element in enumerate(node.elements):
        found = _inner(element.type, place in node.optional)
        if first is None:
            first = found
        elif first != found:
            yield _mismatch(element, first, found)
            return


def _map(node: MapNode) -> Faults:
    if not node.entries:
        return
    head = node.entries[0]
    keys, values = head.key.type, _inner(head.value.type, head.optional)
    for key, value, optional in node.entries[1:]:
        if key.type != keys:
            yield _mismatch(key, keys, key.type)
        if _inner(value.type, optional) != values:
            yield _mismatch(value, values, _inner(value.type, optional))


def _format(node: Call) -> Faults:
    if not isinstance(node.target, Literal) or len(node.args) != 1 or not isinstance(node.args[0], ListNode):
        return
    elements = node.args[0].elements
    try:
        used = check_literal(str(node.target.value), elements)
    except FormatFault as error:
        at = node.at if error.at is None else error.at
        yield at, str(error)
        return
    if len(elements) > used:
        words = f"too many arguments supplied to string.format (expected {used}, got {len(elements)})"
        yield node.at, words
