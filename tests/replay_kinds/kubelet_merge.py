"""Kind `kubelet-merge`: the Topology Manager's merge and verdict, of the real policies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gputopo.allocate.kubelet.hints import Hint
from gputopo.allocate.kubelet.merge import Merged, NumaInfo, merge
from gputopo.allocate.kubelet.numa_mask import bits, mask_of
from tests.replay_kinds.kubelet_rows import KubeletCase, rows

COMPARED = frozenset({"hint", "admit"})
IGNORED: dict[str, str] = {}


def cases(path: Path) -> Iterator[KubeletCase]:
    return rows(path)


def answer(case: KubeletCase) -> Merged:
    row = case.row
    closest = row["options"].get("prefer-closest-numa-nodes") == "true"
    distances = {int(node): line for node, line in row["distances"].items()}
    providers = [
        None if one is None else {name: _hints(hints) for name, hints in one.items()} for one in row["providers"]
    ]
    return merge(NumaInfo(tuple(row["nodes"]), distances, closest), row["policy"], providers)


def _hints(recorded: list[dict[str, Any]] | None) -> tuple[Hint, ...] | None:
    return None if recorded is None else tuple(hint(one) for one in recorded)


def hint(recorded: dict[str, Any]) -> Hint:
    nodes = recorded["nodes"]
    return Hint(None if nodes is None else mask_of(nodes), recorded["preferred"])


def shown(one: Hint) -> dict[str, Any]:
    return {"nodes": None if one.mask is None else list(bits(one.mask)), "preferred": one.preferred}


def compare(expected: dict[str, Any], got: Merged) -> list[str]:
    found = {"hint": shown(got.hint), "admit": got.admit}
    return [f"{key}: {expected[key]} recorded, {found[key]} ours" for key in found if expected[key] != found[key]]
