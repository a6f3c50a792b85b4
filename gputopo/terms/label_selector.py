"""A label selector as kubectl takes it: `app=web,tier!=db,env in (a, b),!legacy`.

    >>> matches = parse("app=web,env in (dev, test),!legacy")
    >>> matches({"app": "web", "env": "dev"}), matches({"app": "web", "env": "prod"})
    (True, False)
    >>> parse("tier!=db")({}), parse("tier notin (db)")({"tier": "db"}), parse("tier")({"tier": ""})
    (True, False, True)
    >>> parse("a in")
    Traceback (most recent call last):
    ValueError: a in

The grammar and what an absent label means: k8s.io/apimachinery pkg/labels/selector.go (`!=` and `notin` match it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_KEY = r"(?:[\w.-]{1,253}/)?[\w.-]{1,63}"
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([\w.,\s-]*)\)\Z", re.ASCII)
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*([\w.-]*)\Z", re.ASCII)
_EXISTS = re.compile(rf"(!?)\s*({_KEY})\Z", re.ASCII)
_COMMAS = re.compile(r",(?![^()]*\))")

Matches = Callable[[Mapping[str, str]], bool]


def parse(selector: str) -> Matches:
    """Whether labels match. Raises ValueError with the requirement that is none."""
    requirements = [_requirement(part.strip()) for part in _COMMAS.split(selector)] if selector.strip() else []
    return lambda labels: all(one(labels) for one in requirements)


def _requirement(text: str) -> Matches:
    if found := _SET.match(text):
        key, values = found[1], {value.strip() for value in found[3].split(",")}
        if found[2] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(text):
        key, value = found[1], found[3]
        if found[2] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS.match(text):
        key = found[2]
        if found[1]:
            return lambda labels: key not in labels
        return lambda labels: key in labels
    raise ValueError(text)
