"""`numactl --hardware`: nodes, CPUs, sizes, distances; cut texts say less, never something else."""

from __future__ import annotations

import pytest

from gputopo.parsers.numactl_hardware import parse, sniff
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown

TWO = """\
available: 2 nodes (0-1)
node 0 cpus: 0 2 4 6
node 0 size: 515020 MB
node 0 free: 509047 MB
node 1 cpus: 1 3 5 7
node 1 size: 516037 MB
node 1 free: 489964 MB
node distances:
node   0   1
  0:  10  21
  1:  21  10
"""


def one(text: str) -> NodeRecords:
    [node] = parse(text)
    return node


def test_a_whole_output() -> None:
    node = one(TWO)
    assert node.whole
    assert node.numa_nodes is not None
    first, second = node.numa_nodes
    assert first.cpus == CpuSet.of((0, 2, 4, 6))
    assert first.memory_bytes == 515020 * 1024 * 1024
    assert second.distances == {0: 21, 1: 10}
    assert (first.kind, first.packages) == ("cpu", None)  # which socket it is in is not printed


@pytest.mark.parametrize("prefix", ["> ", "    ", "* ", "| "])
def test_quoted_and_indented(prefix: str) -> None:
    text = "".join(f"{prefix}{line}" for line in TWO.splitlines(keepends=True)).replace("\n", "\r\n")
    assert one(text).numa_nodes == one(TWO).numa_nodes


def test_the_head_cut_away() -> None:
    text = TWO[TWO.index("node 1 size") :]
    node = one(text)
    assert not node.whole
    assert [(numa.number, numa.cpus, numa.memory_bytes) for numa in node.numa_nodes or ()] == [
        (0, None, None),
        (1, None, 516037 << 20),
    ]
    assert node.gaps[0].subjects == ("NUMA0", "NUMA1")


def test_the_tail_cut_away() -> None:
    node = one(TWO[: TWO.index("node 1 cpus")])
    assert not node.whole
    assert node.gaps[0].attribute == "numaNodes"
    assert [numa.distances for numa in node.numa_nodes or ()] == [None]


def test_nodes_of_memory_alone_and_numbers_with_holes() -> None:
    text = TWO.replace("available: 2 nodes (0-1)", "available: 3 nodes (0-1,8)").replace(
        "node distances", "node 8 cpus:\nnode 8 size: 97280 MB\nnode distances"
    )
    node = one(text.replace("node   0   1\n", "node   0   1   8\n"))
    assert node.numa_nodes is not None
    memory = node.numa_nodes[2]
    assert (memory.number, memory.cpus, memory.kind, memory.packages) == (8, CpuSet(), "memory", ())
    assert isinstance(node.numa_nodes[0].distances, Unknown)  # two numbers for three columns


def test_two_machines_and_the_same_twice() -> None:
    assert len(parse(TWO + TWO)) == 1
    assert len(parse(TWO + TWO.replace("515020", "257510"))) == 2


@pytest.mark.parametrize("cpus", ["0 1 x", "0 99999999", "0-3"])
def test_a_damaged_cpu_list_is_unknown(cpus: str) -> None:
    numa = one(f"node 0 cpus: {cpus}\n").numa_nodes
    assert numa is not None
    assert isinstance(numa[0].cpus, Unknown)


def test_rows_of_numbers_elsewhere_are_no_distances() -> None:
    assert one(f"  0:  99  99\n{TWO}").numa_nodes == one(TWO).numa_nodes


def test_other_texts() -> None:
    for text in ("", "No NUMA available on this system", "node 0: drained"):
        assert not sniff(text)
        with pytest.raises(Unreadable):
            parse(text)
