"""Which attributes and capacities a selector reads, where, and what it compares them with: for lint.

>>> [(one.kind, one.domain, one.name, one.column, one.compared) for one in references(
...     "device.attributes['gpu.nvidia.com'].model == 'H100'")]
[('attributes', 'gpu.nvidia.com', 'model', 37, ('==', 'H100'))]
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from gputopo.cel.environment import DEFAULT_RELEASE, environment
from gputopo.cel.mapped import Mapped
from gputopo.cel.parser import parse
from gputopo.cel.presence import (
    Bound,
    Failed,
    Key,
    Keys,
    bound_by,
    domain_of,
    guards_of,
    has_key,
    is_bind,
    is_device,
    step_of,
    together,
    without,
)
from gputopo.cel.recovery import readable
from gputopo.cel.syntax import Call, Fold, Ident, ListNode, Literal, Node, Select, fault_at

_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">=", "@in": "in"}
Span = tuple[int, int]


class Spans(NamedTuple):
    """Where the parts of a reference are written, by offsets; None: nowhere, or the text there was to be repaired.

    `kind`: the word attributes or capacity; `name` and `domain`: with their quotes where they have some; `whole`: all
    of the reference; `other`: the literal that it is compared with; `relation`: the whole comparison."""

    kind: Span | None
    domain: Span | None
    name: Span | None
    whole: Span | None
    other: Span | None
    relation: Span | None


class Reference(NamedTuple):
    """`name` is None where only the domain is read; `guarded`: a missing one is no error (presence.py). `compared` is
    the operator or method and the literal on the other side, of `in` a tuple of them. Places as in a Fault."""

    kind: str
    domain: str
    name: str | None
    line: int
    column: int
    guarded: bool
    compared: tuple[str, Any] | None
    spans: Spans = Spans(*[None] * 6)


class Driver(NamedTuple):
    """A test `device.driver == 'x'`."""

    name: str
    line: int
    column: int


def references(text: str, release: str = DEFAULT_RELEASE) -> list[Reference]:
    """In text order; also of a selector that does not compile, as far as it can be read."""
    return list(_references(text, release))


# Every rule asks for the same selector.
@lru_cache(maxsize=256)
def _references(text: str, release: str) -> tuple[Reference, ...]:
    from gputopo.cel.program import deep_recursion

    env = environment(release)
    with deep_recursion():
        node, mapped = readable(text, env.macros, env.escapes)
        walk = _Walk(mapped)
        walk.visit(node, None, {}, frozenset())
    return tuple(sorted(walk.found, key=lambda one: (one.line, one.column)))


def drivers(text: str, release: str = DEFAULT_RELEASE) -> list[Driver]:
    """The drivers that a selector names."""
    return list(_of_drivers(text, release))


@lru_cache(maxsize=256)
def _of_drivers(text: str, release: str) -> tuple[Driver, ...]:
    from gputopo.cel.program import deep_recursion

    env = environment(release)
    with deep_recursion():
        node, mapped = readable(text, env.macros, env.escapes)
        return tuple(_drivers(node, mapped))


def _drivers(node: Node, text: Mapped) -> list[Driver]:
    found = []
    if isinstance(node, Call) and node.function == "_==_":
        for one, other in (node.args, node.args[::-1]):
            if _is_driver(one) and isinstance(other, Literal) and isinstance(other.value, str):
                fault = fault_at(text.first, text.back(other.at), "")
                found.append(Driver(other.value, fault.line, fault.column))
    return found + [driver for part in node.parts() for driver in _drivers(part, text)]


def _is_driver(node: Node) -> bool:
    return isinstance(node, Select) and node.field == "driver" and is_device(node.operand)


def left_without(text: str, kind: str, domain: str, name: str, release: str = DEFAULT_RELEASE) -> bool | None:
    """What a selector is on a device that lacks one attribute or capacity: always false, always true, or it depends;
    an error counts as what depends.

    >>> left_without("has(device.attributes['a.b'].x) && device.driver == 'a.b'", "attributes", "a.b", "x")
    False
    """
    from gputopo.cel.program import deep_recursion

    env = environment(release)
    with deep_recursion():
        node, faults = parse(text, env.macros, env.escapes)
        found = None if faults else without(node, Key(kind, domain, name), {})
    return None if isinstance(found, Failed) else found


class _Walk:
    def __init__(self, text: Mapped) -> None:
        self.text = text
        self.found: list[Reference] = []

    def visit(self, node: Node, above: Node | None, bound: Bound, safe: Keys) -> None:
        """`safe`: the keys without which the node does not matter."""
        step = step_of(node)
        if step is not None:
            operand, key, optional = step
            domain = domain_of(operand, bound)
            if domain is not None:
                asking = optional or (isinstance(node, Select) and node.test)
                self._add(domain, key.value if isinstance(key, Literal) else None, node, key, asking, above, safe)
                if not isinstance(operand, Ident):
                    return
        elif isinstance(node, Fold) and is_bind(node):
            self.visit(node.init, node, bound, safe)
            self.visit(node.result, node, bound_by(node, bound), safe)
            return
        for place, part in enumerate(node.parts()):
            self.visit(part, node, bound, together((safe, guards_of(node, place, bound))))
        whole = domain_of(node, {})
        if whole is not None and step is not None:
            self._add(whole, None, node, step[1], step[2], above, safe)

    def _add(
        self, domain: tuple[str, str], name: Any, node: Node, key: Node, asking: bool, above: Node | None, safe: Keys
    ) -> None:
        place = node.at + 1 if isinstance(node, Select) and not node.test else key.at
        fault = fault_at(self.text.first, self.text.back(place), "")
        text = name if isinstance(name, str) else None
        guarded = asking or (text is not None and has_key(safe, Key(*domain, text)))
        compared = _compared(node, above)
        spans = self._spans(node, key, above if compared is not None else None)
        self.found.append(Reference(*domain, text, fault.line, fault.column, guarded, compared, spans))

    def _spans(self, node: Node, key: Node, relation: Node | None) -> Spans:
        kind, domain = self._of_domain(node)
        other = None
        if isinstance(relation, Call):
            other = next((part for part in relation.parts() if part is not node), None)
        name: Span | None = (key.start, key.end)
        if isinstance(node, Select):
            name = _behind_dot(self.text.text, node.operand.end, node.field)
        places = (kind, domain, name, _span(node), _span(other), _span(relation))
        return Spans(*(None if one is None else self.text.span(*one) for one in places))

    def _of_domain(self, node: Node) -> tuple[Span | None, Span | None]:
        """Where a reference says `attributes` and its domain; nowhere, where a variable stands for both."""
        step = step_of(node)
        inner = step_of(step[0]) if step is not None else None
        if step is None or inner is None or not isinstance(inner[0], Select):
            return None, None
        domain = None if isinstance(step[0], Select) else (inner[1].start, inner[1].end)
        return _behind_dot(self.text.text, inner[0].operand.end, inner[0].field), domain


def _span(node: Node | None) -> Span | None:
    return None if node is None else (node.start, node.end)


def _behind_dot(text: str, place: int, name: str) -> Span | None:
    """Where `.name` stands behind an operand, without the dot."""
    behind = text[place:].lstrip()
    start = len(text) - len(behind[1:].lstrip())
    return (start, start + len(name)) if behind[:1] == "." and text.startswith(name, start) else None


def _compared(node: Node, above: Node | None) -> tuple[str, Any] | None:
    if not isinstance(above, Call):
        return None
    if above.function in _COMPARISONS:
        other = above.args[1] if above.args[0] is node else above.args[0]
        if above.function == "@in" and isinstance(other, ListNode):
            return _among(other)
        return (_COMPARISONS[above.function], other.value) if isinstance(other, Literal) else None
    if above.target is node and len(above.args) == 1 and isinstance(above.args[0], Literal):
        return above.function, above.args[0].value
    return None


def _among(listed: ListNode) -> tuple[str, Any] | None:
    """`in` with the literals of the list, where it holds nothing else."""
    values = tuple(one.value for one in listed.elements if isinstance(one, Literal))
    return ("in", values) if len(values) == len(listed.elements) and not listed.optional else None
