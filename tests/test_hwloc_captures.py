"""The kind `hwloc-captures` bites: a node that is wrong in one place is a mismatch."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NodeTopology
from tests.replay_kinds.hwloc_captures import Answer, XmlCase, answer, cases, compare

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[1].parent / "shared")
CAPTURES = SHARED / "data/sysfs/hwloc"
pytestmark = pytest.mark.skipif(not CAPTURES.exists(), reason=f"no captures at {CAPTURES}; set GPUTOPO_SHARED")


@pytest.fixture(scope="module")
def good() -> tuple[XmlCase, Answer]:
    """The capture with the most bridges: two sockets, accelerators and NICs below switches."""
    case = max(cases(CAPTURES), key=lambda one: len(one.expected["Bridge"]) if one.archive else 0)
    return case, answer(case)


def moved_gpu(node: NodeTopology) -> NodeTopology:
    first, *rest = node.gpus
    other = next(gpu.parent for gpu in rest if gpu.parent != first.parent)
    return node._replace(gpus=(first._replace(parent=other), *rest))


def lost_nic(node: NodeTopology) -> NodeTopology:
    return node._replace(nics=(node.nics or ())[1:])


def swapped_packages(node: NodeTopology) -> NodeTopology:
    first, second, *rest = node.packages or ()
    return node._replace(packages=(first._replace(cpus=second.cpus), second._replace(cpus=first.cpus), *rest))


def lost_cpu(node: NodeTopology) -> NodeTopology:
    first, *rest = node.numa_nodes or ()
    assert first.cpus is not None
    return node._replace(numa_nodes=(first._replace(cpus=first.cpus - CpuSet.of([min(first.cpus)])), *rest))


def lost_node(node: NodeTopology) -> NodeTopology:
    return node._replace(numa_nodes=(node.numa_nodes or ())[1:])


def other_node(node: NodeTopology) -> NodeTopology:
    first, *rest = node.gpus
    return node._replace(gpus=(first._replace(numa_nodes=(1 - (first.numa_nodes or (0,))[0],)), *rest))


def narrowed(node: NodeTopology) -> NodeTopology:
    return node._replace(allowed_cpus=CpuSet.of([0]))


@pytest.mark.parametrize(
    "change", [moved_gpu, lost_nic, swapped_packages, lost_cpu, lost_node, other_node, narrowed]
)
def test_one_wrong_place_is_found(
    good: tuple[XmlCase, Answer], change: Callable[[NodeTopology], NodeTopology]
) -> None:  # fmt: skip
    case, got = good
    assert len(got.by_xml.gpus) > 1
    assert compare(case.expected, got) == []
    assert compare(case.expected, got._replace(by_xml=change(got.by_xml))) != []


def test_most_devices_have_all_their_bridges_compared(good: tuple[XmlCase, Answer]) -> None:
    from tests.replay_kinds.hwloc_captures import _saw_all_bridges

    _, got = good
    assert got.capture is not None
    seen = [_saw_all_bridges(gpu.pci, got.capture) for gpu in got.by_xml.gpus if gpu.pci]
    assert seen
    assert all(seen)
