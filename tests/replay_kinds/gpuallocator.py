"""Kind `gpuallocator`: what go-gpuallocator's policies returned for one order of the available GPUs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.allocate.device_plugin import best_effort
from gputopo.allocate.device_plugin.one_order import best_cut
from gputopo.allocate.device_plugin.simple import simple
from gputopo.allocate.device_plugin.static_dgx import static_dgx

# The recorded set_score is that of `copysafe_result` where the two sets differ (alias00: 1850, not 1740).
COMPARED = frozenset({"result", "partition_score", "set_score", "copysafe_result"})
IGNORED = {"partitions": "how many upstream enumerates; we enumerate none"}


class AllocatorCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    scores: list[list[int]]
    available: list[int]
    required: list[int]
    size: int
    policy: str


def scores_of(count: int, links: list[Any]) -> list[list[int]]:
    """Points for every pair: README of the data, type numbers of links.P2PLinkType."""
    table = [[0] * count for _ in range(count)]
    for a, b, types in links:
        table[a][b] = table[b][a] = sum(10 * one if one <= 6 else 100 * (one - 6) for one in types)
    return table


def cases(path: Path) -> Iterator[AllocatorCase]:
    for topology in json.loads(path.read_text(encoding="utf-8"))["topologies"]:
        scores = scores_of(topology["n"], topology["links"])
        for available, required, size, policy, *said in topology["cases"]:
            name = f"{topology['name']} {policy} {size} of {available} with {required}"
            expected = dict(zip(("result", "partition_score", "set_score", "partitions"), said))
            if "copysafe_result" in topology:
                expected["copysafe_result"] = topology["copysafe_result"]
            yield AllocatorCase(name, expected, scores, available, required, size, policy)


def answer(case: AllocatorCase) -> dict[str, Any]:
    asked = (case.available, case.required, case.size)
    if case.policy == "besteffort":
        cut = best_cut(case.scores, *asked)
        return {
            "result": best_effort(case.scores, *asked),
            "partition_score": cut and cut.total,
            "set_score": cut and cut.score,
            "copysafe_result": cut and cut.chosen,
        }
    found = simple(*asked) if case.policy == "simple" else static_dgx(case.policy.removeprefix("static"), *asked)
    return {"result": found, "partition_score": None, "set_score": None}


def compare(expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    return [
        f"{key}: {expected[key]} recorded, {got[key]} answered"
        for key in sorted(COMPARED & expected.keys())
        if expected[key] != got[key]
    ]
