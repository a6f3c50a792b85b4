"""From a checked tree to steps: constants are folded and constant patterns compiled, as cel-go plans a program.

Raises PlanError for what cel-go finds only then: `int('x')`, a pattern that is no RE2 outside of matches().
"""

from __future__ import annotations

from typing import Any

from gputopo.cel.chains import Chain, Conditional, Constant, Field, Name, OutermostName
from gputopo.cel.checker import qualified
from gputopo.cel.costs import Meter
from gputopo.cel.environment import UNDEFINED, Environment
from gputopo.cel.evaluate import (
    Comprehension,
    Equality,
    Gather,
    Invocation,
    Logical,
    MakeList,
    MakeMap,
    Member,
    NotFalse,
    OrElse,
)
from gputopo.cel.pattern_characters import BadPattern
from gputopo.cel.patterns import compile_pattern
from gputopo.cel.scopes import Scope, Step
from gputopo.cel.static_types import Type
from gputopo.cel.syntax import Call, Fold, Ident, ListNode, Literal, MapNode, Node, Select
from gputopo.cel.values import NO_OVERLOAD, CelError, Optional_, TypeValue, go_type

_UNLIMITED = 10**18
_CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_PATTERNS = frozenset({"matches", "find", "findAll"})
_INDEXES = {"_[_]": False, "_?._": True, "_[?_]": True}


class PlanError(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def plan(node: Node, environment: Environment) -> Step:
    return _Planner(environment).step(node)


def _folded(step: Step) -> Constant:
    """Raises Cancelled for a key that Go cannot hash: there the program dies, here it is refused."""
    return Constant(step.run(Scope(Meter(_UNLIMITED), {})))


class _Planner:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment

    def step(self, node: Node) -> Step:
        if isinstance(node, Literal):
            return Constant(node.value)
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListNode):
            return self._list(node)
        if isinstance(node, MapNode):
            return self._map(node)
        assert isinstance(node, Fold), node
        return self._fold(node)

    def _ident(self, node: Ident) -> Step:
        if node.constant is not None:
            return _type_value(node, node.constant)
        if node.type.kind == "type":
            # cel-go takes every name whose value is a type for the name of a type.
            raise PlanError(f"reference to undefined type: {node.name.removeprefix('.')}")
        bare = node.name.removeprefix(".")
        return OutermostName(bare) if bare != node.name and self.environment.dot_leads_out else Name(bare)

    def _select(self, node: Select) -> Step:
        if node.constant is not None:
            return _type_value(node, node.constant)
        return _chained(self.step(node.operand), Field(Constant(node.field), False, node.test))

    def _call(self, node: Call) -> Step:
        name = node.function
        args = [self.step(part) for part in node.parts()]
        if name in _INDEXES:
            key = args[1]
            if isinstance(key, Constant) and not isinstance(key.value, (str, bool, int, float)):
                raise PlanError(f"invalid qualifier type: {go_type(key.value)}")
            return _chained(args[0], Field(key, _INDEXES[name]))
        if name in ("_&&_", "_||_"):
            return Logical(args, decisive=name == "_||_")
        if name == "_?_:_":
            return Conditional(*args)
        if name in ("_==_", "_!=_"):
            return Equality(name, *args)
        if name == "@not_strictly_false":
            return NotFalse(args[0])
        if name in ("or", "orValue"):
            return OrElse(args[0], args[1], name == "orValue", self.environment.minor)
        return self._function(node, args)

    def _function(self, node: Call, args: list[Step]) -> Step:
        name = node.function
        known = self.environment.functions[name]
        step = Invocation(name, node.overloads, known, args, self.environment.minor)
        if name in _CONVERSIONS and isinstance(args[0], Constant):
            try:
                return _folded(step)
            except CelError as error:
                raise PlanError(error.text) from error
        listed = args[1] if name == "@in" else None
        if isinstance(listed, Constant) and isinstance(listed.value, list) and len(node.overloads) == 1:
            return self._member(step, args[0], listed.value)
        if name in _PATTERNS and len(args) > 1 and isinstance(args[1], Constant) and isinstance(args[1].value, str):
            _compiled(args[1].value)
            _plain_errors(step)
        return step

    def _member(self, step: Step, element: Step, values: list[Any]) -> Step:
        if not values:
            return Constant(False)
        simple = all(isinstance(value, (str, bool, int, float, type(None))) for value in values)
        return Member(element, values) if simple else step

    def _list(self, node: ListNode) -> Step:
        elements = [self.step(element) for element in node.elements]
        step = MakeList(elements, node.optional)
        constant = all(isinstance(element, Constant) for element in elements)
        return _folded(step) if constant and not node.optional else step

    def _map(self, node: MapNode) -> Step:
        entries = [(self.step(key), self.step(value), optional) for key, value, optional in node.entries]
        step = MakeMap(entries)
        constant = all(isinstance(one, Constant) and isinstance(other, Constant) for one, other, _ in entries)
        return _folded(step) if constant and not any(optional for _, _, optional in entries) else step

    def _fold(self, node: Fold) -> Step:
        steps = (self.step(node.init), self.step(node.condition), self._gathering(node), self.step(node.result))
        names = (node.variable, node.variable2)
        return Comprehension(self.step(node.source), names, node.accumulator, steps, self.environment.minor)

    def _gathering(self, node: Fold) -> Step:
        """The step of a fold; where it adds an element to the list so far, without copying that list."""
        step = node.step
        if not isinstance(node.init, ListNode) or node.init.elements:
            return self.step(step)
        if _adds(step, node.accumulator):
            return self._gather(step, node.accumulator)
        if isinstance(step, Call) and step.function == "_?_:_" and _adds(step.args[1], node.accumulator):
            keep, add, leave = step.args
            return Conditional(self.step(keep), self._gather(add, node.accumulator), self.step(leave))
        return self.step(step)

    def _gather(self, node: Node, accumulator: str) -> Step:
        assert isinstance(node, Call)
        return Gather(accumulator, self.step(node.args[1]))


def _adds(node: Node, accumulator: str) -> bool:
    """Whether the node is `accumulator + [element]`."""
    if not isinstance(node, Call) or node.function != "_+_":
        return False
    left, right = node.args
    return isinstance(left, Ident) and left.name == accumulator and isinstance(right, ListNode)


def _type_value(node: Node, constant: Type) -> Constant:
    name = (qualified(node) or "").removeprefix(".")
    if name in UNDEFINED:
        raise PlanError(f"reference to undefined type: {name}")
    return Constant(TypeValue(constant.name))


def _chained(root: Step, field: Field) -> Step:
    """One more field on a chain, or the first one of a new chain."""
    if isinstance(root, Chain) and not root.fields[-1].test:
        return Chain(root.root, [*root.fields, field])
    return Chain(root, [field])


def _compiled(pattern: str) -> None:
    try:
        compile_pattern(pattern)
    except BadPattern as error:
        raise PlanError(error.text) from error


def _plain_errors(step: Invocation) -> None:
    """With its pattern compiled beforehand, a call on a value that is no string says only `no such overload`."""
    perform = step.perform

    def call(*args: Any) -> Any:
        # Go asks the value inside an optional, or a type, for its string.
        text = args[0].value if isinstance(args[0], Optional_) else args[0]
        text = text.type_name if isinstance(text, TypeValue) else text
        if not isinstance(text, str):
            raise CelError(NO_OVERLOAD)
        return perform(text, *args[1:])

    step.perform = call
    step.early = True
