"""Questions for the CEL evaluator of device selectors: one expression, one device.

Expressions are drawn by type from templates: `{S}` is a string, `{I}` an int, `{F}` a double, `{B}` a bool, `{Q}` a
quantity, `{V}` a semver, `{L}` a list of strings, `{N}` a list of ints, `{A}` an attribute, `{O}` an optional one,
`{M}` the attributes of a domain, `{D}` a duration, `{T}` a timestamp, `{P}` an IP address, `{C}` a CIDR, `{U}` a URL.
Now and then a hole is filled with another type, or the text is damaged (cel_damage.py), so that what does not compile
or not run is asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from conformance.questions.cel_damage import damaged, senseless

Question = dict[str, Any]
GPU, STANDARD = "gpu.nvidia.com", "resource.kubernetes.io"
_HOLE = re.compile(r"\{([A-Z])\}")
_DEEPEST = 4
_GPU, _STD = f"device.attributes['{GPU}']", f"device.attributes['{STANDARD}']"
_CAPACITY = f"device.capacity['{GPU}']"

_TEMPLATES: dict[str, tuple[str, ...]] = {
    "B": (
        "{B} && {B}", "{B} || {B}", "!{B}", "{B} ? {B} : {B}", "({B})", "{S} == {S}", "{S} != {S}", "{S} < {S}",
        "{I} == {I}", "{I} < {I}", "{I} >= {I}", "{F} > {F}", "{F} <= {I}", "{A} == {S}", "{A} == {I}", "{A} != {A}",
        "{A} < {I}", "{A} >= {S}", "{A} == {F}", "{A}", "{A} in {L}", "{I} in {N}", "{S} in {L}", "{S} in {M}",
        "{S} in device.attributes", "has({M}.type)", "has({M}.model)", "{S}.startsWith({S})", "{S}.endsWith({S})",
        "{S}.contains({S})", "{S}.matches('H[0-9]+')", "{S}.matches('(?i)nvidia')", "{A}.contains({S})",
        "{A}.matches('^[A-Z]')", "{A}.startsWith('NVIDIA')", "{L}.exists(x, x == {S})", "{L}.all(x, x.contains({S}))",
        "{N}.exists_one(x, x > {I})", "{N}.exists(i, v, v > i)", "{N}.all(i, v, v >= i)", "{L}.isSorted()",
        "{N}.isSorted()", "device.attributes.exists(d, d == {S})", "{M}.exists(k, v, k == {S} && v == {A})",
        "{M}.all(k, k != {S})", "{Q}.isGreaterThan({Q})", "{Q}.isLessThan({Q})", "{Q} == {Q}", "{Q}.isInteger()",
        "isQuantity({S})", "{V}.isGreaterThan({V})", "{V}.isLessThan({V})", "{V} == {V}", "{A}.isLessThan({V})",
        "isSemver({S})", "isSemver('v1.2', true)", "{O}.hasValue()", "sets.contains({L}, {L})",
        "sets.equivalent({N}, {N})",
        "sets.intersects({L}, {L})", "cel.bind(x, {S}, x == {S})", "cel.bind(m, {M}, has(m.type) && m.type == {S})",
        "{D} > {D}", "{T} < {T}", "isIP({S})", "{P}.isLoopback()", "{P}.family() == {I}", "isCIDR({S})",
        "{C}.containsIP({P})", "{C}.containsIP('10.1.2.3')", "{C}.containsCIDR({C})", "isURL({S})",
        "{U}.getHost() == {S}", "type({A}) == string", "type({I}) == int", "dyn({S}) == {I}", "{A}.includes({S})",
        "{A}.includes({I})", "device.allowMultipleAllocations", "device.driver == {S}", "true", "false", "{L} == {L}",
        "bool({S})", "{Q}.compareTo({Q}) >= 0", "{V}.compareTo({V}) == {I}", "{N}.map(x, x * {I}).exists(x, x == {I})",
        "{O} == optional.of({S})", "{A} == null", "{M}.size() > {I}", "{P} == {P}", "{Q} in [{Q}]",
        "{L}.exists(x, {B})",
    ),
    "S": (
        "'H100'", "'gpu'", "''", "'a'", "'NVIDIA H100 80GB HBM3'", "'10.0.0.1'", "'1.2.3'", "'80Gi'", f"'{GPU}'",
        f"'{STANDARD}'",
        "'type'", "'GPÜ-é'", '"x\\ty"', "r'a\\b'", "device.driver", "string({I})", "string({A})", "{S} + {S}",
        "{S}.lowerAscii()", "{S}.upperAscii()", "{S}.trim()", "{S}.replace({S}, {S})", "{S}.substring({I})",
        "{S}.substring(0, {I})", "{S}.charAt({I})", "{L}.join('-')", "{L}.join()", "{S}.split(' ')[0]", "{L}[{I}]",
        "{S}.find('[0-9]+')", "{O}.orValue({S})", "{B} ? {S} : {S}", "{A}", "{A}.lowerAscii()", "string({P})",
        "{U}.getScheme()", "'%s-%d'.format([{S}, {I}])", "{M}.type", "string({F})", "string({D})", "{L}.min()",
        "{L}.max()",
    ),
    "I": (
        "0", "1", "2", "-1", "7", "0x1F", "9223372036854775807", "{I} + {I}", "{I} - {I}", "{I} * {I}", "{I} / {I}",
        "{I} % {I}",
        "-{I}", "int({F})", "int({S})", "int({A})", "size({S})", "{S}.size()", "size({L})", "{L}.size()", "{N}.sum()",
        "{N}.min()", "{N}.max()", "{L}.indexOf({S})", "{S}.indexOf({S})", "{S}.lastIndexOf({S})", "{N}[{I}]", "{A}",
        "{Q}.asInteger()", "{V}.major()", "{V}.minor()", "{V}.patch()", "{Q}.compareTo({Q})", "{V}.compareTo({V})",
        "{M}.size()",
        "{O}.orValue({I})", "{B} ? {I} : {I}", "{C}.prefixLength()", "sign({Q})", "{T}.getFullYear()",
        "{D}.getSeconds()",
        "size(device.attributes)", "{N}.filter(x, x > {I}).size()",
    ),
    "F": (
        "0.0", "1.5", "-2.25", "1e3", "{F} + {F}", "{F} * {F}", "{F} / {F}", "double({I})", "double({S})",
        "{Q}.asApproximateFloat()", "{A}",
    ),
    "Q": (
        "quantity('80Gi')", "quantity('40Gi')", "quantity('1500m')", "quantity('16')", "quantity('1e3')",
        "quantity({S})",
        f"{_CAPACITY}.memory", f"{_CAPACITY}.memory", f"{_CAPACITY}['multiprocessors']", f"{_CAPACITY}.absent",
        "device.capacity['other.example.com'].cores", "{Q}.add({Q})", "{Q}.sub({Q})", "{Q}.add({I})", "{Q}.sub({I})",
        "{B} ? {Q} : {Q}",
    ),
    "V": (
        "semver('9.0.0')", "semver('570.0.0')", "semver('1.0.0-alpha')", "semver('v12.8', true)", "semver({S})",
        f"{_GPU}.driverVersion", f"{_GPU}.cudaComputeCapability", f"{_GPU}.cudaDriverVersion", "{A}",
    ),
    "L": (
        "['a', 'b']", "['H100', 'H200']", "[{S}, {S}]", "[{S}]", "{S}.split(' ')", "{S}.split({S}, 2)", "{L} + {L}",
        "{L}.map(x, x + {S})", "{L}.filter(x, x != {S})", "{L}.map(x, {B}, x)", "{S}.findAll('[A-Z]')", "[{S}, ?{O}]",
        "{A}",
        f"{_STD}.pcieRoot", "{L}.transformList(i, v, v + string(i))", "{L}.sort()", "{L}.distinct()",
    ),
    "N": (
        "[1, 2, 3]", "[3, 1]", "[{I}, {I}]", "[{I}]", "{N} + {N}", "{N}.map(x, x + {I})", "{N}.filter(x, x > {I})",
        "{L}.map(x, size(x))", "{N}.transformList(i, v, i * v)", "{N}.transformList(i, v, v > {I}, v)",
        "{N}.slice(0, {I})",
        "{N}.reverse()", "lists.range(3)",
    ),
    "A": (
        f"{_GPU}.productName", f"{_GPU}.type", f"{_GPU}.healthy", f"{_GPU}.index", f"{_GPU}.model", f"{_GPU}['uuid']",
        f"{_GPU}.driverVersion", f"{_STD}.numaNode", f"{_STD}.pcieRoot", f"{_STD}['pcieRoot']", f"{_STD}.absent",
        "device.attributes['other.example.com'].x", "device.attributes['dra.net'].rdma", "{M}[{S}]", "{M}.type",
        f"{_GPU}.groups", "{O}.value()", f"{_GPU}[{{S}}]", "device.attributes[{S}].type",
    ),
    "O": (
        f"{_GPU}.?productName", f"{_GPU}.?model", f"{_GPU}[?'type']", f"{_STD}.?numaNode",
        "device.attributes[?{S}].?type",
        "{M}[?{S}]", "optional.of({S})", "optional.none()", "optional.ofNonZeroValue({S})", "{O}.or({O})",
        "{L}[?{I}]", "{O}.optMap(x, x)", "{L}.first()", "{L}.last()",
    ),
    "M": (
        _GPU, _GPU, _STD, "device.attributes['dra.net']", "device.attributes['absent']",
        "device.attributes[device.driver]",
        "device.attributes[{S}]", "{{'type': {S}, 'n': {I}}}",
    ),
    "D": ("duration('1h')", "duration('90m')", "duration('1.5s')", "duration({S})", "{D} + {D}", "{T} - {T}"),
    "T": ("timestamp('2024-01-01T00:00:00Z')", "timestamp('2025-06-30T12:00:00+02:00')", "{T} + {D}", "timestamp({S})"),
    "P": ("ip('10.0.0.1')", "ip('127.0.0.1')", "ip('::1')", "ip('fe80::1')", "ip({S})", "{C}.ip()"),
    "C": ("cidr('10.0.0.0/8')", "cidr('192.168.1.0/24')", "cidr('fd00::/8')", "cidr({S})", "{C}.masked()"),
    "U": ("url('https://a.example.com:80/b?c=d')", "url('http://[::1]/x')", "url('/path')", "url({S})"),
}  # fmt: skip
# What ends a branch: without holes, so that an expression stays small.
_ENDS = {kind: tuple(one for one in found if not _HOLE.search(one)) for kind, found in _TEMPLATES.items()}
_LIST_VALUES: tuple[Question, ...] = (
    {"strings": ["pci0000:15", "pci0000:26"]}, {"strings": ["a"]}, {"ints": [1, 2]}, {"bools": [True]},
    {"versions": ["9.0.0", "8.6.0"]},
)  # fmt: skip
_LISTS = (f"{STANDARD}/pcieRoot", "groups")
_ONE_LIST = _LISTS[:1]  # without the gate: of two that are not taken, Go's map order says which is named
_KINDS = "".join(_TEMPLATES)


def expressions(rng: Random, count: int) -> list[Question]:
    return [_question(rng, f"drawn-{number:05}") for number in range(count)]


def _question(rng: Random, name: str) -> Question:
    lists = rng.random() < 0.3
    return {
        "name": name, "expression": _expression(rng), "driver": GPU if rng.random() < 0.95 else "dra.net",
        "device": _device(rng, _LISTS if lists else _ONE_LIST if rng.random() < 0.03 else ()),
        "consumableCapacity": rng.random() < 0.85, "listTypeAttributes": lists,
    }  # fmt: skip


def _expression(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.02:
        return senseless(rng)
    text = _fill(rng, "B", 0)
    return damaged(rng, text) if kind < 0.15 else text


def _fill(rng: Random, kind: str, depth: int) -> str:
    if depth and rng.random() < 0.025:
        kind = rng.choice(_KINDS)
    ends = depth >= _DEEPEST or (depth > 1 and rng.random() < 0.5)
    template = rng.choice(_ENDS[kind] if ends else _TEMPLATES[kind])
    filled = _HOLE.sub(lambda hole: _operand(rng, hole[1], depth + 1), template)
    return filled.replace("{{", "{").replace("}}", "}")


def _operand(rng: Random, kind: str, depth: int) -> str:
    """In brackets where an operator inside would bind less than one around it; mostly."""
    text = _fill(rng, kind, depth)
    return f"({text})" if " " in text and not text.endswith(("'", "]")) and rng.random() < 0.8 else text


def _device(rng: Random, lists: Sequence[str]) -> Question:
    attributes: Question = {
        "type": {"string": rng.choice(("gpu", "mig"))}, "uuid": {"string": "GPU-0"},
        "productName": {"string": rng.choice(("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"))},
        "cudaComputeCapability": {"version": rng.choice(("9.0.0", "8.6.0"))},
        "driverVersion": {"version": rng.choice(("570.86.15", "580.0.0-rc.1"))},
        "cudaDriverVersion": {"version": "12.8.0"},
        f"{STANDARD}/pcieRoot": {"string": "pci0000:15"}, f"{STANDARD}/numaNode": {"int": rng.randrange(2)},
        "index": {"int": rng.randrange(8)}, "healthy": {"bool": rng.random() < 0.8}, "dra.net/rdma": {"bool": True},
    }  # fmt: skip
    for name in lists:
        attributes[name] = rng.choice(_LIST_VALUES)
    kept = {name: value for name, value in attributes.items() if rng.random() < 0.93}
    capacity = {"memory": {"value": rng.choice(("81559Mi", "80Gi", "40Gi"))}, "multiprocessors": {"value": "16"}}
    device: Question = {"name": "gpu-0", "attributes": kept, "capacity": capacity if rng.random() < 0.95 else {}}
    if rng.random() < 0.2:
        device["allowMultipleAllocations"] = True
    return device
