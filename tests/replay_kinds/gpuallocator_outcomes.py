"""Kind `gpuallocator-outcomes`: every set BestEffort returned over all orders of the available GPUs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.allocate.device_plugin import best_effort_outcomes
from tests.replay_kinds.gpuallocator import scores_of

COMPARED = frozenset({"outcomes"})
IGNORED = {
    "topology": "of the case",
    "n": "the question",
    "links": "the question",
    "available": "the question",
    "required": "the question",
    "size": "the question",
    "orders": "how often it was asked",
}
Sets = set[tuple[int | None, ...]]


class OutcomesCase(NamedTuple):
    name: str
    expected: dict[str, Any]


def cases(path: Path) -> Iterator[OutcomesCase]:
    for row in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        yield OutcomesCase(f"{row['topology']} {row['size']} of {row['available']} with {row['required']}", row)


def answer(case: OutcomesCase) -> Sets:
    row = case.expected
    return best_effort_outcomes(
        scores_of(row["n"], row["links"]), row["available"], row["required"], row["size"]
    )


def compare(expected: dict[str, Any], got: Sets) -> list[str]:
    recorded = {tuple(json.loads(text)) for text in expected["outcomes"]}
    differences = [f"recorded, not in our set: {one}" for one in recorded - got]
    return differences + [f"in our set, never recorded: {one}" for one in got - recorded]
