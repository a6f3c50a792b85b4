"""The rules of `promtool check metrics`, for tests: what Prometheus' own linter would say of an exposition.

Read at prometheus/client_golang 405bb9b, prometheus/testutil/promlint (validations/*.go). Only what can happen to
gauges and counters is here: we write nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BASE = ("amperes", "bytes", "celsius", "grams", "joules", "kelvin", "meters", "metres", "seconds", "volts")
_OTHER = {
    "minutes": "seconds", "hours": "seconds", "days": "seconds", "weeks": "seconds", "kelvins": "kelvin",
    "fahrenheit": "celsius", "rankine": "celsius", "inches": "meters", "yards": "meters", "miles": "meters",
    "bits": "bytes", "calories": "joules", "pounds": "grams", "ounces": "grams",
}  # fmt: skip
_PREFIXES = (
    "pico", "nano", "micro", "milli", "centi", "deci", "deca", "hecto", "kilo", "kibi", "mega", "mibi", "giga", "gibi",
    "tera", "tebi", "peta", "pebi",
)  # fmt: skip
_SHORT = ("s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d")
_TYPES = ("counter", "gauge", "summary", "histogram", "gauge_histogram")
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_SAMPLE = re.compile(r'(?P<name>[^{ ]+)(?:\{(?P<labels>(?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? (?P<value>\S+)\Z')
_PAIR = re.compile(r'([^=,]+)="((?:[^"\\]|\\[\\"n])*)"(?:,|\Z)')


class Family(NamedTuple):
    name: str
    help: str
    type: str
    series: tuple[tuple[tuple[tuple[str, str], ...], float], ...]  # (labels, value)


def families(text: str) -> tuple[Family, ...]:
    """Of an exposition in the order HELP, TYPE, samples, which is the one we write. Raises ValueError."""
    found: list[Family] = []
    if text and not text.endswith("\n"):
        raise ValueError("the last line does not end")
    lines = text.split("\n")[:-1]
    for at, line in enumerate(lines):
        if line.startswith("# HELP "):
            _, _, name, *rest = line.split(" ", 3)
            kind = lines[at + 1].split(" ")
            if kind[:3] != ["#", "TYPE", name]:
                raise ValueError(f"no TYPE after {line}")
            found.append(Family(name, rest[0] if rest else "", kind[3], ()))
        elif not line.startswith("# TYPE "):
            match = _SAMPLE.match(line)
            if match is None or match["name"] != found[-1].name:
                raise ValueError(f"no sample of {found[-1].name}: {line}")
            labels = match["labels"] or ""
            if "".join(one.group() for one in _PAIR.finditer(labels)) != labels:
                raise ValueError(f"these are no labels: {labels}")
            pairs = tuple((one[1], one[2]) for one in _PAIR.finditer(labels))
            found[-1] = found[-1]._replace(series=(*found[-1].series, (pairs, float(match["value"]))))
    return tuple(found)


def problems(text: str) -> list[str]:
    """What promtool would say; empty: nothing."""
    found = families(text)
    said = [f"{one.name}: {what}" for one in found for what in _of(one)]
    names = [one.name for one in found]
    return said + [f"{name}: twice" for name in sorted({name for name in names if names.count(name) > 1})]


def _of(one: Family) -> Iterator[str]:
    if not one.help.strip():
        yield "no help text"
    if not _NAME.match(one.name):
        yield "no metric name"
    for word in one.name.split("_"):
        unit = _base_of(word)
        if unit and unit != word:
            yield f'use base unit "{unit}" instead of "{word}"'
        if unit:
            break  # the first unit of a name is the one that is looked at
    if one.type == "counter" and not one.name.endswith("_total"):
        yield 'counter metrics should have "_total" suffix'
    if one.type != "counter" and one.name.endswith("_total"):
        yield 'non-counter metrics should not have "_total" suffix'
    for suffix in ("_bucket", "_count", "_sum"):
        if one.name.endswith(suffix):
            yield f'non-histogram and non-summary metrics should not have "{suffix}" suffix'
    padded = one.name.lower() + "_"
    yield from (f"name includes type {kind}" for kind in _TYPES if f"_{kind}_" in padded)
    yield from (f"abbreviated unit {unit}" for unit in _SHORT if f"_{unit}_" in padded)
    if ":" in one.name:
        yield "metric names should not contain ':'"
    labels = {name for pairs, _ in one.series for name, _ in pairs}
    for name in sorted({one.name, *labels}):
        if re.search("[a-z][A-Z]", name):
            yield f"{name} is camelCase"
    yield from (f"{name} is no label" for name in sorted(labels) if not _LABEL.match(name))
    yield from (f"label {name} is reserved" for name in ("le", "quantile") if name in labels)
    if len({pairs for pairs, _ in one.series}) != len(one.series):
        yield "two samples with the same labels"
    if len({tuple(name for name, _ in pairs) for pairs, _ in one.series}) > 1:
        yield "samples with different labels"


def _base_of(word: str) -> str | None:
    """What a word of a name should be called; `None`: it is no unit."""
    if word in _BASE or word in _OTHER:
        return _OTHER.get(word, word)
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if rest != word and (rest in _BASE or rest in _OTHER):
            return _OTHER.get(rest, rest)
    return None
