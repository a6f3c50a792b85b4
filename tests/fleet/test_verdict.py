"""Fine, split, refused or undecided, from an answer and a node."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.outcome import Family, Outcome, Viewer
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.fleet.verdict import Asked, Verdict, judge
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Islands, NodeTopology, Observed, Source
from tests.allocate.nodes import node, two_sockets

EIGHT = node(8, two_sockets)
ONE, OTHER, ACROSS = ("GPU0", "GPU1"), ("GPU4", "GPU7"), ("GPU0", "GPU4")


def answer(*sets: tuple[str, ...], on: NodeTopology = EIGHT, size: int = 2, **more: Any) -> Answer:
    viewer = Viewer(on)
    outcomes = tuple(viewer.outcome(one) for one in sets)
    return Answer("kubelet", "v1.36", "gpu", Request(size), **{"admitted": True, "outcomes": outcomes, **more})


def state(on: NodeTopology = EIGHT, *held: str) -> State:
    return State.of(on, tuple(gpu.id for gpu in on.gpus), held)


def told(said: Answer, where: State | None = None, **more: Any) -> Verdict:
    return judge(Asked(said, where or state(), **more))


def test_sets_in_one_socket_are_fine() -> None:
    found = told(answer(ONE, OTHER))
    assert (found.verdict, found.why) == ("fine", ("one of 2 sets, in one socket",))
    assert (found.nearer, found.sets, found.worse) == (False, 2, 0)


def test_a_set_that_crosses_though_a_better_one_was_free_is_split() -> None:
    found = told(answer(ACROSS))
    assert (found.verdict, found.often, found.worse) == ("split", "always", 1)
    assert found.why == ("{0,4} crosses sockets (1+1); {0,1} is free and better (always)",)
    mixed = told(answer(ONE, ACROSS))
    assert (mixed.verdict, mixed.often) == ("split", "sometimes")
    assert "(1 of 2 possible sets)" in mixed.why[0]


def test_a_set_that_must_cross_is_fine() -> None:
    every = tuple(gpu.id for gpu in EIGHT.gpus)
    assert told(answer(every, size=8)).verdict == "fine"
    left = state(EIGHT, "GPU1", "GPU2", "GPU3", "GPU5", "GPU6", "GPU7")
    found = told(answer(ACROSS), left)
    assert (found.verdict, found.why) == ("fine", ("{0,4}, over 2 sockets, and no better set of 2 is free",))


def test_an_nvlink_island_that_is_left_or_broken_is_split() -> None:
    pairs = {(at, at + 1): 4 for at in (0, 2, 4, 6)}
    bridged = node(8, two_sockets, pairs)._replace(
        islands=Islands(nvlink=tuple((f"GPU{at}", f"GPU{at + 1}") for at in (0, 2, 4, 6)))
    )
    found = told(answer(("GPU1", "GPU2"), on=bridged), state(bridged))
    assert (found.verdict, found.why[0].split(";")[0]) == ("split", "{1,2} leaves an NVLink island")
    four = told(answer(("GPU0", "GPU1", "GPU2", "GPU4"), on=bridged, size=4), state(bridged))
    assert four.why[0].startswith("{0,1,2,4} crosses sockets and breaks an NVLink island (3+1)")


def test_a_nearer_set_in_the_same_socket_is_worth_a_word() -> None:
    near = node(4, lambda a, b: (PathLevel.PIX if (a, b) == (0, 1) else PathLevel.NODE,), socket=lambda gpu: 0)
    found = told(answer(("GPU0", "GPU2"), on=near), state(near))
    assert (found.verdict, found.nearer) == ("fine", True)
    assert found.why == ("{0,2}, in one socket; {0,1} (PIX) would be nearer than {0,2} (NODE)",)


def test_numa_nodes_count_where_sockets_are_not_known() -> None:
    bare = EIGHT._replace(gpus=tuple(gpu._replace(packages=None) for gpu in EIGHT.gpus), packages=None)
    found = told(answer(ACROSS, on=bare), state(bare))
    assert (found.verdict, "crosses NUMA nodes (1+1)" in found.why[0]) == ("split", True)


def test_nvlinks_between_all_are_said_to_carry_the_traffic() -> None:
    fabric = node(8, two_sockets, {(a, b): 18 for a in range(8) for b in range(a + 1, 8)}, via_switch=True)
    fabric = fabric._replace(islands=Islands(nvlink=(tuple(gpu.id for gpu in fabric.gpus),)))
    found = told(answer(ACROSS, on=fabric), state(fabric))
    assert found.verdict == "split"
    assert found.why[1].startswith("NVLinks join every pair of it")


def test_refusals_in_upstream_s_words_and_the_numbers() -> None:
    refused = answer(admitted=False, reason="TopologyAffinityError", message="Resources cannot", why=("no hint",))
    assert told(refused)[:3] == ("refused", ("TopologyAffinityError: no hint", "Resources cannot"), "always")
    nine = answer(admitted=False, size=9, reason="UnexpectedAdmissionError", message="m")
    assert told(nine).why[0] == "not enough: 9 asked for, the node has 8"
    assert told(nine._replace(request=Request(4)), state(EIGHT, *ONE, *OTHER, "GPU2")).why[0] == (
        "not enough: 4 asked for, 3 of 8 are free"
    )
    stays = answer(admitted=False, message="unknown policy", why=("the kubelet does not start",))
    assert told(stays).why == ("the kubelet does not start: unknown policy",)


def test_too_few_in_evidence_that_may_hide_some_is_undecided() -> None:
    nine = answer(admitted=False, size=9, reason="UnexpectedAdmissionError", message="m")
    for more, says in (
        ({"view": "container"}, "it is a container's view"),
        ({"observations": (Observed("row-missing", ("GPU8",), "no row", "s", 1),)}, "rows of the matrix are missing"),
        ({"sources": (Source("s", "topo.txt", "nvidia-smi-topo", "", False),)}, "a source of it is not whole"),
    ):
        found = told(nine, state(EIGHT._replace(**more)))
        why = f"9 asked for, 8 in this evidence, which may not show every GPU: {says}"
        assert (found.verdict, found.why) == ("undecided", (why,))
    held = state(EIGHT._replace(view="container"), "GPU0")
    assert told(nine._replace(request=Request(8)), held).verdict == "refused"
    none = told(nine, State(EIGHT, (), ()))
    assert none.why[0] == "not enough: 9 asked for, none of the node's 8 GPUs is offered"


def test_what_chance_can_refuse_is_refused_sometimes() -> None:
    by_chance = answer(ONE, admitted=None, reason="UnexpectedAdmissionError", why=("the plugin dies",))
    found = told(by_chance)
    assert (found.verdict, found.often) == ("refused", "sometimes")
    assert told(by_chance, chance=False).verdict == "undecided"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (answer(admitted=None, why=("the NUMA nodes are not known",)), "the NUMA nodes are not known"),
        (answer(ONE, outcomes_complete=False, why=("not decided: see",)), "not decided: see"),
        (answer(ONE, outcomes_complete=False), "sets other than the 1 judged are possible, too"),
    ],
)
def test_what_the_evidence_leaves_open_is_undecided(said: Answer, why: str) -> None:
    assert told(said)[:3] == ("undecided", (why,), None)


def test_a_level_that_is_open_leaves_the_verdict_open() -> None:
    def levels(a: int, b: int) -> tuple[PathLevel, ...]:
        return (PathLevel.PIX, PathLevel.SYS) if (a, b) == (2, 3) else (PathLevel.NODE,)

    either = node(4, levels, socket=lambda gpu: 0)
    found = told(answer(("GPU0", "GPU1"), on=either), state(either))
    assert (found.verdict, found.nearer) == ("undecided", None)
    assert found.why[0].startswith("the evidence leaves open whether a better set than {0,1} was free")


def test_readings_of_the_evidence_must_agree() -> None:
    said = answer(ONE, ACROSS)
    assert told(said, variants=((ONE,), (OTHER,))).verdict == "fine"
    assert told(said, variants=((ACROSS,), (ACROSS, ONE)))[::2][:2] == ("split", "sometimes")
    open_one = told(said, variants=((ONE,), (ACROSS,)))
    assert (open_one.verdict, open_one.why) == ("undecided", ("fine or split, by what the evidence leaves open",))
    assert told(said, open_evidence=True).verdict == "undecided"


def test_families_are_judged_member_by_member() -> None:
    several = (Family((), 2, ("GPU0", "GPU1", "GPU2")), Family((), 2, ("GPU4", "GPU5")))
    said = answer(outcomes_complete=False, families=several)
    assert told(said)[:2] == ("fine", ("one of 4 sets, in one socket",))
    both = told(said._replace(request=Request(4)), groups="all")
    assert (both.verdict, both.sets) == ("split", 3)
    assert told(said, groups="parts").verdict == "undecided"


def test_one_gpu_has_no_pair() -> None:
    assert told(answer(("GPU3",), size=1)).why == ("one GPU",)


def test_replicas_and_mig_devices_that_cross_though_one_socket_would_do() -> None:
    units = tuple(f"GPU{gpu}::{at}" for gpu in (0, 4) for at in (0, 1))
    where = State.of(EIGHT, units)
    viewer = Viewer(EIGHT)
    together, apart = viewer.outcome(("GPU0", "GPU0")), viewer.outcome(("GPU0", "GPU4"))
    said = answer()._replace(unit="replica", outcomes=(together,))
    assert told(said, where).verdict == "fine"
    found = told(said._replace(outcomes=(together, apart)), where)
    assert (found.verdict, found.often) == ("split", "sometimes")
    assert found.why == ("1 of 2 possible sets cross sockets, though 1 would do",)
    assert told(said._replace(request=Request(3), outcomes=(apart,)), where).verdict == "fine"


def test_slices_alone_say_what_they_say() -> None:
    def seen(cross: bool | None) -> Verdict:
        return judge(Asked(answer()._replace(outcomes=(Outcome((), (), cross_numa=cross),)), None))

    assert (seen(False).verdict, seen(True).verdict, seen(None).verdict) == ("fine", "undecided", "undecided")
