"""`gputopo inspect -w`: what changed between two looks at a node, and a driver that is away for a while."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gputopo import load_node
from gputopo.cli import run
from gputopo.commands import inspect_watch
from gputopo.evidence.live.hot_plug import HotPlug
from gputopo.inspection import Inspection
from gputopo.reports import node_changes
from gputopo.rules.run import run as rules
from gputopo.topology.node import NodeTopology, Observed
from tests.machines import MACHINES
from tests.machines.render_sysfs import render_sysfs


def looked(node: NodeTopology) -> Inspection:
    return Inspection(node, *rules(node))


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> NodeTopology:
    folder = tmp_path_factory.mktemp("node")
    render_sysfs(MACHINES["pcie-2s-8gpu"], folder)
    return load_node(str(folder))


def narrower(node: NodeTopology) -> NodeTopology:
    """The node with GPU5 at half of its lanes."""
    gpus = tuple(
        gpu._replace(pcie=gpu.pcie._replace(width=8)) if gpu.id == "GPU5" and gpu.pcie else gpu for gpu in node.gpus
    )
    return node._replace(gpus=gpus)


def without_a_nic(node: NodeTopology) -> NodeTopology:
    gone = (node.nics or ())[0].id
    return node._replace(
        nics=(node.nics or ())[1:], pairs=tuple(pair for pair in node.pairs if gone not in (pair.a, pair.b))
    )  # fmt: skip


def test_a_link_that_lost_lanes_is_a_line_and_its_finding_another(node: NodeTopology) -> None:
    lines = node_changes.lines(looked(node), looked(narrower(node))).splitlines()
    assert lines[0] == "~ GPU5  pcie.width: 16 -> 8"
    assert lines[1].startswith("  error GT112  GPU5 runs PCIe x8")
    back = node_changes.lines(looked(narrower(node)), looked(node)).splitlines()
    assert back[0] == "~ GPU5  pcie.width: 8 -> 16"
    assert back[1].startswith("  gone: GT112")


def test_a_nic_that_went_is_a_document_of_its_own(node: NodeTopology) -> None:
    gone = (node.nics or ())[0].id
    events = [json.loads(line) for line in node_changes.events(looked(node), looked(without_a_nic(node))).splitlines()]
    assert (events[0]["type"], events[0]["subjects"], events[0]["field"]) == ("DELETED", [gone], "nics")


def test_the_same_look_twice_is_silence(node: NodeTopology) -> None:
    assert node_changes.lines(looked(node), looked(node)) == node_changes.events(looked(node), looked(node)) == ""


def test_a_driver_that_is_reloaded_changes_nothing(node: NodeTopology, capsys: pytest.CaptureFixture[str]) -> None:
    why = "the driver's library does not answer"
    silent = NodeTopology(name=node.name, observations=(Observed("driver-silent", (), why, "s", None),))
    looks: Iterator[Inspection] = iter([looked(silent), looked(silent), looked(narrower(node))])
    written: list[str] = []

    def write(text: str) -> bool:
        written.append(text)
        return False  # nobody reads on

    inspect_watch.watch(looked(node), lambda: next(looks), write, "text", lambda: None)
    assert "".join(written).startswith("~ GPU5  pcie.width: 16 -> 8")
    assert capsys.readouterr().err == f"gputopo: {why}; what was known stands until it answers\n"


def test_a_live_node_is_printed_then_its_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    render_sysfs(MACHINES["pcie-2s-8gpu"], tmp_path)
    widths = sorted(tmp_path.glob("sys/devices/pci*/**/current_link_width"))
    looks: list[int] = []

    def wait(self: HotPlug, seconds: float, **named: Any) -> bool:
        if looks:
            raise KeyboardInterrupt
        looks.append(1)
        for file in widths:
            file.write_text("8\n")
        return True

    monkeypatch.setattr(HotPlug, "wait", wait)
    assert run(["inspect", "--root", str(tmp_path), "-w", "-o", "json", "-q"]) == 130
    first, *events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert first["kind"] == "NodeTopology"
    changed = {tuple(one["subjects"]) for one in events if one.get("field") == "gpus.pcie.width"}
    assert changed == {(gpu["id"],) for gpu in first["gpus"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("sample:hgx-h100", "-w"), "-w is for the live node"),
        (("-w", "-o", "yaml"), "-w prints text or json"),
        (("-w", "--interval", "0"), "--interval takes seconds"),
        (("-w", "--bandwidth"), "exclude one another"),
    ],
)
def test_what_cannot_be_watched_is_one_line(
    options: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["inspect", *options]) == 2
    assert said in capsys.readouterr().err


def test_without_libudev_only_the_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyudev", None)
    plug = HotPlug()
    slept: list[float] = []
    assert plug.wait(7.0, slept.append) is False
    assert slept == [7.0]
    assert plug.why_not.startswith("no udev events here")
