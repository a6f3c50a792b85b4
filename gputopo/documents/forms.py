"""How a value of the model and its JSON form correspond: one `Form` encodes, decodes and describes.

    >>> whole.decode(3, "gpus[0].minor")
    3
    >>> nullable(many(whole)).schema
    {'type': ['array', 'null'], 'items': {'type': 'integer', 'minimum': 0}}
    >>> whole.decode("3", "gpus[0].minor")
    Traceback (most recent call last):
    gputopo.errors.GputopoError: gpus[0].minor: expected a whole number, found "3"
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn

from gputopo.errors import GputopoError
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import BY_NAME, LEVELS

Schema = dict[str, Any]


class Form(NamedTuple):
    encode: Callable[[Any], Any]
    decode: Callable[[Any, str], Any]  # (value, its path in the document)
    schema: Schema
    defs: dict[str, Schema] = {}  # noqa: RUF012  (never mutated)


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


class Field(NamedTuple):
    """A key of a record. `absent` is what a document without it means; `terse` leaves it out then."""

    name: str
    form: Form
    attribute: str = ""  # in the model, where it differs from `name`
    absent: Any = REQUIRED
    terse: bool = False


def document_schema(version: str, kind: str, fields: Sequence[tuple[str, Form]]) -> tuple[Schema, dict[str, Schema]]:
    """The schema of a document whose keys are all there, and the definitions it refers to."""
    defs: dict[str, Schema] = {}
    for _, form in fields:
        defs.update(form.defs)
    schema: Schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"const": version},
            "kind": {"const": kind},
            **{name: form.schema for name, form in fields},
        },
        "required": ["apiVersion", "kind", *(name for name, _ in fields)],
    }
    return schema, dict(sorted(defs.items()))


def bad(path: str, expected: str, value: Any) -> NoReturn:
    """The error for a value that is not what its field holds."""
    found = json.dumps(value, default=repr)
    found = found if len(found) <= 60 else found[:57] + "..."
    raise GputopoError(f"{path or 'the document'}: expected {expected}, found {found}")


def _same(value: Any) -> Any:
    return value


def _text(value: Any, path: str) -> str:
    return value if isinstance(value, str) else bad(path, "a text", value)


def _flag(value: Any, path: str) -> bool:
    return value if isinstance(value, bool) else bad(path, "true or false", value)


def _whole(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        bad(path, "a whole number", value)
    return value


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        bad(path, "a number", value)
    try:
        number = float(value)
    except OverflowError:
        bad(path, "a number", str(value)[:20])
    return number if abs(number) != float("inf") and number == number else bad(path, "a number", str(value))


def _as_number(value: float) -> float | int | None:
    """400.0 is printed as 400; JSON has no word for infinity."""
    if value - value != 0:
        return None
    return int(value) if value == value // 1 else value


def _cpus(value: Any, path: str) -> CpuSet:
    cpus = CpuSet.parse_list(value) if isinstance(value, str) else None
    return cpus if cpus is not None else bad(path, 'a CPU list such as "0-15,32-47"', value)


text = Form(_same, _text, {"type": "string"})
flag = Form(_same, _flag, {"type": "boolean"})
whole = Form(_same, _whole, {"type": "integer", "minimum": 0})
number = Form(_as_number, _number, {"type": "number"})
cpus = Form(str, _cpus, {"type": "string", "description": 'CPU list, e.g. "0-15,32-47"; "" is no CPU'})
anything = Form(_same, lambda value, path: value, {})


def choice(*words: str) -> Form:
    def decode(value: Any, path: str) -> Any:
        return value if value in words else bad(path, "one of " + ", ".join(words), value)

    return Form(_same, decode, {"enum": list(words)})


def _level(value: Any, path: str) -> Any:
    known = BY_NAME.get(value) if isinstance(value, str) and value != "SOC" else None
    return known if known is not None else bad(path, "one of PIX, PXB, PHB, NODE, SYS", value)


level = Form(attrgetter("name"), _level, {"enum": [one.name for one in LEVELS]})


def nullable(form: Form) -> Form:
    encode, decode = form.encode, form.decode
    schema = form.schema
    if "type" in schema:
        schema = {**schema, "type": [schema["type"], "null"]}
    elif "enum" in schema:
        schema = {"enum": [*schema["enum"], None]}
    else:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return Form(
        lambda value: None if value is None else encode(value),
        lambda value, path: None if value is None else decode(value, path),
        schema,
        form.defs,
    )


def many(form: Form) -> Form:
    encode, decode = form.encode, form.decode

    def read(value: Any, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            bad(path, "a list", value)
        return tuple([decode(item, f"{path}[{place}]") for place, item in enumerate(value)])

    return Form(
        list if encode is _same else lambda value: [encode(item) for item in value],
        read,
        {"type": "array", "items": form.schema},
        form.defs,
    )


def _digits(key: str, path: str) -> int:
    if not (key.isascii() and key.isdigit() and len(key) < 10):
        bad(path, "a number as key", key)
    return int(key)


def mapping(form: Form, *, numbered: bool = False) -> Form:
    """An object with free keys; `numbered` keys are numbers in the model."""
    encode, decode = form.encode, form.decode

    def read(value: Any, path: str) -> dict[Any, Any]:
        if not isinstance(value, dict):
            bad(path, "an object", value)
        return {
            (_digits(key, path) if numbered else key): decode(item, f"{path}.{key}")
            for key, item in value.items()
        }

    schema: Schema = {"type": "object", "additionalProperties": form.schema}
    if numbered:
        schema["propertyNames"] = {"pattern": "^[0-9]+$"}
    return Form(
        lambda value: {str(key): encode(item) for key, item in value.items()}, read, schema, form.defs
    )


def record(make: Callable[..., Any], name: str, *fields: Field) -> Form:
    """An object with known keys, in this order; keys of a later version are passed over."""
    schema: Schema = {
        "type": "object",
        "properties": {field.name: field.form.schema for field in fields},
        "required": [field.name for field in fields if field.absent is REQUIRED],
    }
    defs = {name: schema}
    for field in fields:
        defs.update(field.form.defs)
    encode = _encoder(fields)

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            bad(path, "an object", value)
        return make(**read_fields(fields, value, path))

    return Form(encode, read, {"$ref": f"#/$defs/{name}"}, defs)


def _encoder(fields: tuple[Field, ...]) -> Callable[[Any], dict[str, Any]]:
    values_of = attrgetter(*(field.attribute or field.name for field in fields), "__class__")
    parts = [(field.name, field.form.encode) for field in fields]
    terse = [
        (field.name, field.attribute or field.name, field.absent) for field in fields if field.terse
    ]

    def encode(value: Any) -> dict[str, Any]:
        made = {name: form(item) for (name, form), item in zip(parts, values_of(value))}
        for name, attribute, absent in terse:
            if getattr(value, attribute) == absent:
                del made[name]
        return made

    return encode


def read_fields(fields: tuple[Field, ...], value: dict[str, Any], path: str) -> dict[str, Any]:
    """The model's arguments out of a document's object."""
    found = {}
    prefix = f"{path}." if path else ""
    for field in fields:
        if field.name in value:
            item = field.form.decode(value[field.name], prefix + field.name)
        elif field.absent is not REQUIRED:
            item = field.absent
        else:
            raise GputopoError(f"{prefix}{field.name}: missing")
        found[field.attribute or field.name] = item
    return found
