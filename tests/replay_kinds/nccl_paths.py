"""Kind `nccl-paths`: what NCCL's own graph code answers for a topology file (data/nccl/oracle/README.md).

A case is a file with P2P on, the same with P2P off, or one set of its GPUs. The model is compared to its printed digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.nccl import (
    Graph,
    Graphs,
    Machine,
    PathType,
    Refused,
    Settings,
    Way,
    all_reduce,
    graphs,
    machine,
    paths,
    subset,
)
from gputopo.parsers.nccl_xml import parse

COMPARED = frozenset({"rc", "pairs", "gpunet", "graphs", "model", "maxBw", "totalBw"})
IGNORED = {"warn": "NCCL's own messages, some of them harmless"}
_CLOSE = 0.05 + 1e-6  # recorded to 0.1 GB/s
_DIED = "the recorder died: no ring, and no NIC for the fallback"
Answer = dict[str, Any]


class OracleCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    text: str
    sm: int
    p2p: bool
    devs: tuple[int, ...] | None  # of the set, None all


def cases(path: Path) -> Iterator[OracleCase]:
    """The answers of an oracle folder, each with the text of its file in the xml folder beside it."""
    for file in sorted(path.glob("*.json")):
        recorded = json.loads(file.read_text(encoding="utf-8"))
        text = (path.parent / "xml" / recorded["file"]).read_text(encoding="utf-8")
        assumed = re.search(r"assumed sm=(\d+)", recorded["nccl"])
        sm = int(assumed[1]) if assumed else 80
        for key, p2p in (("all_p2p_on", True), ("all_p2p_off", False)):
            yield OracleCase(f"{recorded['file']} {key}", recorded[key], text, sm, p2p, None)
        for devs, expected in recorded["subsets"].items():
            chosen = tuple(map(int, devs.split(",")))
            yield OracleCase(f"{recorded['file']} {{{devs}}}", expected, text, sm, True, chosen)


@lru_cache(maxsize=1)
def _whole(text: str, sm: int, p2p: bool) -> Machine | Refused:
    [node] = parse(text)
    assert node.nccl is not None
    return machine(node.nccl, Settings(p2p_level=None if p2p else PathType.LOC), sm=sm)


def answer(case: OracleCase) -> Answer:
    node = _whole(case.text, case.sm, case.p2p)
    if isinstance(node, Machine) and case.devs is not None:
        node = subset(node, [gpu.busid for gpu in node.gpus if gpu.dev in case.devs])
    if isinstance(node, Refused):
        assert node.reason
        return {"rc": node.code, "pairs": {}, "gpunet": {}, "graphs": {}, "model": {}}
    gpus = [str(gpu.dev) for gpu in node.gpus]
    nets = [str(net.dev) for net in node.nets]
    ways, found = paths(node), graphs(node)
    gpunet: dict[str, dict[str, list[Any]]] = {}
    for (gpu, net), way in ways.nics.items():
        gpunet.setdefault(gpus[gpu], {}).setdefault(nets[net], _way(way))
    return {
        "rc": 0,
        "pairs": {f"{gpus[a]}-{gpus[b]}": _way(way) for (a, b), way in ways.pairs.items()},
        "gpunet": gpunet,
        "graphs": _graphs(found),
        "model": {f"{one.algorithm}/{one.protocol}": f"{one.bus_gbps:.1f}" for one in all_reduce(found)},
        "maxBw": found.field.widest,
        "totalBw": found.field.total,
        "why": found.ring.why if found.ring else "",
    }


def _way(way: Way) -> list[Any]:
    return [way.type.name, way.gbps]


def _graphs(found: Graphs) -> dict[str, dict[str, Any]]:
    names: dict[str, Graph | None] = {"ring": found.ring, "tree": found.tree, "nvls": found.nvls}
    return {
        name: {
            "nchannels": one.channels,
            "bw_per_channel": one.gbps,
            "total_bw": one.total_gbps,
            "type": one.type.name,
        }
        for name, one in names.items()
        if one is not None
    }


def compare(expected: dict[str, Any], got: Answer) -> list[str]:
    if expected.get("rc", 0) < 0:
        return [] if got["why"] and not got["graphs"]["ring"]["nchannels"] else [_DIED]
    differences = []
    if expected.get("rc", 0) != got["rc"]:
        differences.append(f"rc: {expected['rc']} recorded, {got['rc']} answered")
    if "pairs" in expected:
        differences += _ways("pairs", expected["pairs"], got["pairs"])
    if "gpunet" in expected:
        differences += _keys("gpunet", expected["gpunet"], got["gpunet"])
        for gpu in expected["gpunet"].keys() & got["gpunet"].keys():
            differences += _ways(f"gpunet {gpu}", expected["gpunet"][gpu], got["gpunet"][gpu])
    differences += _keys("graphs", expected["graphs"], got["graphs"])
    for name in sorted(expected["graphs"].keys() & got["graphs"].keys()):
        differences += _graph(name, expected["graphs"][name], got["graphs"][name])
    model = {name: f"{value:.1f}" for name, value in expected["model"].items()}
    if model != got["model"]:
        differences.append(f"model: {model} recorded, {got['model']} answered")
    for name in ("maxBw", "totalBw"):
        if name in expected and abs(expected[name] - got[name]) > _CLOSE:
            differences.append(f"{name}: {expected[name]} recorded, {got[name]} answered")
    return differences


def _keys(what: str, expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    if expected.keys() == got.keys():
        return []
    return [f"{what}: {sorted(expected)} recorded, {sorted(got)} answered"]


def _ways(what: str, expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    differences = _keys(what, expected, got)
    for pair in expected.keys() & got.keys():
        (type, gbps), (our_type, our_gbps) = expected[pair], got[pair]
        if type != our_type or abs(gbps - our_gbps) > _CLOSE:
            differences.append(f"{what} {pair}: {type} {gbps} recorded, {our_type} {our_gbps:.2f} answered")
    return differences


def _graph(name: str, expected: dict[str, Any], got: dict[str, Any]) -> list[str]:
    compared = ["nchannels", "bw_per_channel", "total_bw", "type"]
    if name == "nvls" and not expected["nchannels"]:
        compared.remove("type")  # says nothing there
    return [
        f"{name} {key}: {expected[key]} recorded, {got[key]} answered"
        for key in compared
        if (expected[key] != got[key] if key in ("type", "nchannels") else abs(expected[key] - got[key]) > _CLOSE)
    ]
