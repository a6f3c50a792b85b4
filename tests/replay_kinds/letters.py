"""`letters`: machines whose printed letters are known, against the rule over PCI chains (evidence.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.parsers.hwloc_xml import parse
from gputopo.topology.level_sets import names
from gputopo.topology.tree_level import nccl_level, sysfs_level

COMPARED = frozenset({"expect", "expect_by_rule"})
IGNORED = {
    "name": "of the case",
    "source": "where it was published",
    "note": "prose",
    "devices": "the question",
    "published": "another machine's NICs, which the XML does not hold",
}


class LettersCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    folder: Path


def cases(path: Path) -> Iterator[LettersCase]:
    for row in json.loads(path.read_text(encoding="utf-8")):
        yield LettersCase(row["name"], row, path.parent)


def answer(case: LettersCase) -> dict[str, tuple[str, ...]]:
    """`A-B` → the letters our rule leaves open."""
    if "expect_by_rule" in case.expected:
        return _dgx2(case)
    devices = case.expected["devices"]
    return {f"{a}-{b}": names(_mask(devices[a], devices[b])) for a, b, _ in case.expected["expect"]}


def _mask(first: dict[str, Any], second: dict[str, Any]) -> int:
    numa = ((first["numa"],), (second["numa"],))
    if "bridges" in first and "bridges" in second:
        return sysfs_level((first["root"], *first["bridges"]), (second["root"], *second["bridges"]), *numa)
    chains = [(f"cpu:{one['numa']}", *one.get("switches", ())) for one in (first, second)]
    return nccl_level(chains[0], chains[1], *numa)


def _dgx2(case: LettersCase) -> dict[str, tuple[str, ...]]:
    text = (case.folder.parent / "hwloc-xml" / "dgx2-16v100.xml").read_text(encoding="utf-8")
    gpus = {f"GPU{gpu.nvml_index}": gpu for gpu in parse(text)[0].gpus or ()}
    found = {}
    for pair in case.expected["expect_by_rule"]:
        first, second = (gpus[name] for name in pair.split("-"))
        assert isinstance(first.chain, tuple)
        assert isinstance(second.chain, tuple)
        found[pair] = names(sysfs_level(first.chain, second.chain, first.numa_nodes, second.numa_nodes))  # type: ignore[arg-type]
    return found


def compare(expected: dict[str, Any], got: dict[str, tuple[str, ...]]) -> list[str]:
    wanted = dict(expected.get("expect_by_rule", {}))
    wanted.update({f"{a}-{b}": letter for a, b, letter in expected.get("expect", ())})
    return [f"{pair}: {got[pair]}, not {letter}" for pair, letter in wanted.items() if got[pair] != (letter,)]
