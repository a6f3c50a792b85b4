"""A recorded driver in the place of libnvidia-ml, for unmodified nvidia-ml-py.

Used as `with installed(pynvml, ReplayLibrary(recording)):`, then `pynvml.nvmlInit()` and
`snapshot(pynvml, questions_of(recording))`.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable, Mapping
from typing import Any

from gputopo.evidence.nvml import interface as nvml
from gputopo.evidence.nvml.asker import SCOPES
from gputopo.evidence.nvml.calls import Function, by_reference, call_key, handle_number
from gputopo.evidence.nvml.interface import FieldRequest, Questions

_HANDLE_CALL = "nvmlDeviceGetHandleByIndex_v2"


class ReplayLibrary:
    """Answers calls from a recording's `calls`.

    A call that was not recorded is NOT_SUPPORTED and noted in `unknown_calls`. A symbol in
    `missing` (or in the recording's own list) is absent, as in an older driver: the wrappers
    make FunctionNotFound of it. Every call with the handle of a GPU in `lost` is GPU_IS_LOST.
    """

    def __init__(self, recording: Mapping[str, Any], missing: Iterable[str] = (), lost: Iterable[int] = ()) -> None:
        self.calls: Mapping[str, list[Any]] = recording.get("calls") or {}
        self.missing = {*missing, *recording.get("missing", ())}
        handles = handles_by_index(self.calls)
        self.lost = {handles[index] for index in lost}
        self.unknown_calls: list[str] = []

    def __getattr__(self, name: str) -> Function:
        if not name.startswith("nvml") or name in self.missing:
            raise AttributeError(name)
        return Function(self, name)

    def call(self, function: Function, arguments: tuple[Any, ...]) -> int | bytes:
        if self.lost and any(handle_number(argument) in self.lost for argument in arguments):
            return nvml.GPU_IS_LOST
        if function.name == "nvmlShutdown":  # there is nothing to shut down, recorded or not
            return 0
        key = call_key(function.name, arguments)
        if key not in self.calls:
            self.unknown_calls.append(key)
            return nvml.NOT_SUPPORTED
        answer, outputs = self.calls[key]
        for argument, output in zip(arguments, outputs):
            filled = by_reference(argument)
            if filled is not None and output is not None:
                written = bytes.fromhex(output)[: ctypes.sizeof(filled)]
                ctypes.memmove(ctypes.addressof(filled), written, len(written))
        return answer.encode() if isinstance(answer, str) else int(answer)


def handles_by_index(calls: Mapping[str, list[Any]]) -> dict[int, int]:
    """Handle number of each GPU index, from the recorded nvmlDeviceGetHandleByIndex."""
    handles = {}
    for name, arguments, (answer, outputs) in _parsed(calls):
        if name == _HANDLE_CALL and answer == 0 and outputs[1] is not None:
            handles[int(arguments[0])] = int.from_bytes(bytes.fromhex(outputs[1]), "little")
    return handles


def questions_of(recording: Mapping[str, Any]) -> Questions:
    """The questions whose answers a recording's `calls` hold, with the same arguments."""
    calls = recording.get("calls") or {}
    index_of = {number: index for index, number in handles_by_index(calls).items()}
    functions: set[str] = set(recording.get("missing", ()))
    words: dict[str, dict[str, int]] = {"nvmlDeviceGetCpuAffinityWithinScope": {}}
    words["nvmlDeviceGetMemoryAffinity"] = {}
    fabric: list[int] = []
    fields: dict[int, list[FieldRequest]] = {}
    for name, arguments, _ in _parsed(calls):
        functions.add(name)
        if name in words and arguments[3] < len(SCOPES):
            words[name].setdefault(SCOPES[arguments[3]], arguments[1])
        elif name == "nvmlDeviceGetGpuFabricInfoV":
            version = bytes.fromhex(arguments[1][2])[3]  # the struct's version tag, highest byte
            if version not in fabric:
                fabric.append(version)
        elif name == "nvmlDeviceGetFieldValues":
            request = _field_request(bytes.fromhex(arguments[2][2]), arguments[1])
            fields.setdefault(index_of.get(arguments[0][1], -1), []).append(request)
    return Questions(
        words["nvmlDeviceGetCpuAffinityWithinScope"],
        words["nvmlDeviceGetMemoryAffinity"],
        (recording.get("snapshot") or {}).get("cpusPossible"),
        frozenset(functions),
        tuple(fabric),
        {index: tuple(requests) for index, requests in fields.items()},
    )


def _parsed(calls: Mapping[str, list[Any]]) -> Iterable[tuple[str, list[Any], list[Any]]]:
    for key, value in calls.items():
        name, *arguments = json.loads(key)
        yield name, arguments, value


def _field_request(before: bytes, count: int) -> FieldRequest:
    size = len(before) // count if count else 1  # nvmlFieldValue_t starts with fieldId and scopeId
    return tuple(
        (int.from_bytes(before[at : at + 4], "little"), int.from_bytes(before[at + 4 : at + 8], "little"))
        for at in range(0, count * size, size)
    )
