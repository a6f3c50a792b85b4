"""Kind `dra-cel`: what Kubernetes' own evaluator said of one selector on one device."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from gputopo.cel.devices import Version
from gputopo.cel.program import CompileError, Device, RuntimeError_, evaluate

COMPARED = frozenset({"matches", "compileError", "runtimeError"})
IGNORED = {
    "actualCost": "a measure of the Go program; only the limit is an answer, and that is a runtimeError",
    "maxCost": "the static estimate of the API server, which no scheduler asks for",
}
ORDERS = 64
RELEASE = "1.36"  # of the recorded answers that do not name one


class CelCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    expression: str
    device: Device
    list_types: bool
    release: str


def value_of(attribute: dict[str, Any]) -> Any:
    """A `{string: x}` of the API as our plain value; None for a type that is not known."""
    for kind, value in attribute.items():
        if kind == "version":
            return Version(value)
        if kind == "versions":
            return [Version(one) for one in value]
        return value
    return None


def device_of(driver: str, device: dict[str, Any]) -> Device:
    return Device(
        driver,
        {name: value_of(attribute) for name, attribute in (device.get("attributes") or {}).items()},
        {name: capacity["value"] for name, capacity in (device.get("capacity") or {}).items()},
        bool(device.get("allowMultipleAllocations")),
    )


def cases(path: Path) -> Iterator[CelCase]:
    """A list of cases, or `{devices, cases}` in which a case names its device."""
    document = json.loads(path.read_text(encoding="utf-8"))
    devices = document["devices"] if isinstance(document, dict) else {}
    for case in document["cases"] if isinstance(document, dict) else document:
        device = case["device"]
        yield CelCase(
            case["name"],
            case["expected"],
            case["expression"],
            device_of(case["driver"], devices[device] if isinstance(device, str) else device),
            case["listTypeAttributes"],
            case.get("release", RELEASE),
        )


def answer(case: CelCase) -> dict[str, Any]:
    """With `orders`: other answers that a macro over a map may give, since Go visits a map in random order."""
    return {**_answer(case), "orders": partial(_orders, case)}


def _orders(case: CelCase) -> Iterator[dict[str, Any]]:
    if not re.search(r"\b(all|exists|exists_one|existsOne|map|filter|transform\w+)\(", case.expression):
        return
    draw = Random(case.expression)
    attributes = list(case.device.attributes.items())
    for _ in range(ORDERS):
        draw.shuffle(attributes)
        yield _answer(case._replace(device=case.device._replace(attributes=dict(attributes))))


def _answer(case: CelCase) -> dict[str, Any]:
    found = evaluate(case.expression, case.device, case.release, case.list_types)
    if isinstance(found, CompileError):
        return {"compileError": found.text}
    if isinstance(found, RuntimeError_):
        return {"runtimeError": found.text}
    return {"matches": found}


def as_recorded(answered: str, said: str) -> str:
    """Our compile error, cut to its first line where no more was recorded."""
    return answered if "\n" in said else answered.partition("\n")[0]


def compare(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Agreement with the first answer, or with one of those that another order gives."""
    differences = _differences(expected, got)
    if differences and any(not _differences(expected, other) for other in got.get("orders", tuple)()):
        return []
    return differences


def _differences(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    differences = []
    for key in sorted(COMPARED & (expected.keys() | got.keys())):
        said, answered = expected.get(key), got.get(key)
        if key == "compileError" and said and answered:
            answered = as_recorded(answered, said)
        if said != answered:
            differences.append(f"{key}: {said!r} recorded, {answered!r} answered")
    return differences
