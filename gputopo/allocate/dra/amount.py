"""A Kubernetes quantity with the way it is written, since results print it again in canonical form.

Source: k8s.io/apimachinery/pkg/api/resource/quantity.go (Quantity.CanonicalizeBytes, ParseQuantity).

    >>> str(amount("81559Mi")), str(amount("2048Mi")), str(amount("1500m")), str(amount("1000"))
    ('81559Mi', '2Gi', '1500m', '1k')
    >>> str(binary(20 * 2**30)), amount("1Gi").number == amount("1024Mi").number
    ('20Gi', True)
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple, Union

from gputopo.terms.quantity import quantity

Number = Union[int, Fraction]  # noqa: UP007  (read at run time)

BINARY, DECIMAL, EXPONENT = "BinarySI", "DecimalSI", "DecimalExponent"
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
_SUFFIX = re.compile(r"[a-zA-Z].*$")


class Amount(NamedTuple):
    """`scale`: the power of ten the digits count, as upstream keeps it; equal numbers may differ in it."""

    number: Number
    form: str = DECIMAL
    scale: int = 0

    def __str__(self) -> str:
        return canonical(self.number, self.form)


def amount(text: object) -> Amount:
    """Raises ValueError for what is no quantity."""
    number = plain(quantity(text))
    written = str(text)
    match = _SUFFIX.search(written)
    suffix = match[0] if match else ""
    if suffix.endswith("i"):
        return Amount(number, BINARY, 0)
    digits = written[: len(written) - len(suffix)]
    after = -len(digits.partition(".")[2])
    if suffix[:1] in ("e", "E") and suffix[1:]:
        return Amount(number, EXPONENT, int(suffix[1:]) + after)
    return Amount(number, DECIMAL, {name: power for power, name in _DECIMAL.items()}.get(suffix, 0) + after)


def binary(number: Number) -> Amount:
    """As resource.NewQuantity(n, resource.BinarySI)."""
    return Amount(plain(number), BINARY, 0)


def plain(number: Number) -> Number:
    """An int where it is whole: ints compare and add far faster."""
    return int(number) if number.denominator == 1 else number


def whole(one: Amount) -> int:
    """Quantity.Value(): rounded up, away from zero."""
    return ceil(one.number) if one.number > 0 else floor(one.number)


def canonical(number: Number, form: str) -> str:
    """No fraction, the largest suffix, at most nine decimal places."""
    if number == 0:
        return "0"
    if form == BINARY and (-1024 < number < 1024 or number.denominator != 1):
        form = DECIMAL  # upstream prints small and fractional binary quantities in decimal
    if form == BINARY:
        power = 0
        digits = int(number)
        while digits % 1024 == 0 and power < len(_BINARY) - 1:
            digits //= 1024
            power += 1
        return f"{digits}{_BINARY[power]}"
    power = -9
    digits = ceil(number * 10**9)
    while digits % 1000 == 0 and power < 18:
        digits //= 1000
        power += 3
    if form == EXPONENT:
        return f"{digits}e{power}" if power else str(digits)
    return f"{digits}{_DECIMAL[power]}"
