"""One question at a time: the answer, the refusal, or "not asked"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gputopo.evidence.nvml import interface as nvml
from gputopo.evidence.nvml.interface import Questions, Refusal
from gputopo.terms.cpu_set import CpuSet

SCOPES = ("node", "socket")  # NVML_AFFINITY_SCOPE_NODE 0, NVML_AFFINITY_SCOPE_SOCKET 1
MOST_WORDS = 1024  # 65,536 CPUs


class Asker:
    """Questions about one GPU (or, without handle, the driver)."""

    __slots__ = ("handle", "lost", "pynvml", "questions")

    def __init__(self, pynvml: Any, questions: Questions, handle: Any = None, lost: bool = False) -> None:
        self.pynvml = pynvml
        self.questions = questions
        self.handle = handle
        self.lost = lost

    def ask(self, name: str, *arguments: Any, symbol: str = "", read: Callable[[Any], Any] | None = None) -> Any:
        """The answer, a refusal, or `None`: not asked (or nvidia-ml-py is older than the call)."""
        function = getattr(self.pynvml, name, None)
        if function is None or not self.questions.includes(symbol or name):
            return None
        if self.lost:
            return Refusal(error=nvml.GPU_IS_LOST)
        try:
            value = function(*arguments)
            return read(value) if read else value
        except self.pynvml.NVMLError as error:
            self.lost = self.handle is not None and error.value == nvml.GPU_IS_LOST
            return Refusal(error=int(error.value))
        except UnicodeDecodeError:  # the wrappers decode every text as UTF-8
            return Refusal(error=nvml.UNKNOWN)


def put(answers: dict[str, Any], key: str, answer: Any) -> None:
    if answer is not None:
        answers[key] = answer


def refused(answer: Any, code: int | None = None) -> bool:
    return isinstance(answer, dict) and "error" in answer and (code is None or answer["error"] == code)


def questions_for_this_machine() -> Questions:
    """All questions, with CPU and node sets as wide as this machine's kernel allows."""
    cpus = _possible("/sys/devices/system/cpu/possible")
    nodes = _possible("/sys/devices/system/node/possible") or 1
    cpu_words = min((cpus or 1) + 63, MOST_WORDS * 64) // 64
    node_words = (nodes + 63) // 64
    return Questions(dict.fromkeys(SCOPES, cpu_words), dict.fromkeys(SCOPES, node_words), cpus)


def _possible(path: str) -> int | None:
    """One more than the highest number in a kernel list (`0-127`)."""
    try:
        with open(path, encoding="ascii") as file:
            numbers = CpuSet.parse_list(file.read(4096))
    except (OSError, ValueError):
        return None
    return numbers.mask.bit_length() if numbers else None
