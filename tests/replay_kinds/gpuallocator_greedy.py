"""Kind `gpuallocator-greedy`: every multiset of GPUs the plugin's greedyAlloc picked is in our set.

The records are a lower bound: 400 runs do not show every tie (data/gpuallocator/README.md). That our set
holds nothing else is checked by brute force in tests/allocate/device_plugin.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.allocate.device_plugin.greedy import Units, greedy

COMPARED = frozenset({"per_gpu_counts", "error"})
IGNORED = {
    "gpus": "the question",
    "available": "the question",
    "required": "the question",
    "size": "the question",
    "policy": "the question",
    "runs": "how often it was asked",
    "sequences": "the order of picks: an outcome is a multiset",
    "distinct_id_results": "which replica of a GPU is random",
}
Multiset = frozenset[tuple[str, int]]


class GreedyCase(NamedTuple):
    name: str
    expected: dict[str, Any]


def cases(path: Path) -> Iterator[GreedyCase]:
    for number, row in enumerate(json.loads(path.read_text(encoding="utf-8"))["cases"]):
        yield GreedyCase(f"case {number}: {row['policy']} {row['size']}", row)


def units(gpus: dict[str, int], available: list[str], required: list[str]) -> list[Units]:
    candidates = [one.split("::")[0] for one in available if one not in required]
    return [Units(gpu, max(total, 1), candidates.count(gpu)) for gpu, total in gpus.items()]


def answer(case: GreedyCase) -> set[Multiset]:
    row = case.expected
    wanted = row["size"] - len(row["required"])
    spreads = greedy(
        units(row["gpus"], row["available"], row["required"]), wanted, row["policy"], least_picked=True
    )
    return {frozenset(counts.items()) for spread in spreads for counts in spread.members()}


def compare(expected: dict[str, Any], got: set[Multiset]) -> list[str]:
    if expected.get("error"):
        return [f"refused with {expected['error']!r}, answered {got}"] if got else []
    recorded = {_multiset(text) for text in expected["per_gpu_counts"]}
    missing = [f"recorded, not in our set: {sorted(one)}" for one in recorded - got]
    # What never occurred in hundreds of runs may still be possible, but not where only one thing can happen.
    return missing if missing or len(got) >= len(recorded) else [f"{len(recorded)} recorded, {len(got)} answered"]


def _multiset(text: str) -> Multiset:
    """`[G0:1 G1:2]` as upstream's map is printed."""
    picks = (part.rsplit(":", 1) for part in text.strip("[]").split())
    return frozenset((gpu, int(count)) for gpu, count in picks)
