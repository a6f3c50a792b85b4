"""A Kubernetes object as YAML that readers of 1.1 and 1.2 take alike: every text in quotes where it needs them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# A word that no reader takes for a number, a boolean, null or a date.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./-]*[A-Za-z0-9]")
_WORDS = {"true", "false", "yes", "no", "on", "off", "null", "inf", "nan"}


def render(body: Mapping[str, Any], comments: Sequence[str] = ()) -> str:
    """
    >>> print(render({"kind": "Pod", "rows": [{"one": 1, "text": "1"}]}, ["why"]), end="")
    # why
    kind: Pod
    rows:
    - one: 1
      text: "1"
    """
    return "\n".join([*(f"# {line}" for line in comments), *_mapping(body)]) + "\n"


def _mapping(body: Mapping[str, Any]) -> Iterator[str]:
    for key, value in body.items():
        name = _text(key)
        if isinstance(value, Mapping) and value:
            yield f"{name}:"
            yield from (f"  {line}" for line in _mapping(value))
        elif isinstance(value, (list, tuple)) and value:
            yield f"{name}:"
            for item in value:
                first, *rest = _mapping(item)
                yield f"- {first}"
                yield from (f"  {line}" for line in rest)
        else:
            yield f"{name}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(value: str) -> str:
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)
