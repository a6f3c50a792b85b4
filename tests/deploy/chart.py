"""The part of Helm's template language that deploy/helm uses, so that the chart can be tested without Helm.

    {{ .Values.a.b }}   {{ .Release.Name }}   {{ required "why" .Values.a }}
    {{- toYaml .Values.a | nindent 8 }}   {{- if .Values.a }} … {{- else }} … {{- end }}

Anything else is a ValueError: a chart that outgrows this has to be tested by Helm itself. Where Helm is installed,
test_helm.py compares its answer with ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

CHART = Path(__file__).resolve().parents[2] / "deploy/helm/gputopo"
_ACTION = re.compile(r"([ \t]*\n?[ \t]*)\{\{(-)? *(.*?) *\}\}")
_PATH = re.compile(r"\.[A-Za-z][A-Za-z.]*\Z")


def rendered(values: Mapping[str, Any], name: str = "gputopo", namespace: str = "gputopo") -> list[dict[str, Any]]:
    """The objects of the chart. Raises ValueError: a value is missing, or an action is not one of ours."""
    own = yaml.safe_load((CHART / "values.yaml").read_text())
    known = {"Values": _merged(own, values), "Release": {"Name": name, "Namespace": namespace}}
    texts = (render(path.read_text(), known) for path in sorted((CHART / "templates").glob("*.yaml")))
    return [one for text in texts for one in yaml.safe_load_all(text) if one]


def render(text: str, known: Mapping[str, Any]) -> str:
    out: list[str] = []
    shown = [True]  # of the conditions around this place
    end = 0
    for action in _ACTION.finditer(text):
        before = text[end : action.start()] + ("" if action[2] else action[1])
        end = action.end()
        if shown[-1]:
            out.append(before)
        words = action[3]
        if words.startswith("if "):
            shown.append(shown[-1] and bool(_value(words[3:], known)))
        elif words == "else":
            shown[-1] = shown[-2] and not shown[-1]
        elif words == "end":
            shown.pop()
        elif shown[-1]:
            out.append(_written(words, known))
    if len(shown) != 1:
        raise ValueError("an if without an end, or the other way round")
    return "".join(out) + text[end:]


def _written(words: str, known: Mapping[str, Any]) -> str:
    required = re.fullmatch(r'required "([^"]*)" (\S+)', words)
    if required:
        found = _value(required[2], known)
        if not found:
            raise ValueError(required[1])
        return str(found)
    block = re.fullmatch(r"toYaml (\S+) \| nindent (\d+)", words)
    if block:
        lines = yaml.safe_dump(_value(block[1], known)).strip().split("\n")
        return "".join(f"\n{' ' * int(block[2])}{line}" for line in lines)
    return str(_value(words, known))


def _value(path: str, known: Mapping[str, Any]) -> Any:
    if not _PATH.match(path):
        raise ValueError(f"not a part of the language that is known here: {path}")
    found: Any = known
    for part in path[1:].split("."):
        found = found[part]
    return found


def _merged(own: Any, other: Any) -> Any:
    if isinstance(own, dict) and isinstance(other, Mapping):
        return {key: _merged(own.get(key), other.get(key, own.get(key))) for key in {**own, **other}}
    return other
