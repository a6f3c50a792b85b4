"""Every function of the selector environment with its overloads, in the order in which cel-go tries them.

Read from the environments themselves (cel.Env.Functions() of k8s.io/dynamic-resource-allocation 0.32 to 0.37).
A line is `name: overload; overload`, an overload `result (arguments)` or `result .(receiver, arguments)`;
capital letters are type variables, `*` repeats an overload for every type that has an order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from gputopo.cel import static_types as types
from gputopo.cel.static_types import Type

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_STANDARD = """
!_: bool (bool)
-_: double (double); int (int)
@in: bool (A, list(A)); bool (A, map(A, B))
@not_strictly_false: bool (bool)
_!=_: bool (A, A)
_==_: bool (A, A)
_&&_: bool (bool, bool)
_||_: bool (bool, bool)
_?_:_: A (bool, A, A)
_%_: int (int, int); uint (uint, uint)
_*_: double (double, double); int (int, int); uint (uint, uint)
_/_: double (double, double); int (int, int); uint (uint, uint)
_+_: bytes (bytes, bytes); double (double, double); duration (duration, duration); timestamp (duration, timestamp);
  timestamp (timestamp, duration); int (int, int); list(A) (list(A), list(A)); string (string, string);
  uint (uint, uint)
_-_: double (double, double); duration (duration, duration); int (int, int); timestamp (timestamp, duration);
  duration (timestamp, timestamp); uint (uint, uint)
_[_]: A (list(A), int); B (map(A, B), A); optional_type(V) (optional_type(list(V)), int);
  optional_type(V) (optional_type(map(K, V)), K)
_[?_]: optional_type(V) (list(V), int); optional_type(V) (optional_type(list(V)), int);
  optional_type(V) (map(K, V), K); optional_type(V) (optional_type(map(K, V)), K)
bool: bool (bool); bool (string)
bytes: bytes (bytes); bytes (string)
double: double (double); double (int); double (string); double (uint)
duration: duration (duration); duration (int); duration (string)
dyn: dyn (A)
int: int (int); int (double); int (duration); int (string); int (timestamp); int (uint)
string: string (string); string (bool); string (bytes); string (double); string (duration); string (int);
  string (timestamp); string (uint); string (net.IP); string (net.CIDR)
timestamp: timestamp (timestamp); timestamp (int); timestamp (string)
type: type(A) (A)
uint: uint (uint); uint (double); uint (int); uint (string)
size: int (bytes); int .(bytes); int (list(A)); int .(list(A)); int (map(A, B)); int .(map(A, B)); int (string);
  int .(string)
