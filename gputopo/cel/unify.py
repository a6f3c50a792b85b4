"""Assignability of types with type variables: cel-go checker/types.go.

>>> from gputopo.cel.static_types import INT, STRING, list_of, parameter
>>> types = Substitutions()
>>> a = parameter("A")
>>> types.assignable_all([INT, list_of(STRING)], [a, list_of(a)]), types.assignable(INT, a)
(False, True)
>>> types.substitute(list_of(a), to_dyn=False).parameters[0].name
'int'
"""

from __future__ import annotations

from gputopo.cel.static_types import DYN, Type, is_dyn, is_dyn_or_error

_NULLABLE = frozenset({"opaque", "struct", "any", "duration", "timestamp", "dyn", "param", "null"})
_SIMPLE = frozenset({"bool", "bytes", "double", "int", "string", "uint", "duration", "timestamp", "struct"})


class Substitutions:
    """What each type variable stands for. A failed attempt leaves nothing behind."""

    __slots__ = ("_bound", "_trail")

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._trail: list[tuple[Type, Type | None]] = []

    def assignable(self, one: Type, other: Type) -> bool:
        return self.assignable_all([one], [other])

    def assignable_all(self, ones: list[Type], others: list[Type]) -> bool:
        """Whether each of `ones` is assignable to its counterpart, all at once."""
        self._trail = []
        if self._all(tuple(ones), tuple(others)):
            return True
        for key, old in reversed(self._trail):
            if old is None:
                del self._bound[key]
            else:
                self._bound[key] = old
        return False

    def substitute(self, one: Type, to_dyn: bool) -> Type:
        """The type with every bound variable replaced; an unbound one becomes dyn where `to_dyn`."""
        while one.kind == "param" and one in self._bound:
            one = self._bound[one]
        if one.kind == "param":
            return DYN if to_dyn else one
        if not one.parameters:
            return one
        return one._replace(parameters=tuple(self.substitute(each, to_dyn) for each in one.parameters))

    def _bind(self, key: Type, value: Type) -> None:
        self._trail.append((key, self._bound.get(key)))
        self._bound[key] = value

    def _all(self, ones: tuple[Type, ...], others: tuple[Type, ...]) -> bool:
        return len(ones) == len(others) and all(map(self._one, ones, others))

    def _one(self, one: Type, other: Type) -> bool:
        if other.kind == "param":
            valid, bound = self._valid(one, other)
            if valid:
                return True
            if bound:
                return False
        if one.kind == "param":
            return self._valid(other, one)[0]
        if is_dyn_or_error(one) or is_dyn_or_error(other):
            return True
        if one.kind == "null" or other.kind == "null":
            return (other if one.kind == "null" else one).kind in _NULLABLE
        if one.kind in _SIMPLE:
            return one == other
        if one.kind == "type":
            return other.kind == "type"
        return one.kind == other.kind and one.name == other.name and self._all(one.parameters, other.parameters)

    def _valid(self, one: Type, variable: Type) -> tuple[bool, bool]:
        """Whether the variable can stand for the type, and whether it stood for something already."""
        if one == variable:
            return True, True
        bound = self._bound.get(variable)
        if bound is None:
            if not self._absent(variable, one):
                return False, False
            self._bind(variable, one)
            return True, False
        if one == bound:
            return True, True
        if not self._one(one, bound):
            return False, True
        general = most_general(one, bound)
        if self._absent(variable, general):
            self._bind(variable, general)
        return True, True

    def _absent(self, variable: Type, within: Type) -> bool:
        """The occurs check: a variable must not stand for a type that holds it."""
        if variable == within:
            return False
        if within.kind == "param":
            bound = self._bound.get(within)
            return bound is None or self._absent(variable, bound)
        return all(self._absent(variable, each) for each in within.parameters)


def most_general(one: Type, other: Type) -> Type:
    """Of two types that unify the less specific one."""
    return one if _less_specific(one, other) else other


def _less_specific(one: Type, other: Type) -> bool:
    if is_dyn(one) or one.kind == "param":
        return True
    if is_dyn(other) or other.kind == "param" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.kind in ("opaque", "list", "map"):
        same = one.name == other.name and len(one.parameters) == len(other.parameters)
        return same and all(map(_less_specific, one.parameters, other.parameters))
    return one == other
