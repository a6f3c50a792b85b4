"""Kubernetes objects: YAML or JSON, several documents, `kind: List` taken apart.

    >>> [one.kind for one in read("kind: Pod\\napiVersion: v1\\n---\\n# none\\n---\\nkind: Node\\napiVersion: v1\\n")]
    ['Pod', 'Node']
    >>> read('{"kind": "PodList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}')[0].kind
    'Pod'
    >>> read("kind: Pod\\n  bad: [")
    Traceback (most recent call last):
    gputopo.parsers.unreadable.Unreadable: ('not YAML: mapping values are not allowed in this context', 2, '')

YAML 1.1 as PyYAML reads it, with two differences that make it what the API server sees: a time stamp
stays a string, and a key is a string.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.structured_text import json_is_too_large, yaml_is_too_large

_DEEPEST = 100  # objects of the API nest about 20 deep
_LARGEST = 1_000_000  # values of one document


def looks_like(text: str) -> bool:
    """Whether a text is worth reading as objects: `kind` and `apiVersion` at the start of a line, or as JSON keys."""
    if text.lstrip()[:1] in ("{", "["):
        return '"apiVersion"' in text and '"kind"' in text and '"gputopo/' not in text[:200]
    starts = ["\n" + text, text]
    return all(any(f"\n{key}:" in one for one in starts) for key in ("kind", "apiVersion"))


def read(text: str) -> tuple[KubeObject, ...]:
    """Every object, `where` being its line. Raises Unreadable: no object, or not YAML and not JSON."""
    found = tuple(one for line, body in _documents(text) for one in _objects(body, line))
    if not found:
        raise Unreadable("no Kubernetes object in it")
    return found


def _documents(text: str) -> list[tuple[int, Any]]:
    if text.lstrip()[:1] not in ("{", "["):
        return list(_yaml(text))
    try:
        return list(_json(text))
    except Unreadable as error:
        try:
            return list(_yaml(text))  # `{kind: Pod}` is YAML, too
        except Unreadable:
            raise error from None


def _objects(body: Any, line: int) -> Iterator[KubeObject]:
    """The object, or the items of a list. An item of a typed list (PodList) does not repeat its kind."""
    if body is None:
        return
    if isinstance(body, list):
        for one in body:
            yield from _objects(one, line)
        return
    if not isinstance(body, dict):
        raise Unreadable("a document is no mapping, so no Kubernetes object", line)
    kind = body.get("kind")
    if not isinstance(kind, str) or not kind:
        raise Unreadable("an object without a kind", line)
    if not kind.endswith("List") or "items" not in body:
        yield KubeObject(body, f"line {line}")
        return
    items = body["items"]
    if items is not None and not isinstance(items, list):
        raise Unreadable(f"items of {kind} is no list", line)
    typed = {"kind": kind.removesuffix("List"), "apiVersion": body.get("apiVersion")} if kind != "List" else {}
    for one in items or []:
        yield from _objects(typed | one if isinstance(one, dict) else one, line)


def _json(text: str) -> Iterator[tuple[int, Any]]:
    """One value after another, as `kubectl get -o json` twice into one file leaves them."""
    import json

    if json_is_too_large(text):
        raise Unreadable("JSON of more values than are read at once", None, "give fewer objects at a time")
    decoder, place, counted, line = json.JSONDecoder(), 0, 0, 1
    while (place := _blank(text, place)) < len(text):
        line += text.count("\n", counted, place)
        counted = place
        try:
            body, place = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            raise Unreadable(f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}", error.lineno) from None
        except (RecursionError, ValueError):
            raise Unreadable("not JSON of a Kubernetes object: nested too deep, or a number too long", line) from None
        yield line, _Plain(line).checked(body)


def _blank(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _yaml(text: str) -> Iterator[tuple[int, Any]]:
    for node, body in yaml_nodes(text):
        yield node.start_mark.line + 1, body


def yaml_nodes(text: str) -> Iterator[tuple[Any, Any]]:
    """PyYAML's node of each document, which has the places, and its plain data. Raises Unreadable."""
    import yaml

    if yaml_is_too_large(text):
        raise Unreadable("YAML of more than 400,000 values", None, "kubectl get -o json, or fewer objects at a time")
    try:
        loader = _loader()(text)
    except yaml.YAMLError as error:
        raise _refused(error, text) from None
    try:
        while loader.check_node():
            node = loader.get_node()
            line = node.start_mark.line + 1
            yield node, _Plain(line).checked(loader.construct_document(node))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = error.problem or error.context or "unknown"
        raise Unreadable(f"not YAML: {what}", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise _refused(error, text) from None
    except (RecursionError, ValueError, TypeError):
        raise Unreadable("not YAML of a Kubernetes object") from None
    finally:
        loader.dispose()


def _refused(error: Exception, text: str) -> Unreadable:
    """Of a character that YAML does not allow. Its position counts bytes in C, characters in Python."""
    place = getattr(error, "position", None)
    line = text.encode("utf-8", "replace").count(b"\n", 0, place) + 1 if isinstance(place, int) else None
    return Unreadable(f"not YAML: {str(error).splitlines()[0]}", line)


def _loader() -> Any:
    """The safe loader, in C where it is built, without YAML's time stamps."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
            for first, pairs in base.yaml_implicit_resolvers.items()
        }

    return Loader


class _Plain:
    """Plain data with string keys. An anchor inside itself, or anchors that multiply without end, stop here."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._left = _LARGEST

    def checked(self, body: Any, depth: int = 0) -> Any:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            raise Unreadable("too deep or too large for a Kubernetes object", self._line)
        if isinstance(body, dict):
            return {self._key(key): self.checked(one, depth + 1) for key, one in body.items()}
        if isinstance(body, list):
            return [self.checked(one, depth + 1) for one in body]
        if body is None or isinstance(body, (str, int, float, bool)):
            return body
        raise Unreadable(f"a value that JSON does not have: {type(body).__name__}", self._line)

    def _key(self, key: object) -> str:
        if isinstance(key, bool):
            return "true" if key else "false"
        if isinstance(key, (str, int, float)):
            return str(key)
        raise Unreadable("a key that is no string", self._line)
