"""How the answers of Koordinator and HAMi look: who decides, the answer, why, what would be better."""

from __future__ import annotations

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.best import best
from gputopo.allocate.decider import Decision
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

DECIDES = Decision("Koordinator", "schedulerName is koord-scheduler")


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
    assumed = (Assumed(f"{answer.mechanism} {answer.version}"), *map(Assumed.of, answer.assumptions))
    found = best(topology, state.free, size)
    return render(blocks(answer, state, DECIDES, found, assumed=assumed, quiet=quiet), Style())


def koordinator(honor: bool = False) -> Koordinator:
    seen = devices_of(node())
    return Koordinator(seen.ways, seen.gpus, table=HOPPER, table_from="built in for H100", honor=honor)


def test_a_partition() -> None:
    assert shown(koordinator(), 2, "GPU0") == (
        "DECIDES   Koordinator: schedulerName is koord-scheduler\n"
        "nvidia.com/gpu: 2 on a17   free: socket PKG0 -> 1 2 3   socket PKG1 -> 4 5 6 7\n"
        "\n"
        "ANSWER    {2,3}\n"
        "WHY       partition table: built in for H100, Prefer\n"
        "          what stays whole (10000 x 8, 100 x 4, 1 x 2, times allocationScore): {2,3} 102, {4,5} 2,\n"
        "          {6,7} 2; of equals the first listed\n"
        "COST      GPU-GPU  weakest pair NODE\n"
        "BETTER    nothing now\n"
        "\n"
        "ASSUMED   koordinator a7a1b76 (2026-07-24)\n"
        "          no reservation, no preemption, no NUMA policy of Koordinator on this node\n"
        "more      -o json | gputopo allocate device-plugin\n"
    )


def test_a_refusal_names_the_best_of_what_is_free() -> None:
    text = shown(koordinator(honor=True), 3)
    assert "ANSWER    refused: Unschedulable\n          node(s) Unsupported number of GPU requests\n" in text
    assert "BEST      of the free GPUs: {0,1,2} {0,1,3} {0,2,3} {1,2,3} {4,5,6} {4,5,7} and 2 more as good\n" in text


def test_sets_that_cross_and_a_better_one() -> None:
    hami = Hami(of_node(node()).gpus, Pod(Policy("spread")))
    text = shown(hami, 2, "GPU4", "GPU5", "GPU6")
    assert (
        "ANSWER    one of 4 sets, and every one crosses sockets (1+1)\n          {0,7}   {1,7}   {2,7}   {3,7}\n"
    ) in text
    assert "BETTER    free and better, but never given: {0,1} {0,2} {0,3} {1,2} {1,3} {2,3}\n" in text
    assert (
        "DECIDES   Koordinator: schedulerName is koord-scheduler\n"
        "          hypothetical: what follows is what HAMi would do if it decided\n"
    ) in text


def test_quiet_is_the_answer_alone() -> None:
    last = shown(koordinator(), 8, quiet=True).splitlines()[-1]
    assert last == "ANSWER    {0,1,2,3,4,5,6,7}   crosses sockets"
