"""Writes down what a driver answers: the calls byte by byte, and the same decoded.

    library = ctypes.CDLL("libnvidia-ml.so.1")
    recording = record(pynvml, library, {"node": "gpu-17"})

Handles become small numbers in order of appearance. A GPU's serial numbers and process lists are
not asked; the chassis serial and fabric GUID that one struct brings along are blanked.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gputopo.evidence.nvml.calls import HANDLE_TYPE, Function, by_reference, call_key, installed
from gputopo.evidence.nvml.interface import VERSION, Questions, Recording
from gputopo.evidence.nvml.wrappers import snapshot

_BLANKED = {"c_nvmlPlatformInfo_v2_t": (4, 36)}  # ibGuid, chassisSerialNumber
_SIZED = (
    "nvmlPciInfo_t",
    "c_nvmlFieldValue_t",
    "c_nvmlGpuFabricInfo_v2_t",
    "c_nvmlGpuFabricInfo_v3_t",
    "c_nvmlPlatformInfo_v2_t",
    "c_nvmlMemory_t",
)


class RecordingLibrary:
    """Passes every call on to the real library and keeps it. `missing`: symbols it lacks."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.calls: dict[str, list[Any]] = {}
        self.missing: set[str] = set()
        self._tokens: dict[int, int] = {}

    def __getattr__(self, name: str) -> Function:
        if not name.startswith("nvml"):
            raise AttributeError(name)
        try:
            getattr(self.real, name)
        except AttributeError:
            self.missing.add(name)
            raise
        return Function(self, name)

    def call(self, function: Function, arguments: tuple[Any, ...]) -> int | bytes:
        target = getattr(self.real, function.name)
        target.restype = function.restype
        key = call_key(function.name, arguments, self._tokens)
        answer: int | bytes = target(*arguments)
        written = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
        self.calls[key] = [written, [self._output(argument) for argument in arguments]]
        return answer

    def _output(self, argument: Any) -> str | None:
        filled = by_reference(argument)
        if filled is None:
            return None
        name, content = type(filled).__name__, bytes(filled)
        if name == HANDLE_TYPE:
            address = int.from_bytes(content, "little")
            token = self._tokens.setdefault(address, len(self._tokens) + 1) if address else 0
            return token.to_bytes(len(content), "little").hex()
        if name in _BLANKED:
            first, last = _BLANKED[name]
            content = content[:first] + bytes(last - first) + content[last:]
        return content.hex()


def record(
    pynvml: Any,
    library: Any,
    about: Mapping[str, str] | None = None,
    questions: Questions | None = None,
) -> Recording:
    """A recording of the driver behind `library` (a `CDLL`, or a replay).

    `about` may hold `node`, `bootId` and `takenAt`. Raises NVMLError when nvmlInit fails.
    """
    recorder = RecordingLibrary(library)
    with installed(pynvml, recorder):
        pynvml.nvmlInit()
        try:
            answers = snapshot(pynvml, questions)
        finally:
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()
    recording = Recording(
        gputopo="nvml-recording",
        version=VERSION,
        nvidiaMlPy=_wrapper_version(),
        structSizes={n: ctypes.sizeof(getattr(pynvml, n)) for n in _SIZED if hasattr(pynvml, n)},
        snapshot=answers,
        missing=sorted(recorder.missing),
        calls=recorder.calls,
    )
    for key in ("node", "bootId", "takenAt"):
        if about and key in about:
            recording[key] = about[key]
    return recording


def _wrapper_version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("nvidia-ml-py")
    except PackageNotFoundError:
        return None
