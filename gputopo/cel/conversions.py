"""Conversions between types: int(), uint(), double(), string(), bool(), bytes(), duration(), timestamp(), type().

Source: the ConvertToType methods of cel-go common/types.

    >>> to_int("42"), to_string(1.0), to_uint(3.9), to_bool("True")
    (42, '1', 3, True)
"""

from __future__ import annotations

import math
import re
from typing import Any

from gputopo.cel import times
from gputopo.cel.addresses import CIDR, IP
from gputopo.cel.operators import timestamp
from gputopo.cel.values import CelError, Duration, Timestamp, TypeValue, Uint, type_name
from gputopo.terms.go_text import go_float

_BILLION = 10**9
_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_FLOAT = re.compile(
    r"[+-]?(?:inf(?:inity)?|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?"
    r"|0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+)",
    re.IGNORECASE,
)


def _wrong(value: Any, wanted: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{wanted}'")


def _integer(text: str, low: int, high: int, signed: bool) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]+" if signed else r"[0-9]+", text):
        return None
    number = int(text) if len(text) < 40 else high + 1
    return number if low <= number <= high else None


def to_int(value: Any) -> int:
    if isinstance(value, str):
        number = _integer(value, -(2**63), 2**63 - 1, True)
        if number is None:
            raise _wrong(value, "int")
        return number
    if isinstance(value, float):
        # Go refuses the last doubles below 2**63 too.
        if not math.isfinite(value) or value <= -(2**63) or value >= 2**63:
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, Duration):
        return value.nanoseconds
    if isinstance(value, Timestamp):
        return value.nanoseconds // _BILLION
    if isinstance(value, Uint) and value >= 2**63:
        raise CelError("integer overflow")
    return int(value)


def to_uint(value: Any) -> Uint:
    if isinstance(value, str):
        number = _integer(value, 0, 2**64 - 1, False)
        if number is None:
            raise _wrong(value, "uint")
        return Uint(number)
    if isinstance(value, float):
        if not math.isfinite(value) or value < 0 or value >= 2**64:
            raise CelError("unsigned integer overflow")
        return Uint(int(value))
    if value < 0:
        raise CelError("unsigned integer overflow")
    return Uint(value)


def to_double(value: Any) -> float:
    if isinstance(value, str):
        digits = value.replace("_", "") if _underscored(value) else value
        if not _FLOAT.fullmatch(digits):
            raise _wrong(value, "double")
        number = float.fromhex(digits) if "x" in digits.lower() else float(digits)
        if math.isinf(number) and "inf" not in value.lower():
            raise _wrong(value, "double")
        return number
    return float(value)


def _underscored(text: str) -> bool:
    """Whether every underscore stands between two digits, or behind the 0x: then Go reads over it."""
    return re.search(r"(?<![0-9a-fA-FxX])_|_(?![0-9a-fA-F])", text) is None


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise _wrong(value, "bool")


def to_bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


def to_string(value: Any) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise CelError("invalid UTF-8 in bytes, cannot convert to string") from error
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return go_float(value)
    if isinstance(value, Duration):
        return times.text_of_duration(value)
    if isinstance(value, Timestamp):
        return times.text_of_timestamp(value)
    if isinstance(value, TypeValue):
        return value.type_name
    if isinstance(value, (str, int, IP, CIDR)):
        return value if isinstance(value, str) else str(int(value) if isinstance(value, int) else value)
    raise _wrong(value, "string")


def to_duration(value: Any) -> Duration:
    if isinstance(value, str):
        return times.parse_duration(value)
    if isinstance(value, Duration):
        return value
    raise _wrong(value, "google.protobuf.Duration")


def to_timestamp(value: Any) -> Timestamp:
    if isinstance(value, str):
        return times.parse_timestamp(value)
    if isinstance(value, Timestamp):
        return value
    return timestamp(int(value) * _BILLION)


def type_of(value: Any) -> TypeValue:
    return TypeValue(type_name(value))


def is_zero(value: Any) -> bool:
    """What optional.ofNonZeroValue() takes for empty."""
    if value is None or isinstance(value, (bool, int, float)):
        return not value
    if isinstance(value, Duration):
        return value.nanoseconds == 0
    if isinstance(value, Timestamp):
        return value.nanoseconds == -62135596800 * _BILLION
    return hasattr(value, "__len__") and not isinstance(value, tuple) and len(value) == 0
