"""Selectors on devices: three answers (true, false, failed), compiled at first use, remembered per device.

The evaluation itself is a function, so that a search can run on recorded answers.

    >>> from gputopo.allocate.dra.objects import DeviceId
    >>> seen = Selectors(lambda text, name, device: Verdict(text == "true"))
    >>> seen.verdict("true", DeviceId("d", "p", "a"), Device("a")).matches
    True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gputopo.allocate.dra.objects import Attribute, Device, DeviceId


class Verdict(NamedTuple):
    """`failed`: "" or "compile" or "runtime", with the text Kubernetes prints."""

    matches: bool
    failed: str = ""
    text: str = ""


Evaluate = Callable[[str, DeviceId, Device], Verdict]


class Selectors:
    """Remembers answers: a selector's answer depends on the device alone."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._known: dict[tuple[str, int], tuple[Device, Verdict]] = {}

    def verdict(self, expression: str, name: DeviceId, device: Device) -> Verdict:
        # Two generations of a pool hold different devices of one name, so the object is the key; it is kept alive.
        key = (expression, id(device))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = (device, self._evaluate(expression, name, device))
        return found[1]


def cel(release: tuple[int, int], list_types: bool) -> Selectors:
    """Kubernetes' CEL of a release."""
    from gputopo.cel.program import CompileError, Program, compile

    version = f"{release[0]}.{release[1]}"
    programs: dict[str, Program | CompileError] = {}

    def evaluate(expression: str, name: DeviceId, device: Device) -> Verdict:
        program = programs.get(expression)
        if program is None:
            program = programs[expression] = compile(expression, version, list_types)
        if isinstance(program, CompileError):
            return Verdict(False, "compile", program.text)
        answer = program.evaluate(_seen(name.driver, device))
        return Verdict(answer) if isinstance(answer, bool) else Verdict(False, "runtime", answer.text)

    return Selectors(evaluate)


def _seen(driver: str, device: Device) -> Any:
    """The device as a selector sees it."""
    from gputopo.cel.program import Device as Seen

    return Seen(
        driver,
        {name: _value(one) for name, one in device.attributes.items()},
        {name: str(one.value) for name, one in device.capacity.items()},
        bool(device.allow_multiple),
    )


def _value(one: Attribute) -> Any:
    from gputopo.cel.devices import Version

    if one.kind == "version":
        return Version(one.value)
    if one.kind == "versions":
        return [Version(each) for each in one.value]
    return list(one.value) if isinstance(one.value, tuple) else one.value
