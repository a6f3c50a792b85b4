"""The process that asks the driver: `python -m gputopo.evidence.live.nvml_child SECONDS CALLS LIBRARY...`.

It may hang, or die of a fault in the driver's library; so before each call it says which it is. Lines on standard
output, the last one the answer:

    library libnvidia-ml.so.1                 loaded; the calls below go there
    asks nvmlDeviceGetName GPU3               about to call
    failed {"call": "nvmlInitWithFlags", "error": 9}
    recording {"gputopo": "nvml-recording", …}

`CALLS` is 1 to keep the answers byte for byte too (docs/nvml-recording.md), 0 for the decoded ones only;
`processes` asks which processes compute on which GPU instead, and nothing else (nvml/processes.py).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from gputopo.evidence.nvml.calls import Function, by_reference, handle_number, installed
from gputopo.evidence.nvml.processes import processes
from gputopo.evidence.nvml.record import record

LIBRARY, ASKS, FAILED, RECORDING = "library", "asks", "failed", "recording"
PROCESSES = "processes"
NO_WRAPPER, NO_LIBRARY = "pynvml", "dlopen"  # in the place of a call's name
_HANDLE = "nvmlDeviceGetHandleByIndex_v2"


class Lines:
    """Standard output, taken away from the driver's library, which may print there."""

    def __init__(self) -> None:
        self.fd = os.dup(1)
        os.dup2(2, 1)

    def say(self, kind: str, text: str) -> None:
        data = f"{kind} {text}\n".encode()
        while data:
            data = data[os.write(self.fd, data) :]


class Announcing:
    """The driver's library, with each call said before it is made."""

    def __init__(self, real: Any, lines: Lines) -> None:
        self.real = real
        self.lines = lines
        self.index: dict[int, int] = {}  # address of a handle → NVML index

    def __getattr__(self, name: str) -> Function:
        getattr(self.real, name)  # raises AttributeError for a symbol that this driver lacks
        return Function(self, name)

    def call(self, function: Function, arguments: tuple[Any, ...]) -> int | bytes:
        target = getattr(self.real, function.name)
        target.restype = function.restype
        self.lines.say(ASKS, " ".join([function.name, *self._gpus(function.name, arguments)]))
        answer: int | bytes = target(*arguments)
        if function.name == _HANDLE and answer == 0:
            address = handle_number(by_reference(arguments[1]))
            if address is not None:
                self.index[address] = arguments[0].value if hasattr(arguments[0], "value") else int(arguments[0])
        return answer

    def _gpus(self, name: str, arguments: tuple[Any, ...]) -> list[str]:
        if name == _HANDLE:
            first = arguments[0]
            return [f"GPU{first.value if hasattr(first, 'value') else first}"]
        numbers = (handle_number(argument) for argument in arguments)
        return [f"GPU{self.index[number]}" for number in numbers if number is not None and number in self.index]


def main(arguments: Sequence[str]) -> NoReturn:
    seconds, calls, *libraries = arguments
    # The parent kills this process in time; if the parent itself is killed, the kernel does.
    signal.setitimer(signal.ITIMER_REAL, float(seconds) + 1.0)
    lines = Lines()
    answer = _ask(libraries, calls, lines)
    lines.say(RECORDING if "gputopo" in answer else FAILED, json.dumps(answer))
    os._exit(0)  # the library's own clean-up may hang, and nobody needs it


def _ask(libraries: Sequence[str], calls: str, lines: Lines) -> dict[str, Any]:
    try:
        import pynvml  # type: ignore[import-untyped]
    except Exception as error:  # a module of another package, or a broken installation
        return {"call": NO_WRAPPER, "text": f"{type(error).__name__}: {error}"}
    library, why = _load(libraries, lines)
    if library is None:
        return {"call": NO_LIBRARY, "text": why}
    announcing = Announcing(library, lines)
    try:
        asked = _processes if calls == PROCESSES else record
        recording: dict[str, Any] = dict(asked(pynvml, announcing))
    except pynvml.NVMLError as error:  # of nvmlInit; later refusals are answers
        return {"call": "nvmlInit", "error": int(error.value)}
    gpus = recording.get("snapshot", recording).get("gpus")
    if not isinstance(gpus, list):
        refused = gpus["error"] if isinstance(gpus, dict) else 13
        return {"call": "nvmlDeviceGetCount_v2", "error": refused}
    if calls == "0":
        recording["calls"] = {}
    return recording


def _processes(pynvml: Any, library: Announcing) -> dict[str, Any]:
    with installed(pynvml, library):
        pynvml.nvmlInit()
        return processes(pynvml)


def _load(libraries: Sequence[str], lines: Lines) -> tuple[Any, str]:
    """The first library that can be loaded, or why none could: one that is there and broken says more than none."""
    reasons = []
    for name in libraries:
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
        else:
            lines.say(LIBRARY, name)
            return library, ""
    broken = [why for why in reasons if "No such file" not in why]
    return None, (broken or reasons or [""])[0]


if __name__ == "__main__":
    main(sys.argv[1:])
