"""With which quantities a selector compares a capacity, and how.

>>> [(one.operator, one.text, one.column) for one in thresholds(
...     "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0", "memory")]
[('>=', '80Gi', 62)]
>>> [(one.operator, one.text, one.column) for one in thresholds("80Gi < device.capacity['d'].memory", "memory")]
[('>', '80Gi', 1)]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gputopo.cel import static_types as types
from gputopo.cel.checker import check
from gputopo.cel.environment import DEFAULT_RELEASE, environment
from gputopo.cel.mapped import Mapped
from gputopo.cel.recovery import readable
from gputopo.cel.syntax import Call, Literal, Node, Select, fault_at

_RELATIONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_METHODS = {"isGreaterThan": ">", "isLessThan": "<"}
# What a relation of compareTo(), which gives -1, 0 or 1, and a number says of the two quantities.
_OF_COMPARED = {
    (">=", 0): ">=", (">", 0): ">", ("<=", 0): "<=", ("<", 0): "<", ("==", 0): "==", ("!=", 0): "!=",
    ("==", 1): ">", (">=", 1): ">", ("==", -1): "<", ("<=", -1): "<", (">", -1): ">=", ("!=", -1): ">=",
    ("<", 1): "<=", ("!=", 1): "<=",
}  # fmt: skip


class Threshold(NamedTuple):
    """`capacity OPERATOR text`. The place and the span are those of the text without its quotes."""

    operator: str
    text: str
    line: int
    column: int
    span: tuple[int, int] | None


def thresholds(text: str, name: str, release: str = DEFAULT_RELEASE) -> list[Threshold]:
    """Of a capacity of this name, whatever its domain; in text order. What compares in another way is not found."""
    from gputopo.cel.program import deep_recursion

    with deep_recursion():
        env = environment(release)
        node, mapped = readable(text, env.macros, env.escapes)
        check(node, env)
        return sorted(_found(node, mapped, name), key=lambda one: (one.line, one.column))


def _found(node: Node, text: Mapped, name: str) -> Iterator[Threshold]:
    if isinstance(node, Call) and len(node.parts()) == 2:
        first, second = node.parts()
        relation = _RELATIONS.get(node.function)
        if relation is not None:
            yield from _related(first, second, relation, text, name)
            yield from _related(second, first, _TURNED.get(relation, relation), text, name)
        elif node.function in _METHODS and _is_capacity(first, name):
            yield from _threshold(second, _METHODS[node.function], text)
    for part in node.parts():
        yield from _found(part, text, name)


def _related(node: Node, other: Node, relation: str, text: Mapped, name: str) -> Iterator[Threshold]:
    if _is_capacity(node, name):
        yield from _threshold(other, relation, text)
    if not isinstance(node, Call) or node.function != "compareTo" or node.target is None or len(node.args) != 1:
        return
    number = other.value if isinstance(other, Literal) else None
    said = _OF_COMPARED.get((relation, number)) if isinstance(number, int) else None
    if said is not None and _is_capacity(node.target, name):
        yield from _threshold(node.args[0], said, text)


def _is_capacity(node: Node, name: str) -> bool:
    key = node.args[1] if isinstance(node, Call) and node.function == "_[_]" else None
    named = node.field == name if isinstance(node, Select) else isinstance(key, Literal) and key.value == name
    return named and node.type == types.QUANTITY


def _threshold(node: Node, operator: str, text: Mapped) -> Iterator[Threshold]:
    if isinstance(node, Call) and node.function == "quantity" and len(node.args) == 1:
        node = node.args[0]
    if not isinstance(node, Literal) or not isinstance(node.value, str):
        return
    value = node.value
    start = text.text.find(value, node.start, node.end)
    span = _span(text, start, value) if value and start >= 0 else None
    fault = fault_at(text.first, text.back(max(start, node.start)), "")
    yield Threshold(operator, value, fault.line, fault.column, span)


def _span(text: Mapped, start: int, value: str) -> tuple[int, int] | None:
    """Also of a number with a unit that has no quotes yet."""
    first = text.back(start)
    return (first, first + len(value)) if text.first.startswith(value, first) else None
