"""How the answers of Koordinator and HAMi look: who decides, the answer, why, what would be better."""

from __future__ import annotations

from gputopo.allocate.best import best
from gputopo.allocate.hami import Hami, Pod, Policy
from gputopo.allocate.hami.from_node import of_node
from gputopo.allocate.koordinator import HOPPER, Koordinator
from gputopo.allocate.koordinator.from_node import devices_of
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.reports.style import Style
from gputopo.reports.text import render
from gputopo.reports.views.allocate_scheduler import blocks
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Gpu, NodeTopology, Pair

DECIDES = "Koordinator decides: schedulerName is koord-scheduler"


def node() -> NodeTopology:
    """Eight GPUs without NVLink, four a NUMA node."""
    gpus = tuple(Gpu(f"GPU{at}", minor=at, numa_nodes=(at // 4,), packages=(f"PKG{at // 4}",)) for at in range(8))
    pairs = []
    for a in range(8):
        for b in range(a + 1, 8):
            level = PathLevel.NODE if a // 4 == b // 4 else PathLevel.SYS
            far = a // 4 != b // 4
            pairs.append(Pair(f"GPU{a}", f"GPU{b}", level.name, level, nvlinks=0, cross_package=far, cross_numa=far))
    return NodeTopology(name="a17", gpus=gpus, pairs=tuple(pairs))


def shown(mechanism: Koordinator | Hami, size: int, *in_use: str, quiet: bool = False) -> str:
    topology = node()
    state = State.of(topology, tuple(gpu.id for gpu in topology.gpus), in_use)
    answer = mechanism.answer(state, Request(size))
    return render(blocks(answer, state, DECIDES, best(topology, state.free, size), quiet=quiet), Style())


def koordinator(honor: bool = False) -> Koordinator:
    seen = devices_of(node())
    return Koordinator(seen.ways, seen.gpus, table=HOPPER, table_from="built in for H100", honor=honor)


def test_a_partition() -> None:
    assert shown(koordinator(), 2, "GPU0") == (
        "DECIDES   Koordinator decides: schedulerName is koord-scheduler\n"
        "nvidia.com/gpu: 2 on a17   free: 1 2 3 4 5 6 7\n"
        "\n"
        "ANSWER    only {2 3}\n"
        "WHY       partition table: built in for H100, Prefer\n"
        "          what stays whole (10000 x 8, 100 x 4, 1 x 2, times allocationScore): {GPU2 GPU3} 102,\n"
        "          {GPU4 GPU5} 2, {GPU6 GPU7} 2; of equals the first listed\n"
        "COST      GPU-GPU  weakest pair NODE\n"
        "BETTER    nothing now\n"
        "\n"
        "ASSUMED   the algorithm of koordinator a7a1b76 (2026-07-24)\n"
        "          no reservation, no preemption, no NUMA policy of Koordinator on this node\n"
    )


def test_a_refusal_names_the_best_of_what_is_free() -> None:
    text = shown(koordinator(honor=True), 3)
    assert "ANSWER    refused: Unschedulable\n          node(s) Unsupported number of GPU requests\n" in text
    assert "BEST      of the free GPUs it would be {0 1 2} or {0 1 3} or {0 2 3}\n" in text


def test_sets_that_cross_and_a_better_one() -> None:
    hami = Hami(of_node(node()).gpus, Pod(Policy("spread")))
    text = shown(hami, 2, "GPU4", "GPU5", "GPU6")
    assert (
        "ANSWER    one of 4 sets; every one crosses NUMA nodes\n          {0 7}   {1 7}   {2 7}   {3 7}\n"
    ) in text
    assert "BETTER    {0 1} or {0 2} or {0 3} is free and better than 4 of these 4\n" in text


def test_quiet_is_the_answer_alone() -> None:
    last = shown(koordinator(), 8, quiet=True).splitlines()[-1]
    assert last == "ANSWER    only {0 1 2 3 4 5 6 7}, crossing NUMA nodes"
