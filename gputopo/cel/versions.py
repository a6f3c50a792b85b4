"""The semver library, with blang/semver's parser and its errors (k8s.io/apiserver/pkg/cel/library/semverlib.go).

>>> parse("12.8.0").compared(parse("12.8.0-rc.1")), normalized("v12.8").parts
(1, (12, 8, 0))
"""

from __future__ import annotations

from typing import Any

from gputopo.cel.values import NO_OVERLOAD, CelError, register
from gputopo.terms.go_text import go_quoted

_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-0123456789")


class Semver:
    """Major, minor, patch; the identifiers of the prerelease (numbers as int); build metadata, which no order sees."""

    __slots__ = ("build", "parts", "pre")

    def __init__(self, parts: tuple[int, int, int], pre: tuple[int | str, ...], build: tuple[str, ...]) -> None:
        self.parts, self.pre, self.build = parts, pre, build

    def compared(self, other: Semver) -> int:
        if self.parts != other.parts:
            return 1 if self.parts > other.parts else -1
        if not self.pre or not other.pre:
            return bool(other.pre) - bool(self.pre)
        for one, two in zip(self.pre, other.pre):
            if one == two and type(one) is type(two):
                continue
            if isinstance(one, int) and isinstance(two, int):
                return 1 if one > two else -1
            if isinstance(one, int) or isinstance(two, int):
                return -1 if isinstance(one, int) else 1
            return 1 if one > two else -1
        return (len(self.pre) > len(other.pre)) - (len(self.pre) < len(other.pre))

    def equals(self, other: Any) -> bool:
        if not isinstance(other, Semver):
            raise CelError(NO_OVERLOAD)
        return self.compared(other) == 0

    def __str__(self) -> str:
        text = ".".join(map(str, self.parts))
        text += f"-{'.'.join(map(str, self.pre))}" if self.pre else ""
        return text + (f"+{'.'.join(self.build)}" if self.build else "")


register(Semver, "kubernetes.Semver")


def parse(text: str) -> Semver:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "major", "Major"), _number(parts[1], "minor", "Minor")
    patch, plus, build_text = parts[2].partition("+")
    patch, dash, pre_text = patch.partition("-")
    numbers = (major, minor, _number(patch, "patch", "Patch"))
    pre = tuple(map(_prerelease, pre_text.split("."))) if dash else ()
    build = tuple(map(_build, build_text.split("."))) if plus else ()
    return Semver(numbers, pre, build)


def _number(text: str, name: str, Name: str) -> int:
    if not set(text) <= _DIGITS:
        raise CelError(f"Invalid character(s) found in {name} number {go_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"{Name} number must not contain leading zeroes {go_quoted(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise CelError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) >= 2**64:
        raise CelError(f"strconv.ParseUint: parsing {go_quoted(text)}: value out of range")
    return int(text)


def _prerelease(text: str) -> int | str:
    if not text:
        raise CelError("Prerelease is empty")
    if set(text) <= _DIGITS:
        if len(text) > 1 and text[0] == "0":
            raise CelError(f"Numeric PreRelease version must not contain leading zeroes {go_quoted(text)}")
        return _unsigned(text)
    if not set(text) <= _WORD:
        raise CelError(f"Invalid character(s) found in prerelease {go_quoted(text)}")
    return text


def _build(text: str) -> str:
    if not text:
        raise CelError("Build meta data is empty")
    if not set(text) <= _WORD:
        raise CelError(f"Invalid character(s) found in build meta data {go_quoted(text)}")
    return text


def normalized(text: str) -> Semver:
    """semver(x, true): a leading v, missing minor and patch and leading zeroes are put right first."""
    parts = [_without_zeroes(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _without_zeroes(part: str) -> str:
    if len(part) <= 1:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in _DIGITS else f"0{stripped}"


def semver(text: str, normalize: bool = False) -> Semver:
    return normalized(text) if normalize else parse(text)


def is_semver(text: str, normalize: bool = False) -> bool:
    try:
        semver(text, normalize)
    except CelError:
        return False
    return True
