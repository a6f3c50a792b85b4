"""takeByTopology: what cpumanager/cpu_assignment.go of v1.36.2 (and v1.37.2 where said) answered when it was run.

15,000 random questions were asked of both releases beside ours; these show one thing each.
"""

from __future__ import annotations

import pytest

from gputopo.allocate.kubelet.cpu_distributed import Share, take_distributed
from gputopo.allocate.kubelet.cpu_packed import take_packed
from gputopo.allocate.kubelet.machine import CpuTopology
from gputopo.allocate.kubelet.stops import KubeletStops, ManagerError
from gputopo.terms.cpu_set import CpuSet
from tests.allocate.kubelet.machines import cpus

Shape = tuple[int, int, int, int]  # sockets, NUMA nodes of a socket, cores of a node, threads


def mask(text: str) -> int:
    found = CpuSet.parse_list(text)
    assert found is not None
    return found.mask


@pytest.mark.parametrize(
    ("shape", "available", "count", "options", "taken"),
    [
        pytest.param((2, 1, 4, 2), "0-15", 10, {}, "0-4,8-12", id="a whole socket, then a core of the other"),
        pytest.param((2, 1, 4, 2), "2-15", 4, {}, "2-3,10-11", id="a socket in use is filled before an idle one"),
        pytest.param((1, 2, 4, 2), "1-15", 8, {}, "4-7,12-15", id="a whole free NUMA node before single cores"),
        pytest.param((2, 1, 4, 2), "0-15", 3, {}, "0-1,8", id="an odd rest takes one thread of the next core"),
        pytest.param((1, 1, 4, 2), "0-3,5-7", 5, {}, "0-2,5-6", id="the core in use gives the single thread"),
        pytest.param((1, 1, 4, 2), "0-7", 3, {"spread": True}, "0-2", id="distribute-cpus-across-cores"),
        pytest.param((1, 1, 8, 2), "0-1,3-9,11-15", 4, {"uncore": True}, "0-1,8-9", id="all of one L3"),
        pytest.param((1, 1, 8, 2), "0-15", 3, {"uncore": True}, "0-1,8", id="an odd number inside one L3"),
    ],
)  # fmt: skip
def test_packed(shape: Shape, available: str, count: int, options: dict[str, bool], taken: str) -> None:
    assert str(CpuSet(take_packed(CpuTopology(cpus(*shape)), mask(available), count, **options))) == taken


def test_too_few() -> None:
    with pytest.raises(ManagerError) as error:
        take_packed(CpuTopology(cpus(1, 1, 2, 2)), mask("0-2"), 4)
    assert error.value.text == "not enough cpus available to satisfy request: requested=4, available=3"


@pytest.mark.parametrize(
    ("shape", "available", "count", "share", "taken"),
    [
        pytest.param((2, 1, 8, 1), "0-15", 6, Share(1), "0-5", id="one node is enough"),
        pytest.param((2, 1, 8, 1), "0-15", 10, Share(1), "0-4,8-12", id="even shares of two"),
        pytest.param((2, 2, 4, 2), "0-31", 12, Share(2), "0-2,4-6,16-18,20-22", id="whole cores"),
        pytest.param((2, 2, 4, 1), "0-1,4-7,8-10,12-15", 9, Share(1), "4-6,8-10,12-14", id="three nodes evenly"),
        pytest.param((2, 2, 4, 1), "0,4-15", 6, Share(1), "4-6,8-10", id="1.36 does not look at sockets"),
        pytest.param((2, 2, 4, 1), "0,4-15", 6, Share(1, one_socket=True, capped=True), "8-10,12-14",
                     id="1.37 with align-by-socket stays in one"),
        pytest.param((2, 3, 4, 1), "0-2,5-8,10-12,14-18,20,22-23", 11, Share(1), "0-2,5-8,10-11,20,22",
                     id="the best combination of four nodes is overwritten by its sibling"),
        pytest.param((2, 3, 4, 1), "1-3,5-7,9-12,14-16,18-19,23", 10, Share(1), "1-2,9-10,12,14-16,18-19",
                     id="so are nodes that give the rest"),
    ],
)  # fmt: skip
def test_distributed(shape: Shape, available: str, count: int, share: Share, taken: str) -> None:
    assert str(CpuSet(take_distributed(CpuTopology(cpus(*shape)), mask(available), count, share))) == taken


def test_the_real_code_never_ends_where_what_is_left_belongs_to_no_whole_core() -> None:
    """Single threads are free beside reserved or used ones, and full-pcpus-only hands out whole cores."""
    topology = CpuTopology(cpus(2, 2, 3, 2))
    with pytest.raises(KubeletStops):
        take_distributed(topology, mask("3-7,9-10,13-14,16-22"), 14, Share(2))
