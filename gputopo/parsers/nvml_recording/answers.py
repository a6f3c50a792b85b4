"""Answers, refusals and what was not asked: from the recording's JSON to `Said`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gputopo.records import Assumption, Gap, Observation
from gputopo.terms.unknown import Said, Unknown

T = TypeVar("T")

# nvmlReturn_t by number, as nvml.h spells them without NVML_ERROR_.
_CODES = {
    1: "UNINITIALIZED", 2: "INVALID_ARGUMENT", 3: "NOT_SUPPORTED", 4: "NO_PERMISSION", 6: "NOT_FOUND",
    7: "INSUFFICIENT_SIZE", 9: "DRIVER_NOT_LOADED", 10: "TIMEOUT", 13: "FUNCTION_NOT_FOUND",
    14: "CORRUPTED_INFOROM", 15: "GPU_IS_LOST", 16: "RESET_REQUIRED", 17: "OPERATING_SYSTEM",
    18: "LIB_RM_VERSION_MISMATCH", 23: "INSUFFICIENT_RESOURCES", 25: "ARGUMENT_VERSION_MISMATCH",
    28: "GPU_NOT_FOUND", 29: "INVALID_STATE", 999: "UNKNOWN",
}  # fmt: skip
INVALID_ARGUMENT = 2
NOT_SUPPORTED = 3
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
LOST = "GPU is lost (NVML 15): the driver cannot reach it"
LOST_SETTLED_BY = "a recording after the GPU is back (`dmesg` and `nvidia-smi -q` tell why it fell off)"

MOST_WORDS = 1024  # 65,536 CPUs: more is damage


class Notes(NamedTuple):
    """What is said beside the records while they are read."""

    gaps: list[Gap]
    observations: list[Observation]
    assumptions: list[Assumption]


def refusal_code(answer: object) -> int | None:
    """The nvmlReturn of `{"error": rc}`, or `None` for anything else."""
    if isinstance(answer, dict):
        code = answer.get("error")
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    return None


def refusal(code: int, call: str) -> Unknown:
    """Why a refused question has no answer."""
    if code == GPU_IS_LOST:
        return Unknown(LOST, LOST_SETTLED_BY)
    if code == FUNCTION_NOT_FOUND:
        return Unknown(f"this driver has no {call} (FunctionNotFound)", "a newer driver")
    return Unknown(f"{call} answered {_CODES.get(code, 'error')} ({code})")


def said(answers: dict[str, object], key: str, call: str, read: Callable[[object], T | None]) -> Said[T]:
    """The answer under `key`: a value, the reason why there is none, or `None` for not asked."""
    answer = answers.get(key)
    if answer is None:
        return None
    code = refusal_code(answer)
    if code is not None:
        return refusal(code, call)
    value = read(answer)
    return odd(call, answer) if value is None else value


def odd(call: str, answer: object) -> Unknown:
    """For an answer of the wrong type or out of every range."""
    shown = repr(answer)
    return Unknown(f"the recording holds {shown[:60]}{'…' if len(shown) > 60 else ''} for {call}")


def settled(value: Said[T], by: str) -> Said[T]:
    """The same, with what would settle it where that is not said yet."""
    if isinstance(value, Unknown) and not value.settled_by:
        return value._replace(settled_by=by)
    return value


def number(answer: object) -> int | None:
    """A whole number that is no count of "unknown": negative ones mean that in NVML."""
    if isinstance(answer, int) and not isinstance(answer, bool) and answer >= 0:
        return answer
    return None


def text(answer: object) -> str | None:
    if isinstance(answer, str) and answer.strip():
        return answer.strip()
    return None


def words_mask(answer: object) -> int | None:
    """64-bit words, least significant first, as one mask.

    >>> words_mask([3, 1]) == 1 << 64 | 3
    True
    >>> words_mask([-1]) is None
    True
    """
    if not isinstance(answer, list) or not 0 < len(answer) <= MOST_WORDS:
        return None
    mask = 0
    for position, word in enumerate(answer):
        value = number(word)
        if value is None or value >> 64:
            return None
        mask |= value << 64 * position
    return mask


def part(answers: dict[str, object], key: str) -> dict[str, object]:
    """A nested table of answers; empty when it was not asked or is no table."""
    value = answers.get(key)
    return value if isinstance(value, dict) else {}
