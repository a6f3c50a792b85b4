"""What the NVIDIA driver answers, or why it does not: asked by a child process, with a time limit."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gputopo.evidence.live import command
from gputopo.evidence.live.child import command_of
from gputopo.evidence.live.driver import LIBRARY
from gputopo.evidence.nvml.interface import VERSION

# The child's words (nvml_child.py), which is not imported here: it brings ctypes along.
_ASKS, _LIBRARY, _FAILED, _RECORDING = b"asks", b"library", b"failed", b"recording"

# Why there is no answer.
NO_ANSWER = "no-answer"  # it did not come in time
CRASHED = "crashed"  # the process that asked died
REFUSED = "refused"  # the driver said no to the first questions
NOT_LOADED = "not-loaded"  # there is a library, but no kernel module
NO_LIBRARY = "no-library"
NO_WRAPPER = "no-wrapper"  # nvidia-ml-py

# nvmlReturn_t, as nvml.h spells it: what the first calls of a driver in trouble answer.
_REFUSALS = {
    3: "NOT_SUPPORTED", 4: "NO_PERMISSION", 9: "DRIVER_NOT_LOADED", 10: "TIMEOUT", 12: "LIBRARY_NOT_FOUND",
    13: "FUNCTION_NOT_FOUND", 15: "GPU_IS_LOST", 16: "RESET_REQUIRED", 17: "OPERATING_SYSTEM",
    18: "LIB_RM_VERSION_MISMATCH: library and kernel module are of different driver versions",
    20: "MEMORY", 23: "INSUFFICIENT_RESOURCES", 999: "UNKNOWN",
}  # fmt: skip
_CODES = {NO_ANSWER: 10, CRASHED: 999, NOT_LOADED: 9, NO_LIBRARY: 12, NO_WRAPPER: 12}
_DRIVER_NOT_LOADED = 9
_ABSENT = f"the NVIDIA driver's library {LIBRARY} is not there"
_CANNOT = "the NVIDIA driver cannot be asked"


class Trouble(NamedTuple):
    kind: str
    text: str  # a clause: "the NVIDIA driver did not answer within 10 s"
    code: int  # an nvmlReturn_t that means about the same


class Answer(NamedTuple):
    """Either a recording or a trouble."""

    library: str  # which was loaded, or looked for
    recording: bytes | None
    trouble: Trouble | None

    def document(self) -> bytes:
        """The evidence as a text of format nvml-recording; a driver that said nothing is evidence too."""
        if self.recording is not None:
            return self.recording
        assert self.trouble is not None
        kind, text, code = self.trouble
        said = {"gpus": {"error": code}}
        failure = {"kind": kind, "text": text}
        return json.dumps(
            {"gputopo": "nvml-recording", "version": VERSION, "failure": failure, "snapshot": said}
        ).encode()


def ask_driver(
    libraries: Sequence[str], timeout: float, *, calls: bool = False, slow: Callable[[], object] = lambda: None
) -> Answer:
    """Asks the first of the libraries that can be loaded; never longer than `timeout` and 0.3 s.

    `calls`: keep the answers byte for byte too. `slow` is called once when it takes 2 s.
    """
    if not libraries:
        return Answer(LIBRARY, None, _trouble(NO_LIBRARY, _ABSENT))
    return _asked(libraries, str(int(calls)), timeout, slow)


def ask_processes(
    libraries: Sequence[str], timeout: float, *, slow: Callable[[], object] = lambda: None
) -> Answer:  # fmt: skip
    """The same for the processes that compute on GPUs: `recording` is their list (nvml/processes.py)."""
    if not libraries:
        return Answer(LIBRARY, None, _trouble(NO_LIBRARY, _ABSENT))
    return _asked(libraries, "processes", timeout, slow)


def _asked(libraries: Sequence[str], what: str, timeout: float, slow: Callable[[], object]) -> Answer:
    if not sys.executable:
        return Answer(LIBRARY, None, _trouble(NO_WRAPPER, f"{_CANNOT}: Python does not know its own program"))
    done = command.run(command_of("nvml_child", f"{timeout:g}", what, *libraries), timeout, slow=slow)
    return read_answer(done, timeout)


def read_answer(done: command.Done, timeout: float) -> Answer:
    """What the child's lines and its end mean."""
    library, last = LIBRARY, ""
    for line in done.output.split(b"\n")[:-1]:  # what follows the last line break was cut
        kind, _, text = line.partition(b" ")
        if kind == _RECORDING:
            return Answer(library, text, None)
        if kind == _FAILED:
            return Answer(library, None, _refusal(json.loads(text)))
        if kind == _LIBRARY:
            library = text.decode("utf-8", "replace")
        elif kind == _ASKS:
            last = text.decode("utf-8", "replace")
    return Answer(library, None, _no_answer(done, timeout, last))


def _refusal(said: dict[str, object]) -> Trouble:
    """What the child could not do, and what it was told."""
    call, code, text = str(said.get("call")), said.get("error"), str(said.get("text", ""))
    if call == "pynvml":
        return _trouble(NO_WRAPPER, f"{_CANNOT}: nvidia-ml-py cannot be imported ({text})")
    if call == "dlopen":
        absent = not text or "No such file" in text
        return _trouble(NO_LIBRARY, _ABSENT if absent else f"the NVIDIA driver's library cannot be loaded: {text}")
    number = code if isinstance(code, int) else 999
    name = _REFUSALS.get(number, "an error")
    kind = NOT_LOADED if number == _DRIVER_NOT_LOADED else REFUSED
    return Trouble(kind, f"the NVIDIA driver answered {call} with {number} {name}", number)


def _no_answer(done: command.Done, timeout: float, last: str) -> Trouble:
    asked = f" (last asked: {_question(last)})" if last else ""
    if done.end == command.NOT_STARTED:
        return _trouble(NO_WRAPPER, f"{_CANNOT}: {done.output.decode('utf-8', 'replace')}")
    if done.end == command.EXITED and done.status is not None:
        return _trouble(CRASHED, f"{_death(done.status)}{asked}")
    text = f"the NVIDIA driver did not answer within {timeout:g} s{asked}"
    if done.status is None:
        text += "; the process that asked cannot be killed, it hangs in the kernel"
    return _trouble(NO_ANSWER, text)


def _death(status: int) -> str:
    """
    >>> _death(-11)
    "a fault in the NVIDIA driver's library killed the process that asked (SIGSEGV)"
    >>> _death(1)
    "the NVIDIA driver's library ended the process that asked (status 1)"
    """
    if status >= 0:
        return f"the NVIDIA driver's library ended the process that asked (status {status})"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"a fault in the NVIDIA driver's library killed the process that asked ({name})"


def _question(said: str) -> str:
    """`nvmlDeviceGetName GPU3` → `nvmlDeviceGetName of GPU3`."""
    name, *gpus = said.split()
    return f"{name} of {' and '.join(gpus)}" if gpus else name


def _trouble(kind: str, text: str) -> Trouble:
    return Trouble(kind, text, _CODES[kind])
