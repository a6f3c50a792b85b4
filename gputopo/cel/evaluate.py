"""The steps that are no chain: logic, calls, literals of lists and maps, comprehensions (cel-go interpreter).

A call evaluates all its arguments before the first error is raised, for the cost of the evaluation counts them.
"""

from __future__ import annotations

from typing import Any

from gputopo.cel import operators
from gputopo.cel.bounds import DEEP, weighed
from gputopo.cel.costs import LIST_COST, MAP_COST, call_cost, equality_cost
from gputopo.cel.library import SINGLETONS, implementation
from gputopo.cel.lists import unsupported_range
from gputopo.cel.scopes import Pending, Scope, Step, attempted, attempted_call
from gputopo.cel.signatures import Overload
from gputopo.cel.values import (
    NO_OVERLOAD,
    CelError,
    CelMap,
    Optional_,
    Unhashable,
    go_type,
    is_number,
    map_key,
    register,
    shown,
    unhashable,
)


class Logical(Step):
    """`&&` and `||` over all their terms: the deciding value wins over errors, the first error over the other value."""

    __slots__ = ("decisive", "terms")

    def __init__(self, terms: list[Step], decisive: bool) -> None:
        self.terms, self.decisive = terms, decisive

    def run(self, scope: Scope) -> Any:
        failed: CelError | None = None
        for term in self.terms:
            value = attempted(term, scope)
            if value is self.decisive:
                return self.decisive
            if not isinstance(value, bool) and failed is None:
                failed = value if isinstance(value, CelError) else CelError(NO_OVERLOAD)
        if failed is not None:
            raise failed
        return not self.decisive


class Equality(Step):
    __slots__ = ("function", "left", "right")

    def __init__(self, function: str, left: Step, right: Step) -> None:
        self.function, self.left, self.right = function, left, right

    def run(self, scope: Scope) -> Any:
        one, other = attempted(self.left, scope), attempted(self.right, scope)
        weighed(one)
        weighed(other)
        scope.meter.charge(equality_cost(self.function, one, other))
        for value in (one, other):
            if isinstance(value, CelError):
                raise value
        return operators.equal(one, other) if self.function == "_==_" else operators.not_equal(one, other)


class NotFalse(Step):
    """`@not_strictly_false`: whether a quantifier goes on; an error does not stop it."""

    __slots__ = ("inner",)

    def __init__(self, inner: Step) -> None:
        self.inner = inner

    def run(self, scope: Scope) -> Any:
        value = attempted(self.inner, scope)
        scope.meter.charge(1)
        return value if isinstance(value, bool) else True


class Invocation(Step):
    """Any other call."""

    __slots__ = ("args", "early", "function", "minor", "overload", "perform")

    def __init__(
        self,
        function: str,
        overloads: tuple[Overload, ...],
        known: tuple[Overload, ...],
        args: list[Step],
        minor: int,
    ) -> None:
        self.function, self.args, self.minor = function, args, minor
        self.overload = overloads[0] if len(overloads) == 1 else None
        # With three arguments and more, or where the values choose the overload, the first error ends it.
        chosen = self.overload is None and len(args) > 1 and function not in SINGLETONS
        self.early = len(args) > 2 or chosen
        self.perform = implementation(function, overloads, known, minor)

    def run(self, scope: Scope) -> Any:
        values: list[Any] = []
        failed: CelError | None = None
        for arg in self.args:
            value = attempted(arg, scope)
            values.append(value)
            if isinstance(value, CelError):
                failed = failed or value
                if self.early and len(values) < len(self.args):
                    raise failed
        if self.function in DEEP:
            for value in values:
                weighed(value)
        result = failed or attempted_call(lambda: self.perform(*values))
        scope.meter.charge(call_cost(self.function, self.overload, values, result, self.minor))
        if isinstance(result, CelError):
            raise result
        return result


class Member(Step):
    """`x in [constants]`, which cel-go makes a lookup in a set: without cost, and Go must be able to hash x."""

    __slots__ = ("element", "values")

    def __init__(self, element: Step, values: list[Any]) -> None:
        self.element, self.values = element, values

    def run(self, scope: Scope) -> Any:
        value = self.element.run(scope)
        try:
            map_key(value)
        except Unhashable as error:
            raise unhashable(error) from error
        if isinstance(value, (list, CelMap, Optional_)):
            return False
        if is_number(value) and not isinstance(value, float):
            # The set holds of a double the integer that it is exactly; `==` compares as doubles.
            return any(is_number(one) and value == one for one in self.values)
        return operators.contained(value, self.values)


