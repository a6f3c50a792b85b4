"""GT110 and GT111: NVLinks that one end lacks, and GPUs with fewer than their peers."""

from __future__ import annotations

import pytest

from gputopo.topology.node import (
    Gpu,
    Link,
    Mig,
    NodeTopology,
    NvLinks,
)

from .nodes import H100, found, node

# GT110


def linked(id: str, *to: str, state: str | None = "active", kind: str | None = "gpu") -> Gpu:
    return Gpu(id, links=tuple(Link(n, state, 25.0, far, kind) for n, far in enumerate(to)))


def test_links_that_only_one_end_lists() -> None:
    [finding] = found("GT110", node(linked("GPU0", "GPU1", "GPU1"), linked("GPU1", "GPU0"), linked("GPU2", "GPU3")))
    assert finding.subjects == ("GPU0", "GPU1")
    assert "GPU0 lists 2 to GPU1, GPU1 lists 1 to GPU0" in finding.message


@pytest.mark.parametrize(
    "peer",
    [
        linked("GPU1"),
        linked("GPU1", "GPU0"),
        linked("GPU1", "GPU2", state=None),
        Gpu("GPU1", links=(Link(0, "active", 25.0, None, None),)),
    ],
    ids=["does not list links", "agrees", "has links of unknown state", "has a link of unknown end"],
)
def test_one_end_alone_proves_nothing(peer: Gpu) -> None:
    assert found("GT110", node(linked("GPU0", "GPU1"), peer)) == ()


def test_links_into_a_switch_have_no_other_gpu_end() -> None:
    assert found("GT110", node(*(linked(f"GPU{n}", "0000:c0:00.0", kind="switch") for n in range(2)))) == ()


# GT111


def boards(*active: int, name: str | None = H100, total: int | None = 18, via: str | None = None) -> NodeTopology:
    return node(*(Gpu(f"GPU{n}", name=name, nvlinks=NvLinks(a, total, via)) for n, a in enumerate(active)))


FULL = Gpu("GPU0", name=H100, nvlinks=NvLinks(18, 18, None))


def test_a_board_gpu_without_nvlink_is_an_error() -> None:
    [finding] = found("GT111", boards(18, 18, 0, 18, 18, 18, 18, 18))
    assert (finding.severity, finding.subjects) == ("error", ("GPU2",))
    assert finding.message == f"GPU2 has no active NVLink; its peers ({H100}) have 18"


def test_gpus_with_different_shortfalls_are_told_apart() -> None:
    few, none = sorted(found("GT111", boards(18, 17, 0, 17)), key=lambda f: f.message, reverse=True)
    assert "GPU2" in few.message or "GPU2" in none.message
    assert {f.subjects for f in (few, none)} == {("GPU1", "GPU3"), ("GPU2",)}


@pytest.mark.parametrize(
    "quiet",
    [
        boards(18, 18, 18),
        boards(12, 12, name="NVIDIA H100 NVL"),
        boards(4, 4, name="NVIDIA A40", total=4),
        boards(0, 0, 0),
        boards(4, 4, 0, name=None, total=None),
        boards(4, 4, 0, total=None, via="direct"),
        node(FULL, Gpu("GPU1", name="NVIDIA L4", nvlinks=NvLinks(0, 0, None))),
        node(FULL, Gpu("GPU1", name=H100, nvlinks=NvLinks(None, 18, None))),
        node(FULL, Gpu("GPU1", name=H100, nvlinks=NvLinks(0, 18, None), mig=(Mig("MIG-1"),))),
    ],
    ids=[
        "all full", "12 of 18 alike", "bridged pair", "none at all", "unknown models", "matrix only",
        "another model", "unknown count", "MIG",
    ],
)  # fmt: skip
def test_equal_or_incomparable_counts_are_no_fault(quiet: NodeTopology) -> None:
    assert found("GT111", quiet) == ()


@pytest.mark.parametrize(
    ("which", "severity"),
    [
        (boards(4, 4, 0, name="NVIDIA A40", total=4), "info"),
        (boards(4, 4, 0, 0, name="NVIDIA A40", total=4), "warning"),
        (boards(12, 12, 8, 8, name="NVIDIA A100 80GB PCIe", total=12), "warning"),
        (boards(4, 4, 4, 3, name="Tesla P100-SXM2-16GB", total=4), "error"),
        (boards(18, 18, 0, name=None, total=None, via="switch"), "warning"),
        (boards(18, 18, 0, total=None, via="switch"), "error"),
    ],
    ids=["odd card out", "two unbridged", "bridge in part", "SXM2", "unknown model on a fabric", "fabric"],
)
def test_severity_follows_board_or_bridge(which: NodeTopology, severity: str) -> None:
    assert [f.severity for f in found("GT111", which)] == [severity]
