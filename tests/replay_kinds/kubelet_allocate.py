"""Kind `kubelet-allocate`: which devices the device manager takes, and what it asks the plugin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gputopo.allocate.kubelet.device_choice import Call, Choice, Plugin, PluginError, Question, choose
from gputopo.allocate.kubelet.numa_mask import mask_of
from tests.replay_kinds.kubelet_hints import devices
from tests.replay_kinds.kubelet_rows import KubeletCase, rows

COMPARED = frozenset({"calls", "count", "always", "ever", "errors"})
IGNORED: dict[str, str] = {}


def cases(path: Path) -> Iterator[KubeletCase]:
    return rows(path)


def answer(case: KubeletCase) -> Choice:
    row = case.row
    hint = row.get("hint")
    nodes = None if hint is None else hint["nodes"]
    question = Question(
        resource="r",
        devices=devices(row["devices"]),
        allocated=frozenset(row["allocated"]),
        held=None,
        reusable=frozenset(row["reusable"]),
        required=row["request"],
        mask=None if nodes is None else mask_of(nodes),
        plugin=stub(row["preferred_mode"]),
    )
    (only,) = choose(question, "pod", "container")
    return only


def stub(mode: str) -> Plugin | None:
    """The plugin beside which the answers were recorded."""

    def plugin(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str] | PluginError]:
        order = sorted(must) + sorted(available - must, reverse=mode == "last")
        if mode == "error":
            return [PluginError("plugin said no")]
        if mode == "empty":
            return [frozenset()]
        if mode == "outside":
            return [frozenset({"zz-not-offered-0", "zz-not-offered-1"})]
        return [frozenset(order[: size - 1 if mode == "short" else size])]

    return None if mode == "off" else plugin


def shown(call: Call) -> dict[str, Any]:
    return {
        "available": sorted(call.available),
        "must_include": sorted(call.must_include),
        "size": call.size,
        "answer": None if call.answer is None else sorted(call.answer),
    }


def compare(expected: dict[str, Any], got: Choice) -> list[str]:
    found: dict[str, Any] = {"calls": [shown(call) for call in got.calls]}
    if got.error is not None:
        found["errors"] = [got.error]
    else:
        everything = got.choose == len(got.of)
        found["count"] = len(got.forced) + got.choose
        found["always"] = sorted(got.forced | got.of if everything else got.forced)
    differences = [
        f"{key}: {expected.get(key)} recorded, {value} ours" for key, value in found.items()
        if (expected.get(key) or [] if isinstance(value, list) else expected.get(key)) != value
    ]  # fmt: skip
    if got.error is None:
        stray = set(expected["ever"]) - got.forced - (got.of if got.choose else frozenset())
        differences += [f"ever: {sorted(stray)} seen, not possible to us"] if stray else []
        differences += ["errors recorded, none ours"] if expected.get("errors") else []
    return differences
