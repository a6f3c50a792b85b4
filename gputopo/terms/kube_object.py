"""A Kubernetes object as it stands in a file, with access that checks the type of what it finds.

The body is plain data (dict, list, str, int, float, bool, None). A field that is absent or null is
the empty value, as in the API; one of another type raises `WrongShape` with the path, since the API
server would refuse it too.

    >>> pod = KubeObject({"kind": "Pod", "metadata": {"name": "a", "labels": {"x": 1}}}, "pod.yaml")
    >>> pod.kind, pod.name, pod.annotations
    ('Pod', 'a', {})
    >>> pod.labels
    Traceback (most recent call last):
    gputopo.terms.kube_object.WrongShape: metadata.labels.x is a number, not a string
"""

from __future__ import annotations

from typing import Any, NamedTuple

Body = dict[str, Any]


class WrongShape(ValueError):
    """A field has another type than the API gives it."""


class KubeObject(NamedTuple):
    body: Body
    where: str = ""  # file and line, for messages

    @property
    def kind(self) -> str:
        return text(self.body, "kind")

    @property
    def api_group(self) -> str:
        """Of `apiVersion`, "" for the core group."""
        version = text(self.body, "apiVersion")
        return version.rpartition("/")[0]

    @property
    def name(self) -> str:
        return text(mapping(self.body, "metadata"), "name", "metadata.name")

    @property
    def namespace(self) -> str:
        return text(mapping(self.body, "metadata"), "namespace", "metadata.namespace")

    @property
    def labels(self) -> dict[str, str]:
        return texts(mapping(self.body, "metadata"), "labels", "metadata.labels")

    @property
    def annotations(self) -> dict[str, str]:
        return texts(mapping(self.body, "metadata"), "annotations", "metadata.annotations")

    @property
    def spec(self) -> Body:
        return mapping(self.body, "spec")

    @property
    def status(self) -> Body:
        return mapping(self.body, "status")


def mapping(body: Body, key: str, path: str = "") -> Body:
    found = body.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise WrongShape(f"{path or key} is {type_name(found)}, not a mapping")
    return found


def sequence(body: Body, key: str, path: str = "") -> list[Any]:
    found = body.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise WrongShape(f"{path or key} is {type_name(found)}, not a list")
    return found


def mappings(body: Body, key: str, path: str = "") -> list[Body]:
    """A list whose members are mappings."""
    found = sequence(body, key, path)
    for place, one in enumerate(found):
        if not isinstance(one, dict):
            raise WrongShape(f"{path or key}[{place}] is {type_name(one)}, not a mapping")
    return found


def text(body: Body, key: str, path: str = "") -> str:
    found = body.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise WrongShape(f"{path or key} is {type_name(found)}, not a string")
    return found


def texts(body: Body, key: str, path: str = "") -> dict[str, str]:
    """A mapping of strings to strings, as labels and annotations are."""
    found = mapping(body, key, path)
    return {str(one): text(found, one, f"{path or key}.{one}") for one in found}


def integer(body: Body, key: str, path: str = "") -> int | None:
    found = body.get(key)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise WrongShape(f"{path or key} is {type_name(found)}, not a whole number")
    return found


def boolean(body: Body, key: str, path: str = "") -> bool | None:
    found = body.get(key)
    if found is None:
        return None
    if not isinstance(found, bool):
        raise WrongShape(f"{path or key} is {type_name(found)}, not true or false")
    return found


def type_name(found: object) -> str:
    """What a person calls it, with a string's text: `the string "1"`."""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, str):
        shown = found if len(found) <= 40 else found[:37] + "..."
        return f'the string "{shown}"'
    if isinstance(found, (int, float)):
        return "a number"
    if isinstance(found, list):
        return "a list"
    return "a mapping" if isinstance(found, dict) else "null"
