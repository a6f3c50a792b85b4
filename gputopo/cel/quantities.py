"""The quantity library: quantity('80Gi') and its methods, with the errors and the limits of Kubernetes' own type.

A quantity there is an int64 with a decimal scale as long as that can hold it, else a big decimal; only the
first kind says that it is an integer. Up to 1.36 the second kind is changed in place by add() and sub().
Sources: k8s.io/apimachinery/pkg/api/resource/quantity.go, k8s.io/apiserver/pkg/cel/library/quantity.go.

    >>> parse("80Gi").value, parse("1500m").integer() is None, parse("0.5Ki").integer() is None
    (Fraction(85899345920, 1), True, True)
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from gputopo.cel.values import NO_OVERLOAD, CelError, register
from gputopo.terms.quantity import quantity as exact

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX_WRONG = "unable to parse quantity's suffix"
_PARTS = re.compile(r"([+-]?)([0-9]*)(\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_SCALES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"
_MOST_DIGITS = 18
_MOST = 2**63 - 1


class Quantity:
    """`scale` is the power of ten of the int64 that holds it, None for a big decimal. `summed`: made by add or sub,
    which hands on a pointer that `==` does not know on its right side."""

    __slots__ = ("scale", "summed", "text", "value")

    def __init__(self, value: Fraction, scale: int | None, summed: bool = False, text: str = "") -> None:
        self.value, self.scale, self.summed = value, scale, summed
        self.text = text

    def integer(self) -> int | None:
        """As an int64, where Kubernetes can say it fast; else None."""
        if self.scale is None or self.scale < 0 or self.value.denominator != 1:
            return None
        number = self.value.numerator
        return number if -_MOST - 1 <= number <= _MOST else None

    def equals(self, other: Any) -> bool:
        if not isinstance(other, Quantity) or other.summed:
            raise CelError(NO_OVERLOAD)
        return self.value == other.value

    def compared(self, other: Quantity) -> int:
        if other.scale is None:
            self.scale = None
        return (self.value > other.value) - (self.value < other.value)

    def __str__(self) -> str:
        """As it was written, where it was."""
        if self.text:
            return self.text
        number = self.value
        return str(number.numerator) if number.denominator == 1 else str(float(number))


register(Quantity, "kubernetes.Quantity")


def parse(text: str) -> Quantity:
    """Raises CelError with Kubernetes' words."""
    match = _PARTS.fullmatch(text)
    if not text or match is None:
        raise CelError(FORMAT_WRONG)
    sign, whole, _, fraction, suffix = match.groups()
    whole, fraction = whole.lstrip("0"), fraction or ""
    scale, binary = _suffix(suffix)
    digits = len(whole or "0") + len(fraction)
    if binary is None:
        made = _decimal(sign, whole, fraction, scale, digits)
    else:
        made = _binary(sign, whole, fraction, binary)
    made.text = text
    return made


def _suffix(suffix: str) -> tuple[int, int | None]:
    """The power of ten, or of two as the second."""
    if suffix in _SCALES:
        return _SCALES[suffix], None
    if len(suffix) == 2 and suffix[1] == "i" and suffix[0] in _BINARY:
        return 0, 10 * (_BINARY.index(suffix[0]) + 1)
    if len(suffix) > 1 and suffix[0] in "eE" and re.fullmatch(r"[+-]?[0-9]+", suffix[1:]):
        exponent = int(suffix[1:40])
        if -(2**63) <= exponent < 2**63:
            # Kubernetes keeps the low 32 bits.
            return (exponent + 2**31) % 2**32 - 2**31, None
    raise CelError(SUFFIX_WRONG)


def _decimal(sign: str, whole: str, fraction: str, scale: int, digits: int) -> Quantity:
    small = scale - len(fraction)
    mantissa = int(f"{whole}{fraction}" or "0")
    mantissa = -mantissa if sign == "-" else mantissa
    if digits <= _MOST_DIGITS and small >= -9:
        # What a scale of hundreds of digits stands for never has to be written out.
        return Quantity(Fraction(mantissa) * _power(small), small)
    return Quantity(_rounded(Fraction(mantissa) * _power(small)), None)


def _power(scale: int) -> Fraction:
    # Powers past 10^±100000 differ only from each other: nobody compares two of them.
    scale = max(-100_000, min(100_000, scale))
    return Fraction(10**scale) if scale >= 0 else Fraction(1, 10**-scale)


def _binary(sign: str, whole: str, fraction: str, exponent: int) -> Quantity:
    number = exact(f"{whole or '0'}{'.' + fraction if fraction else ''}") * 2**exponent
    precision = 15 - len(whole or "0") - int(exponent * 3 / 10) - 1
    fast = not fraction and precision >= 0
    limited = number if fast else min(_rounded(number), Fraction(_MOST))
    value = -limited if sign == "-" else limited
    return Quantity(value, 0 if fast else None)


def _rounded(number: Fraction) -> Fraction:
    """Away from zero to a whole nano: what is asked for is never nothing."""
    nanos = number * 10**9
    whole = -((-nanos.numerator) // nanos.denominator) if nanos > 0 else nanos.numerator // nanos.denominator
    return Fraction(whole, 10**9)


def quantity(text: str) -> Quantity:
    return parse(text)


def is_quantity(text: str) -> bool:
    try:
        parse(text)
    except CelError:
        return False
    return True


def is_integer(one: Quantity) -> bool:
    return one.integer() is not None


def as_integer(one: Quantity) -> int:
    number = one.integer()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def as_float(one: Quantity) -> float:
    return float(one.value)


def sign(one: Quantity) -> int:
    return (one.value > 0) - (one.value < 0)


def combined(one: Quantity, other: Any, factor: int, in_place: bool) -> Quantity:
    """add() and sub() of a Quantity or an int."""
    amount = other if isinstance(other, Quantity) else Quantity(Fraction(int(other)), 0)
    fast = _fast_sum(one, amount, factor)
    if fast is not None:
        return Quantity(fast[0] * _power(fast[1]), fast[1], summed=True)
    value = one.value + factor * amount.value
    if one.scale is None and in_place:
        one.value, one.text = value, ""
    return Quantity(value, None, summed=True)


def _fast_sum(one: Quantity, other: Quantity, factor: int) -> tuple[int, int] | None:
    """The sum as an int64 and its scale, where both are such and it fits. -2**63 negated stays what it is."""
    if one.scale is None or other.scale is None:
        return None
    left, right = _mantissa(one, one.scale), _mantissa(other, other.scale)
    if factor < 0 and right != -(2**63):
        right = -right
    if right == 0:
        return left, one.scale
    if left == 0:
        return right, other.scale
    scale = min(one.scale, other.scale)
    if max(one.scale, other.scale) - scale > 18:
        return None
    left, right = left * 10 ** (one.scale - scale), right * 10 ** (other.scale - scale)
    fits = all(-(2**63) <= number < 2**63 for number in (left, right, left + right))
    return (left + right, scale) if fits else None


def _mantissa(one: Quantity, scale: int) -> int:
    return int(one.value / _power(scale))
