"""What the functions of the environment do, by name, and how a call finds one at run time.

A call that the checker narrowed to one overload runs that one; else the values decide. `no such overload: f(int)`
is cel-go's answer where they fit none; operators say `no such overload`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gputopo.cel import (
    addresses,
    conversions,
    lists,
    name_formats,
    operators,
    patterns,
    quantities,
    strings,
    times,
    urls,
    versions,
)
from gputopo.cel.format_text import formatted_text
from gputopo.cel.pattern_characters import BadPattern
from gputopo.cel.signatures import FORMATS, Overload
from gputopo.cel.static_types import Type
from gputopo.cel.values import (
    NO_OVERLOAD,
    NONE,
    CelError,
    CelMap,
    Duration,
    Optional_,
    Uint,
    Unhashable,
    type_name,
    unhashable,
)

Function = Callable[..., Any]
# Operators and functions that cel-go calls unguarded: what the type of the first value must be able to do.
SINGLETONS: dict[str, tuple[str, Function]] = {
    "!_": ("", operators.negated),
    "-_": ("negate", operators.negate),
    "_+_": ("add", operators.add),
    "_-_": ("subtract", operators.subtract),
    "_*_": ("multiply", operators.multiply),
    "_/_": ("divide", operators.divide),
    "_%_": ("modulo", operators.modulo),
    "_<_": ("compare", operators.less),
    "_<=_": ("compare", operators.less_equal),
    "_>_": ("compare", operators.greater),
    "_>=_": ("compare", operators.greater_equal),
    "size": ("size", len),
    "type": ("", conversions.type_of),
    "dyn": ("", lambda value: value),
    "sort": ("list", lists.sort),
    "@sortByAssociatedKeys": ("list", lists.sort_by),
}


def _inside(element: Any, container: Any) -> bool:
    if isinstance(container, CelMap):
        try:
            return container.contains(element)
        except Unhashable as error:
            raise unhashable(error) from error
    if not isinstance(container, list):
        raise CelError(NO_OVERLOAD)
    return operators.contained(element, container)


def _matches(text: Any, pattern: Any) -> bool:
    if not isinstance(pattern, str):
        raise CelError(NO_OVERLOAD)
    try:
        return patterns.matches(text, pattern)
    except BadPattern as error:
        raise CelError(error.text) from error


SINGLETONS["@in"] = ("", _inside)
SINGLETONS["matches"] = ("match", _matches)


def _regex(function: Function) -> Function:
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except BadPattern as error:
            raise CelError(f"Illegal regex: {error.text}") from error

    return call


def _texts(function: Function) -> Function:
    """cel-go turns its type guards off here; the functions themselves refuse what is no string."""

    def call(*args: Any) -> Any:
        if not all(isinstance(each, str) for each in args):
            raise CelError(NO_OVERLOAD)
        return function(*args)

    return call


def _flatten(values: Any, *depth: Any) -> Any:
    if not isinstance(values, list):
        names = ", ".join(map(type_name, depth))
        raise CelError(f"{NO_OVERLOAD}: {type_name(values)}.flatten({names})")
    return lists.flatten(values, *depth)


def _by_first(kind: type, first: Function, other: Function) -> Function:
    """One name for two functions, chosen by the type of the first value."""
    return lambda value, *rest: first(value, *rest) if isinstance(value, kind) else other(value, *rest)


def _value(one: Optional_) -> Any:
    if not one.present:
        raise CelError("optional.none() dereference")
    return one.value


def _of_non_zero(value: Any) -> Optional_:
    return NONE if conversions.is_zero(value) else Optional_(value)


_PROPERTIES = ("isGlobalUnicast", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified")
FUNCTIONS: dict[str, Function] = {
    "bool": conversions.to_bool,
    "bytes": conversions.to_bytes,
    "double": conversions.to_double,
    "duration": conversions.to_duration,
    "int": conversions.to_int,
    "string": conversions.to_string,
    "timestamp": conversions.to_timestamp,
    "uint": conversions.to_uint,
    "contains": _texts(strings.contains),
    "endsWith": _texts(strings.ends_with),
    "startsWith": _texts(strings.starts_with),
    "optional.none": lambda: NONE,
    "optional.of": Optional_,
    "optional.ofNonZeroValue": _of_non_zero,
    "optional.unwrap": lists.unwrap,
    "unwrapOpt": lists.unwrap,
    "hasValue": lambda one: one.present,
    "value": _value,
    "cel.@mapInsert": lists.inserted,
    "charAt": strings.char_at,
    "format": formatted_text,
    "join": strings.join,
    "lowerAscii": strings.lower_ascii,
    "upperAscii": strings.upper_ascii,
    "trim": strings.trim,
    "replace": strings.replace,
    "split": strings.split,
    "substring": strings.substring,
    "strings.quote": strings.quote,
    "indexOf": _by_first(list, lists.index_of, strings.index_of),
    "lastIndexOf": _by_first(list, lists.last_index_of, strings.last_index_of),
    "sets.contains": lists.contains_all,
    "sets.equivalent": lists.equivalent,
    "sets.intersects": lists.intersects,
    "find": _regex(patterns.find),
    "findAll": _regex(patterns.find_all),
    "isSorted": lists.is_sorted,
    "max": lists.largest,
    "min": lists.smallest,
    "sum": lists.total,
    "distinct": lists.distinct,
    "flatten": _flatten,
    "first": lists.first,
    "last": lists.last,
    "lists.range": lists.count_to,
    "reverse": lists.reverse,
    "slice": lists.slice_of,
    "quantity": quantities.quantity,
    "isQuantity": quantities.is_quantity,
    "sign": quantities.sign,
    "asApproximateFloat": quantities.as_float,
    "asInteger": quantities.as_integer,
    "isInteger": quantities.is_integer,
    "semver": versions.semver,
    "isSemver": versions.is_semver,
    "compareTo": lambda one, other: one.compared(other),
    "isGreaterThan": lambda one, other: one.compared(other) > 0,
    "isLessThan": lambda one, other: one.compared(other) < 0,
    "major": lambda one: one.parts[0],
    "minor": lambda one: one.parts[1],
    "patch": lambda one: one.parts[2],
    "ip": _by_first(str, addresses.ip, lambda one: one.address),
    "isIP": addresses.is_ip,
    "ip.isCanonical": addresses.is_canonical,
    "family": lambda one: one.family,
    "cidr": addresses.cidr,
    "isCIDR": addresses.is_cidr,
    "containsCIDR": lambda one, other: one.contains_cidr(other),
    "containsIP": lambda one, other: one.contains_ip(other),
    "masked": lambda one: one.masked(),
    "prefixLength": lambda one: one.bits,
    "url": urls.url,
    "isURL": urls.is_url,
    "getEscapedPath": urls.escaped_path,
    "getHost": lambda one: one.host,
    "getHostname": urls.hostname,
    "getPort": urls.port,
    "getQuery": urls.query,
    "getScheme": lambda one: one.scheme,
    "format.named": name_formats.named,
    "validate": name_formats.validate,
}


def _property(name: str) -> Function:
    return lambda one: addresses.property_of(name, one)


def _constant(name: str) -> Function:
    return lambda: name_formats.Format(name)


FUNCTIONS.update({name: times.getter(name) for name in times.GETTERS})
FUNCTIONS.update({name: _property(name) for name in _PROPERTIES})
FUNCTIONS.update({f"format.{name}": _constant(name) for name in FORMATS})
_ZEROS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "google.protobuf.Duration": Duration(0)}
_UNGUARDED = frozenset({"flatten", "contains", "endsWith", "startsWith"})


def implementation(function: str, overloads: tuple[Overload, ...], known: tuple[Overload, ...], minor: int) -> Function:
    """What a call runs: `overloads` are those that the checker left, `known` all of the name."""
    if function in SINGLETONS:
        return _singleton(function)
    inner = _of_release(function, minor, overloads)
    single = len(overloads) == 1
    candidates = overloads if single else known

    def call(*args: Any) -> Any:
        if function not in _UNGUARDED and not any(_accepts(each, args, single) for each in candidates):
            names = ", ".join(map(type_name, args))
            raise CelError(f"{NO_OVERLOAD}: {function}({names})")
        return inner(*args)

    return call


def _of_release(function: str, minor: int, overloads: tuple[Overload, ...]) -> Function:
    if function in ("add", "sub"):
        factor = 1 if function == "add" else -1
        return lambda one, other: quantities.combined(one, other, factor, in_place=minor < 37)
    if function == "includes":
        most = lists.MOST_INCLUDED if minor < 37 else None
        return lambda one, other: lists.includes(one, other, most)
    if function == "sum" and len(overloads) == 1:
        zero = _ZEROS[overloads[0].result.name]
        return lambda values: lists.total(values) if values else zero
    return FUNCTIONS[function]


def _singleton(function: str) -> Function:
    trait, inner = SINGLETONS[function]
    if not trait:
        return inner

    def call(*args: Any) -> Any:
        error = operators.without(trait, args[0], function)
        if error is not None:
            raise error
        if function == "-_" and isinstance(args[0], bool):
            raise CelError(NO_OVERLOAD)
        return inner(*args)

    return call


def _accepts(overload: Overload, args: tuple[Any, ...], single: bool) -> bool:
    if len(overload.arguments) != len(args):
        return False
    return all(map(runtime_fits, overload.arguments, args))


def runtime_fits(wanted: Type, value: Any) -> bool:
    """cel-go looks at the type's name, and into a list or map at its first element."""
    if wanted.kind in ("dyn", "any", "param"):
        return True
    if wanted.name != type_name(value):
        return False
    if isinstance(value, list) and value:
        return runtime_fits(wanted.parameters[0], value[0])
    if isinstance(value, CelMap) and len(value):
        key, one = next(value.pairs())
        return runtime_fits(wanted.parameters[0], key) and runtime_fits(wanted.parameters[1], one)
    return True
