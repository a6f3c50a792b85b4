"""Macros: has, the comprehensions of one and two variables, optMap, sortBy and cel.bind, as cel-go expands them.

Sources: cel-go parser/macro.go, cel/library.go, ext/comprehensions.go, ext/lists.go, ext/bindings.go.
"""

from __future__ import annotations

from collections.abc import Callable

from gputopo.cel.syntax import Call, Fold, Hole, Ident, ListNode, Literal, MapNode, Node, Select, StructNode

Complain = Callable[[int, str], None]
ACCUMULATOR = "@result"
# name/arguments: those of a receiver. `has` is the only one without.
ONE_VARIABLE = frozenset({"all/2", "exists/2", "exists_one/2", "map/2", "map/3", "filter/2"})
TWO_VARIABLES = frozenset(
    {"all/3", "exists/3", "exists_one/3", "existsOne/3", "transformList/3", "transformList/4", "transformMap/3",
     "transformMap/4", "transformMapEntry/3", "transformMapEntry/4"}
)  # fmt: skip
OTHERS = frozenset({"bind/3", "optMap/2", "optFlatMap/2"})
SORT = frozenset({"sortBy/2"})
_OVERWRITES = "iteration variable overwrites accumulator variable"


class _Malformed(Exception):
    """A macro whose arguments are not what it takes: at which offset, and why."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(at, why)
        self.at, self.why = at, why


def expanded(call: Call, macros: frozenset[str], complain: Complain) -> Node:
    """The call itself, or what the macro of its name makes of it."""
    key = f"{call.function}/{len(call.args)}"
    try:
        if call.target is None:
            return _has(call) if key == "has/1" else call
        if key not in macros:
            return call
        return _EXPANDERS[call.function](call)
    except _Malformed as error:
        complain(error.at, error.why)
        return Hole(call.parts(), error.at, call.start, call.end)


def _has(call: Call) -> Node:
    operand = call.args[0]
    if not isinstance(operand, Select):
        raise _Malformed(operand.at, "invalid argument to has() macro")
    return Select(operand.operand, operand.field, True, call.at, call.start, call.end)


def _name(node: Node, why: str) -> str:
    if not isinstance(node, Ident):
        raise _Malformed(node.at, why)
    return node.name


def _variable(call: Call, why: str) -> str:
    name = _name(call.args[0], why)
    if name in (ACCUMULATOR, "__result__"):
        raise _Malformed(call.args[0].at, _OVERWRITES)
    return name


def _variables(call: Call) -> tuple[str, str]:
    """The one or two variables of a quantifier, of two by the number of arguments."""
    first = _name(call.args[0], "argument must be a simple name")
    second = _name(call.args[1], "argument must be a simple name")
    if first == second:
        raise _Malformed(call.args[1].at, f"duplicate variable name: {first}")
    for node, name in zip(call.args, (first, second)):
        if name in (ACCUMULATOR, "__result__"):
            raise _Malformed(node.at, _OVERWRITES)
    return first, second


def _made(call: Call) -> Callable[[str, list[Node]], Call]:
    """What the macro adds stands, for errors, where the macro's bracket stands."""
    return lambda name, args: Call(name, None, args, call.at, call.start, call.end)


def _literal(call: Call, value: object) -> Literal:
    return Literal(value, call.at, call.start, call.end)


def _ident(call: Call, name: str = ACCUMULATOR) -> Ident:
    return Ident(name, call.at, call.start, call.end)


def _list(call: Call, *elements: Node) -> ListNode:
    return ListNode(list(elements), frozenset(), call.at, call.start, call.end)


def _source(call: Call) -> Node:
    assert call.target is not None
    return call.target


def _fold(call: Call, variables: tuple[str, str], init: Node, condition: Node, step: Node, result: Node) -> Fold:
    return Fold(_source(call), variables, ACCUMULATOR, (init, condition, step, result), call)


def _quantified(call: Call) -> tuple[tuple[str, str], Node]:
    two = len(call.args) == 3
    names = _variables(call) if two else (_variable(call, "argument must be a simple name"), "")
    return names, call.args[-1]


