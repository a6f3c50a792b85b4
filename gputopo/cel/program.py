"""Compile a selector, run it on a device: the entry points of this room.

>>> program = compile("device.attributes['gpu.nvidia.com'].model == 'H100' && false", "1.36")
>>> program.evaluate(Device("gpu.nvidia.com", {}, {}))
False
>>> compile("device.node == 'n1'").text
"compilation failed: ERROR: <input>:1:7: undefined field 'node'\\n | device.node == 'n1'\\n | ......^"
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from gputopo.cel import static_types as types
from gputopo.cel.checker import check
from gputopo.cel.costs import Meter
from gputopo.cel.devices import UnsupportedAttribute, as_variable
from gputopo.cel.environment import DEFAULT_RELEASE, MOST_COST, Environment, environment
from gputopo.cel.literal_checks import literal_faults
from gputopo.cel.parser import MOST_CODE_POINTS, parse
from gputopo.cel.planner import PlanError, plan
from gputopo.cel.scopes import Scope, Step
from gputopo.cel.syntax import Fault, Node, fault_at
from gputopo.cel.tokens import shown
from gputopo.cel.values import Cancelled, CelError, Optional_, Refused, type_name

_MOST_FAULTS = 100
# cel-go nests up to 250 operators and brackets; each takes a few frames here.
_FRAMES = 8000
_SNIPPET = 16384


class Device(NamedTuple):
    """What a selector sees. Keys are qualified names, bare ones belong to the driver's domain.

    An attribute is a str, int, bool, `Version` or a list of one of these; None or anything else is a value of a
    type that this release does not know. A capacity is the text of a quantity."""

    driver: str
    attributes: Mapping[str, Any]
    capacity: Mapping[str, str]
    allow_multiple_allocations: bool = False


class CompileError(NamedTuple):
    """A selector that does not compile: the text Kubernetes prints, and its parts where they have places.

    `refused`: it is only we who do not evaluate it; what Kubernetes says is not known."""

    text: str
    faults: tuple[Fault, ...]
    refused: bool = False


class RuntimeError_(NamedTuple):
    """A selector that failed on this device, in Kubernetes' words: the scheduler gives the pod up.

    `refused`: it asks for more than is evaluated here; what Kubernetes answers is not known."""

    text: str
    refused: bool = False


class Program:
    """A compiled selector."""

    __slots__ = ("environment", "node", "step", "text")

    def __init__(self, text: str, env: Environment, node: Node, step: Step) -> None:
        self.text, self.environment, self.node, self.step = text, env, node, step

    def evaluate(self, device: Device, limit: int = MOST_COST) -> bool | RuntimeError_:
        return self.measured(device, limit)[0]

    def measured(self, device: Device, limit: int = MOST_COST) -> tuple[bool | RuntimeError_, int]:
        """The answer and what it cost."""
        meter = Meter(limit)
        try:
            variable = as_variable(device, self.environment)
        except UnsupportedAttribute as error:
            return RuntimeError_(error.text), 0
        try:
            with deep_recursion():
                value = self.step.run(Scope(meter, {"device": variable}))
        except (CelError, Cancelled) as error:
            return RuntimeError_(error.text, isinstance(error, Refused)), meter.cost
        return _as_bool(value), meter.cost


def _as_bool(value: Any) -> bool | RuntimeError_:
    inner = value.value if isinstance(value, Optional_) and value.present else value
    if isinstance(inner, bool):
        return inner
    words = "optional.none() dereference" if isinstance(inner, Optional_) else _native(inner)
    return RuntimeError_(f"CEL result of type {type_name(value)} could not be converted to bool: {words}")


def _native(value: Any) -> str:
    """Go's words for a value that is no bool."""
    words = {
        "int": "unsupported type conversion from 'int' to bool",
        "uint": "unsupported type conversion from 'uint' to bool",
        "double": "type conversion error from Double to 'bool'",
        "string": "unsupported native conversion from string to 'bool'",
        "bytes": "type conversion error from Bytes to 'bool'",
        "null_type": "type conversion error from 'null_type' to 'bool'",
        "list": "type conversion error from list to 'bool'",
        "map": "type conversion error from map to 'bool'",
        "type": "type conversion not supported for 'type'",
        "google.protobuf.Duration": "type conversion error from 'Duration' to 'bool'",
        "google.protobuf.Timestamp": "type conversion error from 'Timestamp' to 'bool'",
    }
    name = type_name(value).replace("NamedFormat", "Format")
    return words.get(name, f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'")


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Room for the deepest nesting that the parser accepts."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def analysed(text: str, env: Environment) -> tuple[Node, list[Fault], bool]:
    """The tree, all faults in text order, and whether it could be read whole. Types are checked around holes too."""
    node, faults = parse(text, env.macros, env.escapes)
    whole = not faults
    found = check(node, env)
    if whole and not found:
        found = literal_faults(node)
    faults += [fault_at(text, offset, message) for offset, message in found]
    return node, sorted(faults, key=lambda fault: fault[:2]), whole


def compile(text: str, release: str = DEFAULT_RELEASE, list_types: bool = False) -> Program | CompileError:
    """Raises ValueError for an unknown release."""
    env = environment(release, list_types)
    with deep_recursion():
        try:
            return _compiled(text, env)
        except (PlanError, Cancelled) as error:
            refused = isinstance(error, Refused)
            return CompileError(f"program instantiation failed: {error.text}", (), refused)


def _compiled(text: str, env: Environment) -> Program | CompileError:
    node, faults = parse(text, env.macros, env.escapes)
    if faults:
        faults = kubernetes_faults(text, env, faults)
    else:
        found = check(node, env) or literal_faults(node)
        faults = [fault_at(text, offset, message) for offset, message in found]
    if faults:
        return _failed(text, faults)
    refused = _result(node, env)
    if refused:
        return CompileError(refused, ())
    return Program(text, env, node, plan(node, env))


def kubernetes_faults(text: str, env: Environment, faults: list[Fault]) -> list[Fault]:
    """Those that Kubernetes' parser finds where ours finds some, in its order."""
    from gputopo.cel.antlr_faults import parse_faults

    return faults if len(text) > MOST_CODE_POINTS else parse_faults(text, env.macros, env.escapes) or faults


def _failed(text: str, found: list[Fault]) -> CompileError:
    """The first hundred, by place."""
    faults = sorted(found[:_MOST_FAULTS], key=lambda fault: fault[:2])
    lines = [_shown(text, fault) for fault in faults]
    if len(found) > _MOST_FAULTS:
        lines.append(f"{len(found) - _MOST_FAULTS} more errors were truncated")
    shown = "\n".join(lines)
    return CompileError(f"compilation failed: {shown}", tuple(faults))


def _result(node: Node, env: Environment) -> str | None:
    """Why this type of result is refused."""
    # 1.37 takes dyn with the gate off too.
    allowed = [types.BOOL, types.ANY] + ([types.DYN] if env.list_types or env.minor >= 37 else [])
    if node.type in allowed:
        return None
    return f"must evaluate to bool or the unknown type, not {types.go_name(node.type)}"


def _shown(text: str, fault: Fault) -> str:
    """An error with its line and a caret below, as cel-go prints it."""
    line, column, message = fault
    head = f"ERROR: <input>:{line}:{column}: {message}"
    lines = text.split("\n")
    if not 0 < line <= len(lines) or not text or len(lines[line - 1].encode("utf-8", "surrogatepass")) > _SNIPPET:
        return head
    snippet = lines[line - 1].replace("\t", " ")
    before = max(column - 1, 0)
    dots = "".join("." if ord(one) < 0x80 else "\uff0e" for one in snippet[:before])
    caret = "\uff3e" if before < len(snippet) and ord(snippet[before]) >= 0x80 else "^"
    return f"{head}\n | {snippet}\n | {dots}{caret}"


def diagnose(text: str, release: str = DEFAULT_RELEASE, list_types: bool = False) -> list[Fault]:
    """All that is wrong with a selector, also behind the first fault: what a lint shows. Empty: it compiles.

    Its length is not looked at. Raises ValueError for an unknown release."""
    env = environment(release, list_types)
    with deep_recursion():
        try:
            return _diagnosed(text, env)
        except (PlanError, Cancelled) as error:
            return [fault_at(text, 0, error.text)]


def _diagnosed(text: str, env: Environment) -> list[Fault]:
    node, faults, whole = analysed(text, env)
    if not whole:
        from gputopo.cel.recovery import faults_behind

        return faults_behind(text, env, _syntax_faults(text, env))[:_MOST_FAULTS]
    if faults:
        return faults
    refused = _result(node, env)
    if refused:
        return [fault_at(text, node.at, refused)]
    plan(node, env)
    return []


def _syntax_faults(text: str, env: Environment) -> list[Fault]:
    """Ours, which go on further behind the first one, and that in Kubernetes' words; its own where it has another
    place."""
    own = parse(text, env.macros, env.escapes)[1]
    said = [fault._replace(message=shown(fault.message)) for fault in kubernetes_faults(text, env, own)]
    said.sort(key=lambda fault: fault[:2])
    return [said[0], *own[1:]] if own and own[0][:2] == said[0][:2] else said


def evaluate(
    text: str, device: Device, release: str = DEFAULT_RELEASE, list_types: bool = False
) -> bool | RuntimeError_ | CompileError:
    """Compile and run in one go."""
    program = compile(text, release, list_types)
    return program if isinstance(program, CompileError) else program.evaluate(device)
