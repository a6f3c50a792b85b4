"""A Kubernetes quantity: `80Gi`, `200G`, `1500m`, `100`, `1e3`.

The grammar is that of k8s.io/apimachinery/pkg/api/resource (`<number><suffix>`, where the suffix is
binary `Ki`…`Ei`, decimal `n u m k M G T P E`, or an exponent). A JSON or YAML number stands for itself.

    >>> quantity("80Gi") == 80 * 2**30, quantity("400Gi") > quantity(200), quantity("1500m")
    (True, True, Fraction(3, 2))
    >>> value(quantity("1500m"))
    2
    >>> quantity("80 Gi")
    Traceback (most recent call last):
    ValueError: '80 Gi' is not a quantity
"""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:(n|u|m|k|M|G|T|P|E|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"


def quantity(text: object) -> Fraction:
    """The exact number. Raises ValueError for what the API server would not decode."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ValueError(f"{text!r} is not a quantity")
    match = _FORM.fullmatch(str(text))
    if match is None:
        raise ValueError(f"{text!r} is not a quantity")
    number, suffix, exponent = Fraction(match[1]), match[2], match[3]
    if exponent is not None:
        return number * _power(10, int(exponent))
    if suffix is None:
        return number
    if suffix in _DECIMAL:
        return number * _power(10, _DECIMAL[suffix])
    return number * _power(1024, _BINARY.index(suffix[0]) + 1)


def _power(base: int, exponent: int) -> Fraction:
    return Fraction(base**exponent) if exponent >= 0 else Fraction(1, base**-exponent)


def value(number: Fraction) -> int:
    """As Quantity.Value() rounds: up, away from zero."""
    return -((-number.numerator) // number.denominator) if number > 0 else number.numerator // number.denominator
