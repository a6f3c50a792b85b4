"""A Node object as the rules over it need it: labels, annotations and amounts, with their paths.

What is not of the API's shape is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.rules.manifests.objects.pod_parts import mapping_of, text_of
from gputopo.terms.manifest import Manifest, Path
from gputopo.terms.quantity import quantity

LABELS: Path = ("metadata", "labels")
ANNOTATIONS: Path = ("metadata", "annotations")
CAPACITY: Path = ("status", "capacity")
ALLOCATABLE: Path = ("status", "allocatable")


class NodePart(NamedTuple):
    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    capacity: dict[str, int]
    allocatable: dict[str, int]


def node_part(manifest: Manifest) -> NodePart | None:
    """None: a Node of another group of APIs."""
    body = manifest.object.body
    if manifest.kind != "Node" or text_of(body, "apiVersion") not in ("", "v1"):
        return None
    metadata, status = mapping_of(body, "metadata"), mapping_of(body, "status")
    return NodePart(
        text_of(metadata, "name"), _texts(metadata, "labels"), _texts(metadata, "annotations"),
        _counts(status, "capacity"), _counts(status, "allocatable"),
    )  # fmt: skip


def whole(text: str | None) -> int | None:
    """
    >>> whole("8"), whole("-1"), whole("8 GPUs"), whole(None)
    (8, None, None, None)
    """
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 19 else None


def _texts(body: dict[str, object], key: str) -> dict[str, str]:
    return {str(name): value for name, value in mapping_of(body, key).items() if isinstance(value, str)}


def _counts(body: dict[str, object], key: str) -> dict[str, int]:
    """The extended resources, which are whole numbers."""
    found: dict[str, int] = {}
    for name, value in mapping_of(body, key).items():
        try:
            number = quantity(value)
        except ValueError:
            continue
        if "/" in str(name) and number.denominator == 1:
            found[str(name)] = int(number)
    return found
