"""Every mechanism asked the same. What each answers is tested with it; here, what is made of the answers."""

from __future__ import annotations

import json

import pytest

from gputopo.allocate.compare import ALWAYS, NEVER, SOMETIMES, Setting, compare, settings
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.request import Request
from gputopo.cli import run
from tests.allocate.nodes import node, two_sockets


def test_every_mechanism_is_asked_with_its_defaults_and_what_changes_its_choice() -> None:
    asked = [(one.name, one.setting) for one in settings(node(8, two_sockets))]
    assert asked == [
        ("device-plugin", "policy none"),
        ("kubelet", "best-effort"), ("kubelet", "restricted"), ("kubelet", "single-numa-node"),
        ("dra", "gpu.nvidia.com"),
        ("koordinator", "Prefer"),
        ("hami", "spread"), ("hami", "binpack"), ("hami", "topology-aware"), ("hami", "spread, numa-bind"),
    ]  # fmt: skip


def test_best_sets_split_sets_and_refusals_are_told_apart() -> None:
    """3+3 free on two sockets: two of one socket are best, the plugin finds them; three of four cross."""
    plugin = DevicePlugin()
    state = plugin.state(node(8, two_sockets), in_use=("GPU0", "GPU6"))
    two = compare(state, Request(2), tuple(settings(state.node)))
    found = {(row.name, row.setting): row for row in two.rows}
    assert found["device-plugin", "policy none"].gives_best == ALWAYS
    assert found["device-plugin", "policy none"].left == 4
    assert found["kubelet", "restricted"].gives_best == ALWAYS
    four = compare(state, Request(4), tuple(settings(state.node)))
    found = {(row.name, row.setting): row for row in four.rows}
    assert found["kubelet", "single-numa-node"].answer.admitted is False
    assert found["kubelet", "single-numa-node"].gives_best is None
    assert four.empty is not None
    assert four.empty.sets == (("GPU0", "GPU1", "GPU2", "GPU3"), ("GPU4", "GPU5", "GPU6", "GPU7"))


def test_simple_takes_the_lowest_numbers_which_here_is_never_a_best_set() -> None:
    """go-gpuallocator's Simple with 3-6 free takes 3 and 4, which lie on two sockets."""
    state = DevicePlugin().state(node(8, two_sockets), in_use=("GPU0", "GPU1", "GPU2", "GPU7"))
    simple = Setting("device-plugin", "simple", DevicePlugin(policy="simple"))
    [row] = compare(state, Request(2), (simple,)).rows
    assert row.gives_best == NEVER
    [row] = compare(state, Request(1), (Setting("device-plugin", "policy none", DevicePlugin()),)).rows
    assert row.gives_best == ALWAYS


def test_some_answers_best_and_some_not(capsys: pytest.CaptureFixture[str]) -> None:
    """On dgx-a100-nps4 the plugin's six sets of four include crossing ones (the issue's own example)."""
    assert run(["allocate", "all", "sample:dgx-a100-nps4", "-c", "4", "-o", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {(row["mechanism"], row["setting"]): row for row in document["rows"]}
    assert rows["device-plugin", "policy none"]["givesBest"] == SOMETIMES
    assert len(rows["device-plugin", "policy none"]["outcomes"]) == 6
    assert document["kind"] == "AllocationComparison"
    assert any("device-plugin v0.20.0" in one["text"] for one in document["assumptions"])
    assert {"mechanism": "device-plugin", "setting": "policy none"} not in document["would"]
    assert {"mechanism": "kubelet", "setting": "restricted"} in document["would"]


def test_more_than_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["allocate", "all", "sample:hgx-h100", "-c", "9"]) == 1
    out = capsys.readouterr().out
    assert "none: not enough GPUs are free" in out
    assert "refused: UnexpectedAdmissionError" in out
