"""Kind `kubelet-hints`: the device manager's topology hints of one resource."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gputopo.allocate.kubelet.device_hints import Device, resource_hints
from gputopo.allocate.kubelet.hints import ResourceHints
from gputopo.allocate.kubelet.releases import DEFAULT, Release, parse
from tests.replay_kinds.kubelet_merge import shown
from tests.replay_kinds.kubelet_rows import KubeletCase, rows

COMPARED = frozenset({"hints"})
IGNORED: dict[str, str] = {}


def cases(path: Path) -> Iterator[KubeletCase]:
    return rows(path)


def answer(case: KubeletCase) -> ResourceHints:
    row = case.row
    return resource_hints(
        row["nodes"], devices(row["devices"]), row["available"], row["reusable"], row["request"],
        parse(row.get("release", "")) or Release(DEFAULT),
    )


def devices(recorded: dict[str, Any]) -> dict[str, Device]:
    return {
        id: Device(None if one["numa"] is None else tuple(one["numa"]), one.get("healthy", True))
        for id, one in recorded.items()
    }


def compare(expected: dict[str, Any], got: ResourceHints) -> list[str]:
    found = None if got is None else [shown(one) for one in got]
    return [] if expected["hints"] == found else [f"hints: {expected['hints']} recorded, {found} ours"]
