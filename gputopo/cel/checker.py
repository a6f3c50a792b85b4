"""Type checker: cel-go checker/checker.go over the selector environment. Faults have cel-go's places and words."""

from __future__ import annotations

from gputopo.cel import static_types as types
from gputopo.cel.environment import NAMES, UNDEFINED, Environment
from gputopo.cel.signatures import Overload
from gputopo.cel.static_types import Type, formatted, is_dyn, is_dyn_or_error, list_of, map_of, signature, unwrapped
from gputopo.cel.syntax import (
    Call,
    Fold,
    Hole,
    Ident,
    ListNode,
    Literal,
    MapNode,
    Node,
    Select,
    StructNode,
)
from gputopo.cel.unify import Substitutions, most_general
from gputopo.cel.values import Uint


def check(node: Node, environment: Environment) -> list[tuple[int, str]]:
    """Sets the type and the possible overloads of every node; the faults as (offset, message)."""
    checker = Checker(environment)
    checker.visit(node)
    _settle(node, checker.types)
    return checker.errors


def _settle(node: Node, found: Substitutions) -> None:
    """Every type variable becomes what it stands for, or dyn."""
    node.type = found.substitute(node.type, to_dyn=True)
    for part in node.parts():
        _settle(part, found)


def qualified(node: Node) -> str | None:
    """`a.b.c` as one name, where the tree is nothing else."""
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select) and not node.test:
        front = qualified(node.operand)
        return None if front is None else f"{front}.{node.field}"
    return None


def _named_type(name: str) -> Type | None:
    bare = name.removeprefix(".")
    return NAMES.get(bare) or UNDEFINED.get(bare)


def literal_type(value: object) -> Type:
    kinds = {
        bool: types.BOOL, int: types.INT, Uint: types.UINT, float: types.DOUBLE, str: types.STRING, bytes: types.BYTES,
        type(None): types.NULL,
    }  # fmt: skip
    return kinds[type(value)]


