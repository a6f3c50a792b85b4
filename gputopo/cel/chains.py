"""Names, fields and indexes: cel-go interpreter/attributes.go.

A chain is evaluated as one: `a.b[c].d` looks a up and then applies three qualifiers. A chain costs 1 and
each qualifier 1; the branches of a conditional are resolved without the 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from gputopo.cel.scopes import Scope, Step, attempted_call
from gputopo.cel.values import NO_OVERLOAD, CelError, CelMap, Optional_, go_type, shown


class Constant(Step):
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def run(self, scope: Scope) -> Any:
        return self.value


class Name(Step):
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, scope: Scope) -> Any:
        scope.meter.charge(1)
        return scope.find(self.name)

    def resolved(self, scope: Scope) -> Any:
        """Without the cost of an evaluation: as the root of a chain or the branch of a conditional."""
        return scope.find(self.name)


class OutermostName(Name):
    """A name that no macro's variable hides."""

    __slots__ = ()

    def run(self, scope: Scope) -> Any:
        return super().run(scope.outermost())

    def resolved(self, scope: Scope) -> Any:
        return super().resolved(scope.outermost())


class Conditional(Step):
    """`a ? b : c`: free of cost, and so is a name or chain in a branch up to its fields."""

    __slots__ = ("condition", "no", "yes")

    def __init__(self, condition: Step, yes: Step, no: Step) -> None:
        self.condition, self.yes, self.no = condition, yes, no

    def run(self, scope: Scope) -> Any:
        decided = self.condition.run(scope)
        if not isinstance(decided, bool):
            raise CelError(NO_OVERLOAD)
        return resolved(self.yes if decided else self.no, scope)


def resolved(step: Step, scope: Scope) -> Any:
    return step.resolved(scope) if isinstance(step, (Name, Chain)) else step.run(scope)


class Field(Step):
    """One step of a chain: `.name` or `[key]`, optional (`?`) or only asked for (has)."""

    __slots__ = ("key", "optional", "test")

    def __init__(self, key: Step, optional: bool, test: bool = False) -> None:
        self.key, self.optional, self.test = key, optional, test

    def run(self, scope: Scope) -> Any:
        # A constant key has no cost of its own and a name none before it is applied.
        return resolved(self.key, scope)


class Chain(Step):
    """A name or value followed by fields and indexes: `device.attributes['d'].?name`."""

    __slots__ = ("fields", "root")

    def __init__(self, root: Step, fields: list[Field]) -> None:
        self.root, self.fields = root, fields

    def run(self, scope: Scope) -> Any:
        # A chain on a conditional is a conditional of two chains, and has() is free.
        free = isinstance(self.root, Conditional) or self.fields[-1].test
        value = attempted_call(lambda: self.resolved(scope))
        scope.meter.charge(0 if free else 1)
        if isinstance(value, CelError):
            raise value
        return value

    def resolved(self, scope: Scope) -> Any:
        value = resolved(self.root, scope)
        optional = isinstance(value, Optional_)
        if optional:
            if not value.present:
                return self._nothing()
            value = value.value
        for field in self.fields:
            optional = optional or field.optional
            key = attempted_call(partial(field.run, scope))
            if isinstance(key, CelError):
                scope.meter.charge(0 if optional else 1)
                raise key
            if field.test:
                scope.meter.charge(1)
                return _present(value, key)
            found, present = _qualified(value, key, optional, scope)
            if not present:
                return self._nothing()
            value = found
        return Optional_(value) if optional else value

    def _nothing(self) -> Any:
        """Of an optional part that is not there: has() says that plainly."""
        return False if self.fields[-1].test else Optional_(present=False)


def _present(value: Any, key: Any) -> bool:
    return _lookup(value, key)[1]


def _qualified(value: Any, key: Any, optional: bool, scope: Scope) -> tuple[Any, bool]:
    """The value behind a key, and whether there is one; without `?` a missing one is an error."""
    try:
        found, present, missing = _lookup(value, key)
    except CelError:
        scope.meter.charge(0 if optional else 1)
        raise
    if present or not optional:
        scope.meter.charge(1)
    if not present and not optional:
        raise CelError(f"{missing}: {shown(key)}")
    return found, present


def _lookup(value: Any, key: Any) -> tuple[Any, bool, str]:
    if not isinstance(key, (str, bool, int, float)):
        raise CelError(f"invalid qualifier type: {go_type(key)}")
    if isinstance(value, CelMap):
        found, present = value.find(key)
        return found, present, "no such key"
    if isinstance(value, list):
        place = _place(key)
        if 0 <= place < len(value):
            return value[place], True, ""
        return None, False, "index out of bounds"
    return None, False, "no such key"


def _place(key: Any) -> int:
    if isinstance(key, (str, bool)):
        kind = "bool" if isinstance(key, bool) else "string"
        raise CelError(f"unsupported index type '{kind}' in list")
    if isinstance(key, float) and (key != key or key in (float("inf"), float("-inf")) or key != int(key)):
        raise CelError(f"unsupported index value {shown(key)} in list")
    return int(key)
