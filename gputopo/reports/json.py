"""`-o json`: the document, as documents/ lays it out."""

from __future__ import annotations

from typing import Any

from gputopo.documents.layout import dumps


def render(document: dict[str, Any]) -> str:
    return dumps(document)
