"""What a call costs at run time: cel-go interpreter/runtimecost.go and k8s.io/apiserver/pkg/cel/library/cost.go.

>>> call_cost("trim", None, ["x" * 101], "", 36), call_cost("size", None, ["x"], 1, 36)
(11, 1)
"""

from __future__ import annotations

import math
from typing import Any

from gputopo.cel.signatures import Overload
from gputopo.cel.values import Cancelled, CelError, CelMap, go_type, size, type_name

_LIST, _MAP = 10, 30
EXCEEDED = "operation cancelled: actual cost limit exceeded"
_TRAVERSED = frozenset(
    {"url", "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "quantity", "isQuantity",
     "semver", "isSemver", "ip"}
)  # fmt: skip
_ELEMENTS = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
_OWN_EQUALITY = frozenset(
    {"kubernetes.Quantity", "net.IP", "net.CIDR", "kubernetes.NamedFormat", "kubernetes.URL", "kubernetes.Semver"}
)
_QUOTED = frozenset({"format", "strings.quote"})
_SORTS = {"sort": 0, "@sortByAssociatedKeys": 1}


class Meter:
    """Adds up the cost of one evaluation and ends it over the limit."""

    __slots__ = ("cost", "limit")

    def __init__(self, limit: int) -> None:
        self.cost, self.limit = 0, limit

    def charge(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise Cancelled(EXCEEDED)


def _tenth(length: int) -> int:
    return math.ceil(length * 0.1)


def measured(value: Any) -> int:
    return 1 if isinstance(value, CelError) else size(value)


def traversal(value: Any) -> int:
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * 0.1)
    if isinstance(value, bytes):
        return int(len(value) * 0.1)
    if isinstance(value, list):
        return sum(map(traversal, value))
    if isinstance(value, CelMap):
        return sum(traversal(key) + traversal(one) for key, one in value.pairs())
    return 1


def _regex(args: list[Any]) -> int:
    return math.ceil((1.0 + measured(args[0])) * 0.1) * math.ceil(measured(args[1]) * 0.25)


def equality_cost(function: str, one: Any, other: Any) -> int:
    if function == "_==_" and not isinstance(one, CelError) and type_name(one) in _OWN_EQUALITY:
        return 1
    return _tenth(min(measured(one), measured(other)))


def call_cost(function: str, overload: Overload | None, args: list[Any], result: Any, minor: int) -> int:
    """`overload`: the one that the checker found, if it is only one. An argument or result may be an error."""
    first = args[0] if args else None
    if function in _ELEMENTS or (function == "includes" and minor >= 37):
        return 1 if isinstance(first, CelError) else traversal(first)
    if function in _TRAVERSED and not (minor < 33 and function in ("semver", "isSemver")):
        cidr = function == "ip" and overload is not None and overload.member
        return 1 if cidr else _tenth(measured(first))
    if function in ("replace", "split"):
        return math.ceil(measured(first) * 2 * 0.1)
    if function == "join":
        return math.ceil(measured(result) * 2 * 0.1)
    if function in ("find", "findAll"):
        return _regex(args)
    if function == "ip.isCanonical":
        return math.ceil(measured(first) * 2 * 0.1)
    if function in ("containsIP", "containsCIDR"):
        return _contained(function, overload, args)
    if function == "validate":
        return _validated(args)
    return _of_overload(function, overload, args, result, minor)


_MOST_REGEX = {"dns1123Label": 30, "dns1123Subdomain": 60, "dns1035Label": 30, "qualifiedName": 60, "labelValue": 40,
               "dns1123LabelPrefix": 30, "dns1123SubdomainPrefix": 60, "dns1035LabelPrefix": 30, "uuid": 70, "byte": 84,
               "date": 71, "datetime": 71, "uri": 1103}  # fmt: skip


def _validated(args: list[Any]) -> int:
    name = getattr(args[0], "name", "")
    if name not in _MOST_REGEX:
        return 1
    return math.ceil((1.0 + measured(args[1])) * 0.1) * math.ceil(_MOST_REGEX[name] * 0.25)


def _contained(function: str, overload: Overload | None, args: list[Any]) -> int:
    own, other = measured(args[0]), measured(args[1])
    cost = _tenth(own + own)
    if function == "containsCIDR":
        cost += _tenth(own) + 1
    text = overload is not None and overload.arguments[1].kind == "string"
    return cost + (_tenth(other) if text else 0)


def _of_overload(function: str, overload: Overload | None, args: list[Any], result: Any, minor: int) -> int:
    """What depends on the types: with several overloads left cel-go charges 1."""
    if overload is None:
        return 1
    first = args[0] if args else None
    kinds = [one.kind for one in overload.arguments]
    texts = bool(kinds) and kinds[0] in ("string", "bytes")
    if function in ("startsWith", "endsWith"):
        return _tenth(measured(args[1] if minor >= 37 else first))
    if function in _QUOTED or (function in ("bytes", "string") and (function, kinds[0]) in _CONVERTED):
        return _tenth(measured(first))
    if function == "@in":
        return measured(args[1]) if kinds[1] == "list" else 1
    if function in ("_<_", "_<=_", "_>_", "_>=_") and texts:
        return _tenth(min(measured(args[0]), measured(args[1])))
    if function == "_+_" and texts:
        return _tenth(measured(args[0]) + measured(args[1]))
    if function == "matches" and overload.member:
        return _regex(args)
    if function == "contains":
        return _tenth(measured(args[0])) * _tenth(measured(args[1]))
    if function.startswith("sets."):
        factor = 2 if function == "sets.equivalent" else 1
        return 1 + measured(args[0]) * measured(args[1]) * factor
    return _of_list(function, overload, args, result)


_CONVERTED = frozenset({("bytes", "string"), ("string", "bytes")})


def _not_lister(value: Any) -> str:
    """Go's panic where the cost of sorting is asked for something else than a list, an error for one."""
    kind = "*types.Err" if isinstance(value, CelError) else go_type(value)
    method = "Contains" if kind.removeprefix("types.") in _ADDERS else "Add"
    return f"{kind} is not traits.Lister: missing method {method}"


_ADDERS = frozenset({"Int", "Uint", "Double", "String", "Bytes", "Duration", "Timestamp"})


def _of_list(function: str, overload: Overload, args: list[Any], result: Any) -> int:
    if function in ("slice", "lists.range") or (function == "reverse" and overload.arguments[0].kind == "list"):
        return measured(result) + 1 + _LIST
    if function == "flatten":
        if len(args) == 2 and isinstance(args[1], CelError):
            raise Cancelled("internal error: interface conversion: ref.Val is *types.Err, not types.Int")
        depth = args[1] if len(args) == 2 else 1
        return int(measured(args[0]) * float(depth)) + 1 + _LIST
    if function == "distinct" or function in _SORTS:
        keys = args[_SORTS.get(function, 0)]
        if not isinstance(keys, list):
            raise Cancelled(f"internal error: interface conversion: {_not_lister(keys)}")
        count = measured(keys)
        text = count > 0 and isinstance(keys[0], (str, bytes))
        return int(count * count * (2.1 if text else 2.0)) + 1 + _LIST
    return 1


LIST_COST, MAP_COST, STRUCT_COST = _LIST, _MAP, 40
