"""Durations and timestamps: Go's time.ParseDuration and RFC 3339, and the getters of cel-go common/stdlib.

>>> parse_duration("1h30m"), text_of_duration(parse_duration("1.5s")), getter("getHours")(parse_duration("90m"))
(Duration(nanoseconds=5400000000000), '1.5s', 1)
>>> text_of_timestamp(parse_timestamp("2026-01-02T03:04:05.5+01:00"))
'2026-01-02T03:04:05.5+01:00'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any, NamedTuple

from gputopo.cel.operators import timestamp
from gputopo.cel.values import NO_OVERLOAD, CelError, Duration, Timestamp
from gputopo.terms.go_text import go_float_plain, go_quoted

_BILLION = 10**9
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": _BILLION, "m": 60 * _BILLION,
          "h": 3600 * _BILLION}  # fmt: skip
_DURATION = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)"
_RFC3339 = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))"
)


def parse_duration(text: str) -> Duration:
    sign = -1 if text.startswith("-") else 1
    body = text[1:] if text[:1] in "+-" else text
    if body == "0":
        return Duration(0)
    if not re.fullmatch(f"(?:{_DURATION})+", body):
        raise CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
    amount = sum(int(Fraction(number.rstrip(".")) * _UNITS[unit]) for number, unit in re.findall(_DURATION, body))
    if amount > 2**63 - (sign > 0):
        raise CelError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(sign * amount)


def text_of_duration(one: Duration) -> str:
    whole, rest = divmod(abs(one.nanoseconds), _BILLION)
    seconds = float(whole) + rest / 1e9
    return f"{go_float_plain(-seconds if one.nanoseconds < 0 else seconds)}s"


def parse_timestamp(text: str) -> Timestamp:
    wrong = CelError("type conversion error from 'string' to 'google.protobuf.Timestamp'")
    match = re.fullmatch(_RFC3339, text)
    if match is None:
        raise wrong
    fields = [int(part) for part in match.groups()[:6]]
    offset = 0
    if match[8] is None:
        if int(match[10]) > 24 or int(match[11]) > 60:
            raise wrong
        offset = (int(match[10]) * 3600 + int(match[11]) * 60) * (-1 if match[9] == "-" else 1)
    seconds = _seconds(fields)
    if seconds is None:
        raise wrong
    nanos = int((match[7] or "0")[:9].ljust(9, "0"))
    return timestamp((seconds - offset) * _BILLION + nanos, offset)


def _seconds(fields: list[int]) -> int | None:
    """Since 1970; None for what is no date. The year 0 is one for Go and before everything CEL allows."""
    year, month, day, hour, minute, second = fields
    if hour > 23 or minute > 59 or second > 59:
        return None
    try:
        date = datetime(year or 4, month, day)
    except ValueError:
        return None
    days = date.toordinal() - (0 if year else 1461)
    return (days - 719163) * 86400 + hour * 3600 + minute * 60 + second


def text_of_timestamp(one: Timestamp) -> str:
    seconds, nanos = divmod(one.nanoseconds, _BILLION)
    date = _civil(seconds + one.offset_seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    minutes = abs(one.offset_seconds) // 60
    sign = "-" if one.offset_seconds < 0 else "+"
    zone = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}" if one.offset_seconds else "Z"
    day = f"{date.year:04d}-{date.month:02d}-{date.day:02d}"
    return f"{day}T{date.second // 3600:02d}:{date.second // 60 % 60:02d}:{date.second % 60:02d}{fraction}{zone}"


class Civil(NamedTuple):
    """A date with the second of its day, the day of its year from 0 and of its week from Sunday, 0."""

    year: int
    month: int
    day: int
    second: int
    day_of_year: int
    weekday: int


def _civil(seconds: int) -> Civil:
    """Of local seconds since 1970. Python's own dates end with the years 1 and 9999; an offset leads past them."""
    days, second = divmod(seconds, 86400)
    cycles, rest = divmod(days + 719162, 146097)
    # A cycle of 400 years later everything is the same.
    date = datetime.fromordinal(rest + 1)
    return Civil(
        date.year + 400 * cycles,
        date.month,
        date.day,
        second,
        date.timetuple().tm_yday - 1,
        (days + 4) % 7,
    )


def _offset(name: str, seconds: int) -> int:
    """Seconds east of UTC of a fixed offset such as -01:30 or of a name of the time zone database, at that time."""
    if ":" not in name:
        return _named_offset(name, seconds)
    hours_text, _, minutes_text = name.partition(":")
    hours, minutes = _atoi(hours_text), _atoi(minutes_text)
    return 60 * (hours * 60 - minutes if name[0] == "-" else hours * 60 + minutes)


def _atoi(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise CelError(f"strconv.Atoi: parsing {go_quoted(text)}: invalid syntax")
    return int(text[:12])


def _named_offset(name: str, seconds: int) -> int:
    if name in ("", "UTC"):
        return 0
    from zoneinfo import ZoneInfo

    try:
        zone = ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise CelError(f"unknown time zone {name}") from error
    # Inside the years that Python can shift; no zone changes outside of them.
    inside = max(-62_000_000_000, min(253_000_000_000, seconds))
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=inside)
    offset = moment.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


_OF_DATE: dict[str, Callable[[Civil], int]] = {
    "getFullYear": lambda date: date.year,
    "getMonth": lambda date: date.month - 1,
    "getDayOfYear": lambda date: date.day_of_year,
    "getDayOfMonth": lambda date: date.day - 1,
    "getDate": lambda date: date.day,
    "getDayOfWeek": lambda date: date.weekday,
    "getHours": lambda date: date.second // 3600,
    "getMinutes": lambda date: date.second // 60 % 60,
    "getSeconds": lambda date: date.second % 60,
}
_OF_DURATION = {
    "getHours": 3600 * _BILLION, "getMinutes": 60 * _BILLION, "getSeconds": _BILLION, "getMilliseconds": 10**6,
}  # fmt: skip


def getter(name: str) -> Callable[..., int]:
    """getFullYear() and its kin, of a timestamp in UTC or a named zone, or of a duration."""

    def get(one: Any, zone: str = "UTC") -> int:
        if isinstance(one, Duration):
            return int(Fraction(one.nanoseconds, _OF_DURATION[name]))
        if not isinstance(one, Timestamp):
            raise CelError(NO_OVERLOAD)
        seconds, nanos = divmod(one.nanoseconds, _BILLION)
        local = seconds + _offset(zone, seconds)
        return nanos // 10**6 if name == "getMilliseconds" else _OF_DATE[name](_civil(local))

    return get


GETTERS = (*_OF_DATE, "getMilliseconds")
