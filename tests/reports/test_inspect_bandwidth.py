"""`inspect --bandwidth` as a person and as a script sees it. The test is the picture."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

import gputopo
from gputopo.cli import run
from gputopo.documents.load import decode
from gputopo.documents.node import encode
from gputopo.documents.schema import schema
from gputopo.nccl.bandwidth import with_bandwidth
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.inspect_bandwidth import bandwidth
from gputopo.reports.views.words import pairs_of
from gputopo.topology.node import NodeTopology
from tests.nccl.test_bandwidth import two_roots_a_socket

ASKED_80 = """\
BANDWIDTH GB/s in one direction, as NCCL counts the narrowest link of its path:
          not the wire, and not measured
       GPU0 GPU1 GPU4
GPU0      X   48   10
GPU1     48    X   10
GPU4     10   10    X
          weakest  GPU0-GPU4 (SYS) 10 GB/s; 2 of 3 pairs have no more
SET       {0,1,4}   sockets 2+1, NVLink islands 2+1
          expected 10 GB/s: NCCL 2.30.7's own model: Ring Simple
          ceiling  not known: the rate of an NVLink of GPU0, GPU1 is not in the
                   evidence
          better   20 GB/s: {0,1,2} (sockets 3, NVLink islands 2+1, one of 8
                   alike)
LEAVING   the set leaves the NVLink islands {0,1} {4,5}: 10 instead of 40 GB/s
          inside of it ({0,1})
          measured elsewhere on an A100 PCIe pair with a third GPU: 208 -> 20
          GB/s, https://github.com/NVIDIA/nccl-tests/issues/178
"""
RANKED_140 = """\
          weakest  GPU0-GPU4 (SYS) 10 GB/s; 16 of 28 pairs have no more
SETS      56 sets of 3 GPUs in 3 groups   GB/s: bus bandwidth of an all-reduce that a set should reach; ranked by the load of the links
  20  8 sets   sockets 3, NVLink islands 2+1      e.g. {0,1,2}
  10  16 sets  sockets 2+1, NVLink islands 2+1    e.g. {0,1,4}
  10  32 sets  sockets 2+1, NVLink islands 1+1+1  e.g. {0,2,4}
basis     NCCL 2.30.7's own model: Ring Simple
"""  # noqa: E501


def picture(node: NodeTopology, columns: int) -> str:
    return render(bandwidth(node, pairs_of(node)), Style(columns))


def bridged(**asked: Any) -> NodeTopology:
    return with_bandwidth(gputopo.load_node("sample:pcie-bridged"), **asked).node


def test_a_set_that_leaves_its_island() -> None:
    assert picture(bridged(gpus=("GPU0", "GPU1", "GPU4")), 80) == ASKED_80


def test_all_sets_of_a_size() -> None:
    assert RANKED_140 in picture(bridged(count=3), 140)


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_sixteen_gpus_fit(columns: int) -> None:
    made = picture(with_bandwidth(two_roots_a_socket(), count=2).node, columns)
    assert max(map(len, made.splitlines())) <= columns
    assert "GPU15" in made


def test_a_bound_is_not_called_an_expectation() -> None:
    made = picture(with_bandwidth(two_roots_a_socket(), expired=lambda: True).node, 140)
    assert "          at most  20 GB/s: no more than this by the load of the links: the time was up" in made
    assert "expected" not in made
    made = picture(with_bandwidth(two_roots_a_socket(), count=8, expired=lambda: True).node, 140)
    assert "the first 255 sets out of 12870, since the time was up, of 8 GPUs" in made


def test_pairs_that_are_all_alike_have_no_weakest() -> None:
    node = with_bandwidth(gputopo.load_node("sample:hgx-h100")).node
    assert "weakest  370.8 GB/s, as all of the 28 pairs" in picture(node, 100)


def test_the_document_holds_it_all_and_reads_back() -> None:
    node = bridged(gpus=("GPU0", "GPU1", "GPU4"))
    made = json.loads(json.dumps(encode(node)))
    jsonschema.Draft202012Validator(schema()).validate(made)
    assert list(made["sets"][0]) == [
        "gpus", "shape", "count", "gbps", "basis", "isBound", "ceilingGBps", "ceilingBasis", "role", "leaves",
    ]  # fmt: skip
    assert made["sets"][0]["gpus"] == ["GPU0", "GPU1", "GPU4"]
    assert made["pairs"][0]["bandwidthGBps"] == 48
    assert decode(made) == (node._replace(provenance={}),)


def test_without_the_option_there_are_no_sets(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "sample:pcie-bridged", "-o", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert "sets" not in made
    assert all(pair["bandwidthGBps"] is None for pair in made["pairs"])


@pytest.mark.parametrize("form", ["text", "json", "yaml"])
def test_the_verb(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "--bandwidth", "sample:pcie-bridged", "--gpus", "0-1,GPU4", "-o", form]) == 0
    assert "own model: Ring Simple" in capsys.readouterr().out


def test_a_search_that_timeout_ends_is_undecided(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gputopo.commands.inspect_bandwidth.monotonic", iter(range(0, 1000000, 100)).__next__)
    assert run(["inspect", "--bandwidth", "sample:pcie-bridged"]) == 3
    assert "at most" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--bandwidth", "-c", "1"], "--count takes 2 or more, not 1: one GPU sends to nobody"),
        (["--bandwidth", "-c", "9"], "no set of 9: the node has 8 GPUs"),
        (["--bandwidth", "--gpus", "3"], "--gpus takes two GPUs or more, not 3: one sends to nobody"),
        (["--bandwidth", "--gpus", "0,1", "-c", "2"], "--gpus and --count exclude one another"),
        (["--bandwidth", "--gpus", "0,77"], "no such GPU: 77"),
        (["-c", "2"], "--count asks for bandwidth here"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "sample:pcie-bridged", *arguments]) == 2
    assert f"gputopo: error: {says}" in capsys.readouterr().err
