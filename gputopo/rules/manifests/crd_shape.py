"""Whether a part of an object is as the schema of its CustomResourceDefinition has it.

>>> form = Fields({"name": "string", "cost": "integer"}, required=("name",))
>>> [message for _, message in misfits({"cost": "1"}, form, ("zones", 0))]
['zones[0].name is missing', 'zones[0].cost is the string "1", not a whole number']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gputopo.rules.manifests.problem import written
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Path

# Of k8s.io/apimachinery/pkg/api/resource, as controller-gen writes it into every schema.
_QUANTITY = re.compile(
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?"
)
_WORDS = {"string": "a string", "integer": "a whole number", "quantity": "a quantity"}


class Fields(NamedTuple):
    of: Mapping[str, Form]
    required: tuple[str, ...] = ()


class ListOf(NamedTuple):
    of: Form


class MapOf(NamedTuple):
    """Keys of one's own."""

    of: Form


Form = str | Fields | ListOf | MapOf


def misfits(value: Any, form: Form, path: Path) -> Iterator[tuple[Path, str]]:
    """Where and what. A field that is null counts as missing; one that the schema does not have is passed over."""
    if isinstance(form, Fields):
        if not isinstance(value, dict):
            yield path, f"{written(path)} is {type_name(value)}, not a mapping"
            return
        for name in form.required:
            if value.get(name) is None:
                yield path, f"{written((*path, name))} is missing"
        for name, inner in form.of.items():
            if value.get(name) is not None:
                yield from misfits(value[name], inner, (*path, name))
    elif isinstance(form, ListOf):
        if not isinstance(value, list):
            yield path, f"{written(path)} is {type_name(value)}, not a list"
            return
        for place, one in enumerate(value):
            yield from misfits(one, form.of, (*path, place))
    elif isinstance(form, MapOf):
        if not isinstance(value, dict):
            yield path, f"{written(path)} is {type_name(value)}, not a mapping"
            return
        for key, one in value.items():
            yield from misfits(one, form.of, (*path, str(key)))
    elif not _fits(value, form):
        yield path, f"{written(path)} is {type_name(value)}, not {_WORDS[form]}"


def _fits(value: Any, form: str) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if form == "integer":
        return whole or (isinstance(value, float) and value.is_integer())
    if form == "quantity":
        return whole or (isinstance(value, str) and _QUANTITY.fullmatch(value) is not None)
    return isinstance(value, str)