def _all(call: Call) -> Node:
    names, predicate = _quantified(call)
    made = _made(call)
    condition = made("@not_strictly_false", [_ident(call)])
    return _fold(call, names, _literal(call, True), condition, made("_&&_", [_ident(call), predicate]), _ident(call))


def _exists(call: Call) -> Node:
    names, predicate = _quantified(call)
    made = _made(call)
    condition = made("@not_strictly_false", [made("!_", [_ident(call)])])
    return _fold(call, names, _literal(call, False), condition, made("_||_", [_ident(call), predicate]), _ident(call))


def _exists_one(call: Call) -> Node:
    names, predicate = _quantified(call)
    made = _made(call)
    more = made("_+_", [_ident(call), _literal(call, 1)])
    step = made("_?_:_", [predicate, more, _ident(call)])
    result = made("_==_", [_ident(call), _literal(call, 1)])
    return _fold(call, names, _literal(call, 0), _literal(call, True), step, result)


def _collected(call: Call, names: tuple[str, str], keep: Node | None, element: Node) -> Node:
    """A list of what is kept."""
    made = _made(call)
    step = made("_+_", [_ident(call), _list(call, element)])
    if keep is not None:
        step = made("_?_:_", [keep, step, _ident(call)])
    return _fold(call, names, _list(call), _literal(call, True), step, _ident(call))


def _map(call: Call) -> Node:
    name = _variable(call, "argument is not an identifier")
    return _collected(call, (name, ""), call.args[1] if len(call.args) == 3 else None, call.args[-1])


def _filter(call: Call) -> Node:
    name = _variable(call, "argument is not an identifier")
    return _collected(call, (name, ""), call.args[1], call.args[0])


def _transform_list(call: Call) -> Node:
    return _collected(call, _variables(call), call.args[2] if len(call.args) == 4 else None, call.args[-1])


def _transform_map(call: Call) -> Node:
    names = _variables(call)
    made = _made(call)
    added = [_ident(call), call.args[-1]]
    if call.function == "transformMap":
        added.insert(1, _ident(call, names[0]))
    step = made("cel.@mapInsert", added)
    if len(call.args) == 4:
        step = made("_?_:_", [call.args[2], step, _ident(call)])
    empty = MapNode([], call.at, call.start, call.end)
    return _fold(call, names, empty, _literal(call, True), step, _ident(call))


def _bound(call: Call, name: str, value: Node, body: Node) -> Fold:
    """A variable for one expression: a fold over nothing, whose accumulator it is."""
    nodes = (value, _literal(call, False), _ident(call, name), body)
    return Fold(_list(call), ("#unused", ""), name, nodes, call)


def _bind(call: Call) -> Node:
    if not (isinstance(call.target, Ident) and call.target.name == "cel"):
        return call
    name = _name(call.args[0], "cel.bind() variable names must be simple identifiers")
    return _bound(call, name, call.args[1], call.args[2])


def _opt_map(call: Call) -> Node:
    name = _name(call.args[0], f"{call.function}() variable name must be a simple identifier")
    made = _made(call)
    has_value = Call("hasValue", _source(call), [], call.at, call.start, call.end)
    value = Call("value", _source(call), [], call.at, call.start, call.end)
    body: Node = _bound(call, name, value, call.args[1])
    if call.function == "optMap":
        body = made("optional.of", [body])
    return made("_?_:_", [has_value, body, made("optional.none", [])])


def _sort_by(call: Call) -> Node:
    source = _source(call)
    if isinstance(source, (Literal, MapNode, StructNode, Hole)):
        why = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise _Malformed(source.at, why)
    name = _variable(call, "argument is not an identifier")
    held = "@__sortBy_input__"
    keys_of = Call("map", _ident(call, held), call.args, call.at, call.start, call.end)
    keys = _collected(keys_of, (name, ""), None, call.args[1])
    body = Call("@sortByAssociatedKeys", _ident(call, held), [keys], call.at, call.start, call.end)
    return _bound(call, held, source, body)


_EXPANDERS: dict[str, Callable[[Call], Node]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _map,
    "filter": _filter,
    "transformList": _transform_list,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_map,
    "bind": _bind,
    "optMap": _opt_map,
    "optFlatMap": _opt_map,
    "sortBy": _sort_by,
}
