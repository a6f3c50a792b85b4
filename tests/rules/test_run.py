"""The runner: order, selection, what could not be checked; no false alarm on a healthy node."""

from __future__ import annotations

import random

import pytest

from gputopo.errors import GputopoError
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.run import chosen, run
from gputopo.topology.node import Gpu, NodeTopology, Pcie

from .nodes import healthy_hgx, observing, seen


def test_a_healthy_node_gives_one_information_and_nothing_unchecked() -> None:
    findings, not_checked = run(healthy_hgx(nics=17))
    assert [(f.rule, f.severity) for f in findings] == [("GT031", "info")]
    assert not_checked == ()


def test_an_empty_node_gives_nothing_at_all() -> None:
    assert run(NodeTopology()) == ((), ())


def test_findings_stand_by_severity_then_code_then_place_on_the_node() -> None:
    gpus = tuple(Gpu(f"GPU{n}", numa_nodes=(0,), pcie=Pcie(4, 8, 4, 16)) for n in range(11))
    observations = [
        seen("row-missing", "NIC3"),
        seen("gpu-bound-to-vfio", "GPU10"),
        seen("matrix-not-symmetric", "GPU1", "GPU2"),
        seen("gpu-lost", "GPU4"),
        seen("damaged-cpu-cell", "GPU9"),
    ]
    wanted = None
    for turn in range(5):
        random.Random(turn).shuffle(observations)
        findings, _ = run(NodeTopology(gpus=gpus, observations=tuple(observations)))
        ranks = [(SEVERITIES.index(f.severity), f.rule) for f in findings]
        assert ranks == sorted(ranks)
        assert wanted in (None, findings)
        wanted = findings
    assert [(f.severity, f.rule) for f in wanted or ()] == [
        ("error", "GT004"), ("error", "GT016"), ("warning", "GT002"), ("warning", "GT112"),
        ("info", "GT003"), ("info", "GT016"),
    ]  # fmt: skip


def test_every_finding_is_one_line_and_says_what_why_and_next() -> None:
    kinds = ["damaged-cpu-cell", "row-cut", "matrix-not-symmetric", "one-sided-nvlink", "gpu-lost", "header-damaged"]
    node = observing(*(seen(kind, "GPU0", "GPU1", text="two\nlines") for kind in kinds), gpus=2)
    findings, _ = run(node)
    assert {f.rule for f in findings} >= {"GT002", "GT003", "GT008", "GT016", "GT110"}
    for finding in findings:
        assert "\n" not in finding.message
        assert all((finding.message, finding.matters, finding.because, finding.remedy, finding.evidence))


def test_select_takes_codes_prefixes_and_names_and_ignore_wins() -> None:
    node = observing(seen("gpu-lost", "GPU0"), seen("row-cut", "GPU0"), gpus=1)
    assert {f.rule for f in run(node, select=["GT016"])[0]} == {"GT016"}
    assert {f.rule for f in run(node, select=["matrix-rows-missing"])[0]} == {"GT003"}
    assert {f.rule for f in run(node, select=["GT0"], ignore=["gt003"])[0]} == {"GT016"}
    assert chosen(["GT1"], ["GT1"]) == ()


def test_an_ignored_rule_is_not_listed_as_not_checked() -> None:
    node = NodeTopology(gpus=(Gpu("GPU0", numa_nodes=(0,)), Gpu("GPU1", numa_nodes=(1,))))
    assert {n.rule for n in run(node)[1]} == {"GT013", "GT110", "GT111", "GT112", "GT115", "GT120"}
    assert {n.rule for n in run(node, ignore=["GT11"])[1]} == {"GT013", "GT120"}
    assert all("(" in n.needs for n in run(node)[1]), "each names the evidence that would settle it"


@pytest.mark.parametrize(
    ("word", "nearest"), [("GT11x", "GT110"), ("GT123", "GT120"), ("partial-nvlinks", "partial-nvlink"), ("", "")]
)
def test_a_word_that_means_no_rule_is_an_error_that_names_the_nearest(word: str, nearest: str) -> None:
    with pytest.raises(GputopoError) as caught:
        run(NodeTopology(), select=[word])
    assert nearest in caught.value.hint
    assert caught.value.exit_code == 2