class OrElse(Step):
    """optional.or() and orValue(): the other side is evaluated only where the first is empty."""

    __slots__ = ("left", "right", "strict", "unwrap")

    def __init__(self, left: Step, right: Step, unwrap: bool, minor: int) -> None:
        self.left, self.right, self.unwrap = left, right, unwrap
        self.strict = minor >= 37  # cel-go 0.29; 0.26 hands on what is no optional


    def run(self, scope: Scope) -> Any:
        value = self.left.run(scope)
        if not isinstance(value, Optional_):
            if self.strict:
                raise CelError(NO_OVERLOAD)
            return value
        if value.present:
            return value.value if self.unwrap else value
        return self.right.run(scope)


class MakeList(Step):
    __slots__ = ("elements", "optional")

    def __init__(self, elements: list[Step], optional: frozenset[int]) -> None:
        self.elements, self.optional = elements, optional

    def run(self, scope: Scope) -> Any:
        made: list[Any] = []
        failed: CelError | None = None
        for place, element in enumerate(self.elements):
            value = attempted(element, scope)
            if not isinstance(value, CelError) and place in self.optional:
                if not isinstance(value, Optional_):
                    words = f"cannot initialize optional list element from non-optional value {shown(value)}"
                    value = CelError(words)
                elif not value.present:
                    continue
                else:
                    value = value.value
            if isinstance(value, CelError):
                failed = value
                break
            made.append(value)
        scope.meter.charge(LIST_COST)
        if failed is not None:
            raise failed
        return made


class MakeMap(Step):
    __slots__ = ("entries",)

    def __init__(self, entries: list[tuple[Step, Step, bool]]) -> None:
        self.entries = entries

    def run(self, scope: Scope) -> Any:
        made = CelMap({})
        try:
            for key_step, value_step, optional in self.entries:
                self._add(made, key_step.run(scope), value_step.run(scope), optional)
        except Unhashable as error:
            raise unhashable(error) from error
        finally:
            scope.meter.charge(MAP_COST)
        return made

    def _add(self, made: CelMap, key: Any, value: Any, optional: bool) -> None:
        if optional:
            if not isinstance(value, Optional_):
                words = f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
                raise CelError(words)
            if not value.present:
                made.items.pop(map_key(key), None)
                return
            value = value.value
        made.items[map_key(key)] = (key, value)


class Comprehension(Step):
    """A fold; over an empty range it is what binds a variable."""

    __slots__ = ("accumulator", "condition", "init", "minor", "result", "source", "step", "two", "variables")

    def __init__(
        self,
        source: Step,
        variables: tuple[str, str],
        accumulator: str,
        steps: tuple[Step, Step, Step, Step],
        minor: int,
    ) -> None:
        self.minor = minor
        self.source, self.variables, self.accumulator = source, variables, accumulator
        self.init, self.condition, self.step, self.result = steps
        self.two = bool(variables[1])

    def run(self, scope: Scope) -> Any:
        outer = Scope(scope.meter, {self.accumulator: Pending(self.init, scope)}, scope)
        for values in self._ranged(scope):
            inner = Scope(scope.meter, dict(zip(self.variables, values)), outer)
            decided = attempted(self.condition, inner)
            if decided is False:
                break
            outer.values[self.accumulator] = attempted(self.step, inner)
        result = self.result.run(outer)
        return list(result) if isinstance(result, Growing) else result

    def _ranged(self, scope: Scope) -> list[tuple[Any, ...]]:
        if not self.two:
            source = self.source.run(scope)
            if isinstance(source, CelMap):
                return [(key,) for key, _ in source.pairs()]
            if not isinstance(source, list):
                raise CelError(f"got '{go_type(source)}', expected iterable type")
            return [(value,) for value in source]
        source = attempted(self.source, scope)
        if isinstance(source, CelError):
            raise CelError("unsupported comprehension range type: *types.Err") if self.minor < 33 else source
        if isinstance(source, CelMap):
            return list(source.pairs())
        if not isinstance(source, list):
            raise unsupported_range(source)
        return list(enumerate(source))


class Growing(list[Any]):
    """The list that a comprehension gathers: its own, so that adding to it copies nothing."""

    __slots__ = ()


register(Growing, "list")


class Gather(Step):
    """`@result + [element]` inside a comprehension."""

    __slots__ = ("added", "name")

    def __init__(self, name: str, added: Step) -> None:
        self.name, self.added = name, added

    def run(self, scope: Scope) -> Any:
        scope.meter.charge(1)
        gathered = attempted_call(lambda: scope.find(self.name))
        added = attempted(self.added, scope)
        scope.meter.charge(1)
        for value in (gathered, added):
            if isinstance(value, CelError):
                raise value
        grown = gathered if isinstance(gathered, Growing) else Growing(gathered)
        grown.extend(added)
        return grown
