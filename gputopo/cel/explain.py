"""Why a selector is false on a device, or fails there: the parts that decided, with their values.

>>> from gputopo.cel.program import Device, compile
>>> text = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].productName.contains('H200')"
>>> device = Device("gpu.nvidia.com", {"productName": "NVIDIA H100 80GB HBM3"}, {})
>>> for reason in explain(compile(text), device):
...     print(reason.text, "is", reason.value)
device.attributes['gpu.nvidia.com'].productName.contains('H200') is false
device.attributes['gpu.nvidia.com'].productName is "NVIDIA H100 80GB HBM3"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gputopo.cel.costs import Meter
from gputopo.cel.devices import UnsupportedAttribute, as_variable
from gputopo.cel.environment import MOST_COST
from gputopo.cel.planner import PlanError, plan
from gputopo.cel.presence import is_bind
from gputopo.cel.program import Device, Program, deep_recursion
from gputopo.cel.scopes import Scope
from gputopo.cel.syntax import Call, Fold, Ident, Literal, Node, Select
from gputopo.cel.values import Cancelled, CelError, literal

_FIELDS = frozenset({"_[_]", "_?._", "_[?_]"})


class Reason(NamedTuple):
    """A part of the selector as it is written, its value as CEL writes it, and whether it is an error instead."""

    text: str
    value: str
    failed: bool


def explain(program: Program, device: Device) -> list[Reason]:
    """The deciding parts in text order, each once; nothing for a selector that is true."""
    try:
        variable = as_variable(device, program.environment)
    except UnsupportedAttribute as error:
        return [Reason(program.text, error.text, True)]
    with deep_recursion():
        found = list(_Explained(program, {"device": variable}).decided(program.node, False))
    return list(dict.fromkeys(found))


class _Explained:
    """The parts of one selector under the variables that are known: the device, and what cel.bind binds."""

    def __init__(self, program: Program, variables: dict[str, Any]) -> None:
        self.program, self.variables = program, variables

    def value(self, node: Node) -> Any:
        """The value, or the error."""
        try:
            step = plan(node, self.program.environment)
            return step.run(Scope(Meter(MOST_COST), dict(self.variables)))
        except (CelError, Cancelled) as error:
            return error
        except PlanError as error:
            return CelError(error.text)

    def decided(self, node: Node, good: bool) -> Iterator[Reason]:
        """The parts that made the node what it is, where it is not `not good`."""
        value = self.value(node)
        if value is not good and not isinstance(value, (CelError, Cancelled)) and isinstance(value, bool):
            return
        if isinstance(node, Call) and node.function in ("_&&_", "_||_"):
            yield from self._terms(node, value, good)
        elif isinstance(node, Call) and node.function == "!_":
            yield from self.decided(node.args[0], not good)
        elif isinstance(node, Call) and node.function == "_?_:_":
            yield from self._branches(node, good)
        elif isinstance(node, Fold) and is_bind(node):
            bound = {**self.variables, node.accumulator: self.value(node.init)}
            yield from _Explained(self.program, bound).decided(node.result, good)
        else:
            yield self._reason(node, value)
            yield from self._operands(node)

    def _terms(self, node: Call, value: Any, good: bool) -> Iterator[Reason]:
        """Of `&&` that is false the false terms, of one that failed the failed ones."""
        for term in node.args:
            one = self.value(term)
            failed = isinstance(one, (CelError, Cancelled))
            if one is good or (failed and isinstance(value, (CelError, Cancelled))):
                yield from self.decided(term, good)

    def _branches(self, node: Call, good: bool) -> Iterator[Reason]:
        condition, yes, no = node.args
        decided = self.value(condition)
        yield self._reason(condition, decided)
        if isinstance(decided, bool):
            yield from self.decided(yes if decided else no, good)

    def _operands(self, node: Node) -> Iterator[Reason]:
        """What was compared or called with, as far as it is not written out."""
        if isinstance(node, Fold):
            yield from self._operand(node.source)
            for part in _outside(node.step, {node.variable, node.variable2, node.accumulator}):
                yield from self._operand(part)
        if not isinstance(node, Call) or node.function in _FIELDS:
            return
        for part in node.parts():
            yield from self._operand(part)

    def _operand(self, part: Node) -> Iterator[Reason]:
        if isinstance(part, Literal) or not _reads(part):
            return
        if isinstance(part, Call) and part.function not in _FIELDS:
            yield from self._operands(part)
            return
        yield self._reason(part, self.value(part))

    def _reason(self, node: Node, value: Any) -> Reason:
        text = " ".join(self.program.text[node.start : node.end].split())
        if isinstance(value, (CelError, Cancelled)):
            return Reason(text, value.text, True)
        return Reason(text, literal(value), False)


def _names(node: Node) -> set[str]:
    own = {node.name} if isinstance(node, Ident) else set()
    return own.union(*map(_names, node.parts()))


def _outside(node: Node, inner: set[str]) -> Iterator[Node]:
    """The largest parts of a comprehension that use none of its variables: they are the same in every round."""
    if not _names(node) & inner:
        yield node
        return
    for part in node.parts():
        yield from _outside(part, inner)


def _reads(node: Node) -> bool:
    """Whether the part depends on the device: a field or index somewhere in it."""
    if isinstance(node, Select) or (isinstance(node, Call) and node.function in _FIELDS):
        return True
    return any(_reads(part) for part in node.parts())