class Checker:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.errors: list[tuple[int, str]] = []
        self.types = Substitutions()
        self._variables = 0
        self._scopes: list[dict[str, Type]] = [{"device": types.DEVICE}]

    def error(self, at: int, message: str) -> None:
        self.errors.append((at, message))

    def visit(self, node: Node) -> None:
        if isinstance(node, Literal):
            node.type = literal_type(node.value)
        elif isinstance(node, Ident):
            self._ident(node)
        elif isinstance(node, Select):
            self._select(node)
        elif isinstance(node, Call):
            self._call(node)
        elif isinstance(node, ListNode):
            self._list(node)
        elif isinstance(node, MapNode):
            self._map(node)
        elif isinstance(node, Fold):
            self._fold(node)
        elif isinstance(node, StructNode):
            self.error(node.at, f"undeclared reference to '{node.name}' (in container '')")
            node.type = types.ERROR
        elif isinstance(node, Hole):
            for part in node.found:
                self.visit(part)
            node.type = types.ERROR

    def _lookup(self, name: str) -> Type | None:
        bare = name.removeprefix(".")
        outermost = name != bare and self.environment.dot_leads_out
        for scope in reversed(self._scopes[:1] if outermost else self._scopes):
            if bare in scope:
                return scope[bare]
        return None

    def _ident(self, node: Ident) -> None:
        found = self._lookup(node.name)
        if found is not None:
            node.type = found
        elif _named_type(node.name) is not None:
            node.constant = _named_type(node.name)
            node.type = types.type_of(node.constant or types.ERROR)
        else:
            self.error(node.at, f"undeclared reference to '{node.name}' (in container '')")
            node.type = types.ERROR

    def _select(self, node: Select) -> None:
        name = None if node.test else qualified(node)
        constant = None if name is None else _named_type(name)
        if constant is not None:
            node.constant = constant
            node.type = types.type_of(constant)
            return
        result = self._field(node.operand, node.field, node.at, False)
        node.type = self.types.substitute(types.BOOL if node.test else result, to_dyn=False)

    def _field(self, operand: Node, field: str, at: int, optional: bool) -> Type:
        self.visit(operand)
        target, was_optional = unwrapped(self.types.substitute(operand.type, to_dyn=False))
        result = types.ERROR
        if target.kind == "map":
            result = target.parameters[1]
        elif target.kind == "struct":
            result = self._of_struct(target, field, at)
        elif target.kind == "param":
            self.types.assignable(types.DYN, target)
            result = types.DYN
        else:
            if not is_dyn_or_error(target):
                self.error(at, f"type '{formatted(target)}' does not support field selection")
            result = types.DYN
        return types.optional_of(result) if was_optional or optional else result

    def _of_struct(self, target: Type, field: str, at: int) -> Type:
        if target != types.DEVICE:
            self.error(at, f"unexpected failed resolution of '{target.name}'")
            return types.ERROR
        found = self.environment.fields.get(field)
        if found is None:
            self.error(at, f"undefined field '{field}'")
            return types.ERROR
        return found

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            operand, field = node.args
            assert isinstance(field, Literal)
            field.type = types.STRING
            node.type = self.types.substitute(self._field(operand, field.value, node.at, True), to_dyn=False)
            return
        for argument in node.args:
            self.visit(argument)
        name = node.function
        if node.target is not None:
            prefix = qualified(node.target)
            if prefix is not None and f"{prefix}.{name}".removeprefix(".") in self.environment.functions:
                name = node.function = f"{prefix}.{name}".removeprefix(".")
                node.target = None
            else:
                self.visit(node.target)
        overloads = self.environment.functions.get(name.removeprefix(".") if node.target is None else name)
        if overloads is None:
            self.error(node.at, f"undeclared reference to '{name}' (in container '')")
            node.type = types.ERROR
            return
        node.function = name = name.removeprefix(".")
        self._resolve(node, overloads)

    def _resolve(self, node: Call, overloads: tuple[Overload, ...]) -> None:
        arguments = [part.type for part in node.parts()]
        member = node.target is not None
        if node.function in ("_&&_", "_||_"):
            node.overloads = overloads
            node.type = types.BOOL
            for argument in node.args:
                if not self.types.assignable(argument.type, types.BOOL):
                    found = formatted(argument.type)
                    self.error(argument.at, f"expected type 'bool' but found '{found}'")
                    node.type = types.ERROR
            return
        result: Type | None = None
        possible = []
        for overload in overloads:
            if overload.member != member or len(overload.arguments) != len(arguments):
                continue
            instance = self._instance(overload)
            if not self.types.assignable_all(arguments, list(instance.arguments)):
                continue
            possible.append(overload)
            found_result = self.types.substitute(instance.result, to_dyn=False)
            if result is None:
                result = found_result
            elif not is_dyn(result) and found_result != result:
                result = types.DYN
        node.overloads = tuple(possible)
        if result is None:
            settled = [self.types.substitute(one, to_dyn=True) for one in arguments]
            applied = signature(settled, member)
            self.error(node.at, f"found no matching overload for '{node.function}' applied to '{applied}'")
        node.type = types.ERROR if result is None else result

    def _instance(self, overload: Overload) -> Overload:
        """The overload with type variables of its own."""
        if not overload.variables:
            return overload
        fresh = {variable: self._new_variable() for variable in overload.variables}

        def renamed(one: Type) -> Type:
            if one.kind == "param":
                return fresh[one]
            return one._replace(parameters=tuple(map(renamed, one.parameters))) if one.parameters else one

        return overload._replace(result=renamed(overload.result), arguments=tuple(map(renamed, overload.arguments)))

    def _new_variable(self) -> Type:
        self._variables += 1
        return types.parameter(f"_var{self._variables - 1}")

    def _joined(self, before: Type | None, now: Type) -> Type:
        """What two elements have in common, or dyn: that mixed literals are refused comes after the types."""
        if before is None:
            return now
        return most_general(before, now) if self.types.assignable(before, now) else types.DYN

    def _unwrapped(self, node: Node) -> Type:
        """The type inside an element that is marked optional."""
        inner, optional = unwrapped(node.type)
        if not optional and not is_dyn(inner):
            wanted = formatted(types.optional_of(inner))
            self.error(node.at, f"expected type '{wanted}' but found '{formatted(inner)}'")
        return inner

    def _list(self, node: ListNode) -> None:
        joined: Type | None = None
        for place, element in enumerate(node.elements):
            self.visit(element)
            found = self._unwrapped(element) if place in node.optional else element.type
            joined = self._joined(joined, found)
        node.type = list_of(joined if joined is not None else self._new_variable())

    def _map(self, node: MapNode) -> None:
        keys: Type | None = None
        values: Type | None = None
        for key, value, optional in node.entries:
            self.visit(key)
            keys = self._joined(keys, key.type)
            self.visit(value)
            values = self._joined(values, self._unwrapped(value) if optional else value.type)
        if keys is None or values is None:
            keys, values = self._new_variable(), self._new_variable()
        node.type = map_of(keys, values)

    def _fold(self, node: Fold) -> None:
        self.visit(node.source)
        self.visit(node.init)
        source = self.types.substitute(node.source.type, to_dyn=False)
        first, second = self._ranged(node.source, source, bool(node.variable2))
        self._scopes.append({node.accumulator: node.init.type})
        inner = {node.variable: first}
        if node.variable2:
            inner[node.variable2] = second
        self._scopes.append(inner)
        for part, wanted in ((node.condition, types.BOOL), (node.step, node.init.type)):
            self.visit(part)
            if not self.types.assignable(wanted, part.type):
                self.error(part.at, f"expected type '{formatted(wanted)}' but found '{formatted(part.type)}'")
        self._scopes.pop()
        self.visit(node.result)
        self._scopes.pop()
        node.type = self.types.substitute(node.result.type, to_dyn=False)

    def _ranged(self, node: Node, source: Type, two: bool) -> tuple[Type, Type]:
        """The types of the variables of a comprehension over this range."""
        if source.kind == "list":
            return (types.INT, source.parameters[0]) if two else (source.parameters[0], types.DYN)
        if source.kind == "map":
            return source.parameters[0], source.parameters[1]
        if source.kind in ("dyn", "error", "param"):
            self.types.assignable(types.DYN, source)
            return types.DYN, types.DYN
        words = "cannot be range of a comprehension (must be list, map, or dynamic)"
        self.error(node.at, f"expression of type '{formatted(source)}' {words}")
        return types.ERROR, types.ERROR
