"""The merge against the real code's own way: every permutation, one comparison after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.kubelet.hints import ANY, IMPOSSIBLE, Hint, flatten, single_node_only
from gputopo.allocate.kubelet.merge import NumaInfo, best_hint, merge
from gputopo.allocate.kubelet.numa_mask import bits, mask_of, narrower

IDS = (0, 1, 3)
DISTANCES = {0: (10, 12, 99, 32), 1: (12, 10, 99, 20), 3: (32, 20, 99, 10)}
masks = st.one_of(st.none(), st.sampled_from([1, 2, 3, 8, 9, 10, 11]))
lists = st.lists(st.lists(st.builds(Hint, masks, st.booleans()), max_size=4), min_size=1, max_size=3)


def walked(numa: NumaInfo, given_lists: Sequence[Sequence[Hint]]) -> Hint:
    """policy.go, case by case."""
    narrowest = [[hint.mask.bit_count() for hint in hints if hint.mask is not None] for hints in given_lists]
    most = max((min(sizes) for sizes in narrowest if sizes), default=0)

    def average(mask: int) -> float:
        nodes = bits(mask)
        return sum(DISTANCES[a][b] for a in nodes for b in nodes) / len(nodes) ** 2

    def fitter(current: Hint, candidate: Hint) -> Hint:
        a, b = current.mask or 0, candidate.mask or 0
        if a == b:
            return current
        if numa.closest and a.bit_count() == b.bit_count():
            if average(a) != average(b):
                return current if average(a) < average(b) else candidate
            return current if a < b else candidate
        return current if narrower(a, b) else candidate

    def compare(current: Hint | None, candidate: Hint) -> Hint | None:
        if not candidate.mask:
            return current
        if current is None:
            return candidate
        if current.preferred != candidate.preferred:
            return candidate if candidate.preferred else current
        if current.preferred:
            return fitter(current, candidate)
        size, other = (current.mask or 0).bit_count(), candidate.mask.bit_count()
        if size > most:
            return fitter(current, candidate)
        if size == most:
            return current if other != most else fitter(current, candidate)
        if other > most:
            return current
        if other == most or other > size:
            return candidate
        return current if other < size else fitter(current, candidate)

    best = None
    for permutation in product(*given_lists):
        set_masks = [hint.mask for hint in permutation if hint.mask is not None]
        mask = mask_of(numa.ids)
        for one in set_masks:
            mask &= one
        same = all(one == set_masks[0] for one in set_masks)
        best = compare(best, Hint(mask, same and all(hint.preferred for hint in permutation)))
    return best or Hint(mask_of(numa.ids), False)


@settings(max_examples=100, deadline=None)
@given(lists, st.booleans())
def test_the_best_distinct_hint_is_that_of_all_permutations(given_lists: list[list[Hint]], closest: bool) -> None:
    numa = NumaInfo(IDS, DISTANCES, closest)
    assert best_hint(numa, given_lists) == walked(numa, given_lists)


@settings(max_examples=50, deadline=None)
@given(lists)
def test_the_order_of_the_lists_does_not_matter(given_lists: list[list[Hint]]) -> None:
    numa = NumaInfo(IDS, DISTANCES)
    assert best_hint(numa, given_lists) == best_hint(numa, given_lists[::-1])


def test_flattening_tells_nothing_to_say_from_impossible() -> None:
    hints = (Hint(1, True),)
    assert flatten([None, {}, {"a": None}, {"b": ()}, {"c": hints}]) == [(ANY,), (ANY,), (ANY,), (IMPOSSIBLE,), hints]


def test_single_numa_node_keeps_preferred_hints_of_one_node_and_no_preference() -> None:
    given_lists = [(Hint(1, True), Hint(2, False), Hint(3, True), ANY, IMPOSSIBLE)]
    assert single_node_only(given_lists) == [(Hint(1, True), ANY)]


TWO = NumaInfo((0, 1), {})
BOTH = {"gpu": (Hint(3, True),)}
ONE = {"cpu": (Hint(1, True), Hint(2, True), Hint(3, False))}


@pytest.mark.parametrize(
    ("policy", "hint", "admit"),
    [
        ("none", Hint(None, False), True),
        ("best-effort", Hint(3, False), True),
        ("restricted", Hint(3, False), False),
        ("single-numa-node", Hint(None, False), False),
    ],
)
def test_gpus_on_both_nodes_beside_cpus_on_one(policy: str, hint: Hint, admit: bool) -> None:
    assert merge(TWO, policy, [BOTH, ONE, None]) == (hint, admit)


def test_on_a_machine_of_one_node_single_numa_node_stores_any_node() -> None:
    assert merge(NumaInfo((0,), {}), "single-numa-node", [{"gpu": (Hint(1, True),)}]) == (Hint(None, True), True)


def test_prefer_closest_numa_nodes_takes_the_nearer_pair() -> None:
    pairs = {"gpu": (Hint(mask_of((0, 3)), True), Hint(mask_of((1, 3)), True))}
    assert merge(NumaInfo(IDS, DISTANCES), "best-effort", [pairs]).hint.mask == mask_of((0, 3))
    assert merge(NumaInfo(IDS, DISTANCES, closest=True), "best-effort", [pairs]).hint.mask == mask_of((1, 3))
