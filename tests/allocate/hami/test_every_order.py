"""Every order of the register annotation: equal to trying each of them."""

from __future__ import annotations

from itertools import permutations
from itertools import product as choices

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.hami import Gpu, Pod, Policy, Wanted, every, fit

POLICIES = (
    "spread",
    "binpack",
    "topology-aware",
    "mutex",
    "binpack,topology-aware",
    "numa,spread",
    "topology-aware,mutex",
)


def by_trying(gpus: list[Gpu], wanted: Wanted, pod: Pod, ways: list[dict[str, dict[str, int]]]) -> set[frozenset[str]]:
    found = set()
    for order in permutations(gpus):
        for scores in ways:
            chosen = fit(order, wanted, pod, scores).chosen
            if chosen is not None:
                found.add(frozenset(chosen))
    return found


@st.composite
def nodes(draw: st.DrawFn) -> tuple[list[Gpu], Wanted, Pod]:
    count = draw(st.integers(1, 5))
    gpus = [
        Gpu(
            f"g{at}",
            at,
            memory=100,
            numa=draw(st.integers(0, 1)),
            healthy=draw(st.integers(0, 5)) > 0,
            used=(used := draw(st.sampled_from([0, 0, 1]))),
            used_memory=20 * used,
            used_cores=20 * used,
        )
        for at in range(count)
    ]
    wanted = Wanted(draw(st.integers(1, count)), *draw(st.sampled_from([(0, 100, 100), (10, 101, 10)])))
    return gpus, wanted, Pod(Policy(draw(st.sampled_from(POLICIES)), draw(st.booleans())))


@settings(max_examples=80, deadline=None)
@given(nodes(), st.data())
def test_the_outcomes_are_those_of_all_orders(node: tuple[list[Gpu], Wanted, Pod], data: st.DataObject) -> None:
    gpus, wanted, pod = node
    ids = [gpu.id for gpu in gpus]
    ranges = {}
    scores: dict[str, dict[str, int]] = {}
    for at, a in enumerate(ids):
        for b in ids[at + 1 :]:
            value = data.draw(st.sampled_from([10, 20, 110]))
            ranges[frozenset((a, b))] = (value, value)
            scores.setdefault(a, {})[b] = scores.setdefault(b, {})[a] = value
    found = every(gpus, wanted, pod, ranges)
    assert {frozenset(one) for one in found.all()} == by_trying(gpus, wanted, pod, [scores])
    assert found.complete


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 4), st.data())
def test_undecided_scores_give_the_outcomes_of_every_value(count: int, data: st.DataObject) -> None:
    gpus = [Gpu(f"g{at}", at, memory=100, numa=data.draw(st.integers(0, 1))) for at in range(count)]
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count)]
    spans = [data.draw(st.sampled_from([(10, 10), (10, 20), (20, 20), (10, 110)])) for _ in pairs]
    ranges = {frozenset((f"g{a}", f"g{b}")): span for (a, b), span in zip(pairs, spans)}
    ways = []
    for values in choices(*(sorted(set(span)) for span in spans)):
        scores: dict[str, dict[str, int]] = {}
        for (a, b), value in zip(pairs, values):
            scores.setdefault(f"g{a}", {})[f"g{b}"] = scores.setdefault(f"g{b}", {})[f"g{a}"] = value
        ways.append(scores)
    wanted, pod = Wanted(data.draw(st.integers(1, count - 1))), Pod(Policy("topology-aware"))
    found = every(gpus, wanted, pod, ranges)
    assert {frozenset(one) for one in found.all()} == by_trying(gpus, wanted, pod, ways)


def test_equal_gpus_fill_the_last_place_in_every_way() -> None:
    gpus = [Gpu("a", memory=100, numa=1), *(Gpu(name, memory=100, numa=0) for name in "bcd")]
    found = every(gpus, Wanted(2), Pod(Policy("spread")), {})
    assert (found.forced, found.choose, found.of) == (("a",), 1, ("b", "c", "d"))


@pytest.mark.parametrize("size", [4, 8])
def test_sixteen_equal_gpus_are_answered_at_once(size: int) -> None:
    from math import comb

    gpus = [Gpu(f"g{at}", at, memory=100, numa=at // 8) for at in range(16)]
    found = every(gpus, Wanted(size), Pod(Policy("topology-aware")), {})
    # numa is the tie-breaker, so the second half stands at the end of the list and is walked first
    assert len(found.all()) == comb(8, size)
