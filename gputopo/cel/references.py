"""Which attributes and capacities a selector reads, where, and what it compares them with: for lint.

>>> [(one.kind, one.domain, one.name, one.column, one.compared) for one in references(
...     "device.attributes['gpu.nvidia.com'].model == 'H100'")]
[('attributes', 'gpu.nvidia.com', 'model', 37, ('==', 'H100'))]
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.cel.environment import DEFAULT_RELEASE, environment
from gputopo.cel.parser import parse
from gputopo.cel.syntax import Call, Fold, Ident, ListNode, Literal, Node, Select, fault_at

_KINDS = ("attributes", "capacity")
_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in"}
_OPTIONAL = frozenset({"_?._", "_[?_]"})


class Reference(NamedTuple):
    """`name` is None where only the domain is read; `guarded`: by has() or as an optional, so that a missing one is
    no error. `compared` is the operator or method and the literal on the other side. Places as in a Fault."""

    kind: str
    domain: str
    name: str | None
    line: int
    column: int
    guarded: bool
    compared: tuple[str, Any] | None


class Driver(NamedTuple):
    """A test `device.driver == 'x'`."""

    name: str
    line: int
    column: int


def references(text: str, release: str = DEFAULT_RELEASE) -> list[Reference]:
    """In text order; also of a selector that does not compile, as far as it can be read."""
    from gputopo.cel.program import deep_recursion

    with deep_recursion():
        node, _ = parse(text, environment(release).macros)
        walk = _Walk(text)
        walk.visit(node, None, {})
    return sorted(walk.found, key=lambda one: (one.line, one.column))


def drivers(text: str, release: str = DEFAULT_RELEASE) -> list[Driver]:
    """The drivers that a selector names."""
    from gputopo.cel.program import deep_recursion

    with deep_recursion():
        node, _ = parse(text, environment(release).macros)
        return _drivers(node, text)


def _drivers(node: Node, text: str) -> list[Driver]:
    found = []
    if isinstance(node, Call) and node.function == "_==_":
        for one, other in (node.args, node.args[::-1]):
            if _is_driver(one) and isinstance(other, Literal) and isinstance(other.value, str):
                fault = fault_at(text, other.at, "")
                found.append(Driver(other.value, fault.line, fault.column))
    return found + [driver for part in node.parts() for driver in _drivers(part, text)]


def _is_driver(node: Node) -> bool:
    return isinstance(node, Select) and node.field == "driver" and _is_device(node.operand)


def _is_device(node: Node) -> bool:
    return isinstance(node, Ident) and node.name.removeprefix(".") == "device"


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Reference] = []

    def visit(self, node: Node, above: Node | None, bound: dict[str, tuple[str, str]]) -> None:
        """`bound` are the variables of cel.bind that stand for one domain."""
        step = _key_of(node)
        if step is not None:
            operand, key, optional = step
            domain = self._domain(operand, bound)
            if domain is not None:
                guarded = optional or (isinstance(node, Select) and node.test)
                self._add(domain, key.value if isinstance(key, Literal) else None, node, key, guarded, above)
                if not isinstance(operand, Ident):
                    return
        elif isinstance(node, Fold) and is_bind(node):
            domain = self._domain(node.init, bound)
            self.visit(node.init, node, bound)
            self.visit(node.result, node, {**bound, node.accumulator: domain} if domain else bound)
            return
        for part in node.parts():
            self.visit(part, node, bound)
        if self._domain(node, {}) is not None and step is not None:
            kind, domain_name = self._domain(node, {}) or ("", "")
            self._add((kind, domain_name), None, node, step[1], step[2], above)

    def _domain(self, node: Node, bound: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
        """`device.attributes['domain']` or a variable for it, as (kind, domain)."""
        if isinstance(node, Ident):
            return bound.get(node.name)
        step = _key_of(node)
        if step is None or not isinstance(step[1], Literal) or not isinstance(step[1].value, str):
            return None
        whole = step[0]
        if isinstance(whole, Select) and whole.field in _KINDS and _is_device(whole.operand):
            return whole.field, step[1].value
        return None

    def _add(
        self, domain: tuple[str, str], name: Any, node: Node, key: Node, guarded: bool, above: Node | None
    ) -> None:
        place = node.at + 1 if isinstance(node, Select) and not node.test else key.at
        fault = fault_at(self.text, place, "")
        text = name if isinstance(name, str) else None
        self.found.append(Reference(*domain, text, fault.line, fault.column, guarded, _compared(node, above)))


def _key_of(node: Node) -> tuple[Node, Node, bool] | None:
    """Operand, key and whether it is optional, of a field or an index."""
    if isinstance(node, Select):
        return node.operand, Literal(node.field, node.at, node.start, node.end), False
    if isinstance(node, Call) and (node.function == "_[_]" or node.function in _OPTIONAL):
        return node.args[0], node.args[1], node.function in _OPTIONAL
    return None


def is_bind(node: Fold) -> bool:
    """Whether the fold is what cel.bind became."""
    return isinstance(node.source, ListNode) and not node.source.elements and node.variable == "#unused"


def _compared(node: Node, above: Node | None) -> tuple[str, Any] | None:
    if not isinstance(above, Call):
        return None
    if above.function in _COMPARISONS:
        other = above.args[1] if above.args[0] is node else above.args[0]
        return (_COMPARISONS[above.function], other.value) if isinstance(other, Literal) else None
    if above.target is node and len(above.args) == 1 and isinstance(above.args[0], Literal):
        return above.function, above.args[0].value
    return None