contains: bool .(string, string)
endsWith: bool .(string, string)
startsWith: bool .(string, string)
matches: bool (string, string); bool .(string, string)
getDate: int .(timestamp); int .(timestamp, string)
getDayOfMonth: int .(timestamp); int .(timestamp, string)
getDayOfWeek: int .(timestamp); int .(timestamp, string)
getDayOfYear: int .(timestamp); int .(timestamp, string)
getFullYear: int .(timestamp); int .(timestamp, string)
getMonth: int .(timestamp); int .(timestamp, string)
getHours: int .(timestamp); int .(timestamp, string); int .(duration)
getMilliseconds: int .(timestamp); int .(timestamp, string); int .(duration)
getMinutes: int .(timestamp); int .(timestamp, string); int .(duration)
getSeconds: int .(timestamp); int .(timestamp, string); int .(duration)
optional.none: optional_type(V) ()
optional.of: optional_type(V) (V)
optional.ofNonZeroValue: optional_type(V) (V)
hasValue: bool .(optional_type(V))
value: V .(optional_type(V))
or: optional_type(V) .(optional_type(V), optional_type(V))
orValue: V .(optional_type(V), V)
cel.@mapInsert: map(K, V) (map(K, V), K, V); map(K, V) (map(K, V), map(K, V))
"""
_LIBRARIES = """
charAt: string .(string, int)
format: string .(string, list(dyn))
join: string .(list(string)); string .(list(string), string)
lowerAscii: string .(string)
upperAscii: string .(string)
trim: string .(string)
replace: string .(string, string, string); string .(string, string, string, int)
split: list(string) .(string, string); list(string) .(string, string, int)
substring: string .(string, int); string .(string, int, int)
strings.quote: string (string)
indexOf: int .(list(A), A); int .(string, string); int .(string, string, int)
lastIndexOf: int .(list(A), A); int .(string, string); int .(string, string, int)
sets.contains: bool (list(T), list(T))
sets.equivalent: bool (list(T), list(T))
sets.intersects: bool (list(T), list(T))
find: string .(string, string)
findAll: list(string) .(string, string); list(string) .(string, string, int)
isSorted: bool .(list(*))
max: * .(list(*))
min: * .(list(*))
sum: int .(list(int)); uint .(list(uint)); double .(list(double)); duration .(list(duration))
quantity: Quantity (string)
isQuantity: bool (string)
sign: int (Quantity)
add: Quantity .(Quantity, Quantity); Quantity .(Quantity, int)
sub: Quantity .(Quantity, Quantity); Quantity .(Quantity, int)
asApproximateFloat: double .(Quantity)
asInteger: int .(Quantity)
isInteger: bool .(Quantity)
semver: Semver (string)
isSemver: bool (string)
compareTo: int .(Quantity, Quantity); int .(Semver, Semver)
isGreaterThan: bool .(Quantity, Quantity); bool .(Semver, Semver)
isLessThan: bool .(Quantity, Quantity); bool .(Semver, Semver)
major: int .(Semver)
minor: int .(Semver)
patch: int .(Semver)
ip: net.IP (string); net.IP .(net.CIDR)
isIP: bool (string)
ip.isCanonical: bool (string)
family: int .(net.IP)
isGlobalUnicast: bool .(net.IP)
isLinkLocalMulticast: bool .(net.IP)
isLinkLocalUnicast: bool .(net.IP)
isLoopback: bool .(net.IP)
isUnspecified: bool .(net.IP)
cidr: net.CIDR (string)
isCIDR: bool (string)
containsCIDR: bool .(net.CIDR, string); bool .(net.CIDR, net.CIDR)
containsIP: bool .(net.CIDR, string); bool .(net.CIDR, net.IP)
masked: net.CIDR .(net.CIDR)
prefixLength: int .(net.CIDR)
url: URL (string)
isURL: bool (string)
getEscapedPath: string .(URL)
getHost: string .(URL)
getHostname: string .(URL)
getPort: string .(URL)
getQuery: map(string, list(string)) .(URL)
getScheme: string .(URL)
format.named: optional_type(NamedFormat) (string)
validate: optional_type(list(string)) .(NamedFormat, string)
"""
# The authorizer has functions here but no variable: a call of one never compiles, yet its name is known.
_AUTHORIZER = """
path: PathCheck .(Authorizer, string)
group: GroupCheck .(Authorizer, string)
serviceAccount: Authorizer .(Authorizer, string, string)
resource: ResourceCheck .(GroupCheck, string)
subresource: ResourceCheck .(ResourceCheck, string)
namespace: ResourceCheck .(ResourceCheck, string)
name: ResourceCheck .(ResourceCheck, string)
fieldSelector: ResourceCheck .(ResourceCheck, string)
labelSelector: ResourceCheck .(ResourceCheck, string)
check: Decision .(PathCheck, string); Decision .(ResourceCheck, string)
allowed: bool .(Decision)
reason: string .(Decision)
error: string .(Decision)
errored: bool .(Decision)
"""
_SINCE_33 = """
semver: Semver (string); Semver (string, bool)
isSemver: bool (string); bool (string, bool)
first: optional_type(V) .(list(V))
last: optional_type(V) .(list(V))
optional.unwrap: list(V) (list(optional_type(V)))
unwrapOpt: list(V) .(list(optional_type(V)))
"""
_SINCE_34 = """
distinct: list(T) .(list(T))
flatten: list(T) .(list(list(T))); list(dyn) .(list(dyn), int)
lists.range: list(int) (int)
reverse: list(T) .(list(T))
slice: list(T) .(list(T), int, int)
sort: list(*) .(list(*))
@sortByAssociatedKeys: list(T) .(list(T), list(*))
"""
_SINCE_36 = """
includes: bool .(dyn, dyn)
"""
_SINCE_37 = """
duration: duration (duration); duration (string)
indexOf: int .(string, string); int .(string, string, int); int .(list(A), A)
lastIndexOf: int .(string, string); int .(string, string, int); int .(list(A), A)
"""
_SINCE = ((33, _SINCE_33), (34, _SINCE_34), (36, _SINCE_36), (37, _SINCE_37))
FORMATS = (
    "byte", "date", "datetime", "dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix",
    "dns1123Subdomain", "dns1123SubdomainPrefix", "labelValue", "qualifiedName", "uri", "uuid",
)  # fmt: skip
_NUMBERS = ("int", "uint", "double")
_ORDERED = (("bool", "bool"), *((one, other) for one in _NUMBERS for other in _NUMBERS),
            *((one, one) for one in ("string", "bytes", "timestamp", "duration")))  # fmt: skip
_NAMED: dict[str, Type] = {
    "bool": types.BOOL, "bytes": types.BYTES, "double": types.DOUBLE, "int": types.INT, "string": types.STRING,
    "uint": types.UINT, "dyn": types.DYN, "duration": types.DURATION, "timestamp": types.TIMESTAMP,
    "Quantity": types.QUANTITY, "Semver": types.SEMVER, "URL": types.URL, "net.IP": types.IP, "net.CIDR": types.CIDR,
    "NamedFormat": types.FORMAT,
}  # fmt: skip


class Overload(NamedTuple):
    function: str
    member: bool
    result: Type
    arguments: tuple[Type, ...]
    variables: tuple[Type, ...]


@lru_cache(maxsize=8)
def functions(minor: int) -> dict[str, tuple[Overload, ...]]:
    """The functions of Kubernetes 1.`minor`."""
    texts = [_STANDARD, _LIBRARIES, _AUTHORIZER]
    texts += [text for since, text in _SINCE if minor >= since]
    found = {name: overloads for text in texts for name, overloads in map(_line, _lines(text))}
    for symbol in ("_<_", "_<=_", "_>_", "_>=_"):
        found[symbol] = tuple(_overload(symbol, f"bool ({one}, {other})") for one, other in _ORDERED)
    for name in FORMATS:
        found[f"format.{name}"] = (_overload(f"format.{name}", "NamedFormat ()"),)
    return found


def _lines(text: str) -> list[str]:
    """A line that begins with blanks goes on with the one before."""
    return text.strip().replace("\n  ", " ").split("\n")


def _line(line: str) -> tuple[str, tuple[Overload, ...]]:
    name, _, rest = line.partition(": ")
    texts = [text for part in rest.split("; ") for text in _repeated(part)]
    return name, tuple(_overload(name, text) for text in texts)


def _repeated(text: str) -> list[str]:
    return [text.replace("*", name) for name in _COMPARABLE] if "*" in text else [text]


def _overload(name: str, text: str) -> Overload:
    result_text, _, arguments_text = text.rpartition(" (") if " .(" not in text else text.rpartition(" .(")
    result = _type(result_text)
    arguments = tuple(map(_type, _split(arguments_text[:-1])))
    variables = {each for one in (result, *arguments) for each in _variables(one)}
    return Overload(name, " .(" in text, result, arguments, tuple(sorted(variables)))


def _split(text: str) -> list[str]:
    """At the commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for place, one in enumerate(text):
        depth += (one == "(") - (one == ")")
        if one == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 2
    return [*parts, text[start:]] if text else []


def _type(text: str) -> Type:
    if text in _NAMED:
        return _NAMED[text]
    if len(text) == 1:
        return types.parameter(text)
    name, bracket, inner = text.partition("(")
    if not bracket:
        return Type("struct", f"kubernetes.authorization.{name}")
    kind = name if name in ("list", "map", "type") else "opaque"
    return Type(kind, name, tuple(map(_type, _split(inner[:-1]))))


def _variables(one: Type) -> set[Type]:
    if one.kind == "param":
        return {one}
    return {each for part in one.parameters for each in _variables(part)}
