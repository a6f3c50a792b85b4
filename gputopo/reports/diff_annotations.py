"""A Diff as workflow commands of GitHub: a warning a difference, at the file of the second node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gputopo.reports.annotations import Annotation, file_of, written
from gputopo.reports.views.diff import lines


def github(document: Mapping[str, Any]) -> str:
    file = next((name for name in map(file_of, document["b"]["sources"]) if name), "")
    made = []
    for one in lines(document["differences"]):
        devices = f" ({one.devices})" if one.devices else ""
        made.append(written(Annotation("warning", one.field, f"{one.change}{devices}", file)))
    return "".join(made)
