"""Variables, steps and how an error travels: what every kind of step stands on.

An error is raised where it arises; && and || hold it back as long as another term can still decide.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gputopo.cel.costs import Meter
from gputopo.cel.values import CelError


class Scope:
    """The variables of one evaluation, innermost last, and its meter."""

    __slots__ = ("meter", "outer", "values")

    def __init__(self, meter: Meter, values: dict[str, Any], outer: Scope | None = None) -> None:
        self.meter, self.values, self.outer = meter, values, outer

    def find(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                value = scope.values[name]
                if isinstance(value, Pending):
                    value = scope.values[name] = value.settled()
                if isinstance(value, CelError):
                    raise value
                return value
            scope = scope.outer
        raise CelError(f"no such attribute(s): {name}")

    def outermost(self) -> Scope:
        scope = self
        while scope.outer is not None:
            scope = scope.outer
        return scope


class Pending:
    """A variable that is worked out when it is first asked for: what cel.bind binds."""

    __slots__ = ("scope", "step")

    def __init__(self, step: Step, scope: Scope) -> None:
        self.step, self.scope = step, scope

    def settled(self) -> Any:
        return attempted(self.step, self.scope)


class Step:
    """One node ready to run."""

    __slots__ = ()

    def run(self, scope: Scope) -> Any:
        raise NotImplementedError


def attempted(step: Step, scope: Scope) -> Any:
    """The value or the error."""
    try:
        return step.run(scope)
    except CelError as error:
        return error


def attempted_call(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except CelError as error:
        return error
