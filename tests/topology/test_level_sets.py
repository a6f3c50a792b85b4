"""Levels behind NV#: what third devices decide, and what convicts a matrix."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.terms.path_level import LEVELS, PathLevel
from gputopo.topology.level_sets import ANY, levels, narrow, of, support, violations


def table(size: int, said: dict[tuple[int, int], str | None]) -> list[list[int]]:
    masks = [[ANY] * size for _ in range(size)]
    for (a, b), level in said.items():
        masks[a][b] = masks[b][a] = ANY if level is None else of(level)
    return masks


def test_support_is_what_trying_every_level_gives() -> None:
    """The table is checked against the definition: of three levels the two largest are equal."""
    for first in range(1, ANY + 1):
        for second in range(1, ANY + 1):
            allowed = 0
            for level in LEVELS:
                for x in levels(first):
                    for y in levels(second):
                        _low, middle, high = sorted((level, x, y))
                        if middle == high:
                            allowed |= of(level)
            assert support(first, second) == allowed, (first, second)


def test_a_nic_near_one_gpu_and_far_from_the_other_decides_the_hidden_level() -> None:
    masks = table(3, {(0, 1): None, (0, 2): "PIX", (1, 2): "NODE"})
    narrowed, contradictions = narrow(masks, [(0, 1)])
    assert levels(narrowed[0, 1]) == (PathLevel.NODE,)
    assert not contradictions


def test_a_nic_at_the_same_level_to_both_only_bounds_it() -> None:
    masks = table(3, {(0, 1): None, (0, 2): "PXB", (1, 2): "PXB"})
    narrowed, _ = narrow(masks, [(0, 1)])
    assert levels(narrowed[0, 1]) == (PathLevel.PIX, PathLevel.PXB)


def test_two_nics_that_contradict_each_other_leave_no_level_and_are_no_basis() -> None:
    """One NIC forces SYS, the other forbids it; neither may decide anything else after that."""
    said: dict[tuple[int, int], str | None] = {
        (0, 1): None, (0, 2): "PIX", (1, 2): "SYS", (0, 3): "NODE", (1, 3): "NODE", (2, 3): "NODE",
        (0, 4): None, (1, 4): None, (2, 4): "NODE", (3, 4): None,
    }  # fmt: skip
    masks = table(5, said)
    narrowed, contradictions = narrow(masks, [(0, 1), (0, 4), (1, 4)])
    assert set(contradictions) == {(0, 1)}
    assert narrowed[0, 4] == ANY


@st.composite
def trees(draw: st.DrawFn) -> list[list[PathLevel]]:
    """A random ultrametric: every device has a path of choices, the first difference sets the level."""
    size = draw(st.integers(3, 9))
    paths = [tuple(draw(st.integers(0, 1)) for _ in range(len(LEVELS) - 1)) for _ in range(size)]
    matrix = [[LEVELS[0]] * size for _ in range(size)]
    for a, b in combinations(range(size), 2):
        first_difference = next((k for k, (x, y) in enumerate(zip(paths[a], paths[b])) if x != y), len(LEVELS) - 1)
        matrix[a][b] = matrix[b][a] = LEVELS[len(LEVELS) - 1 - first_difference]
    return matrix


@given(trees(), st.data())
@settings(max_examples=100, deadline=None)
def test_the_true_level_is_never_excluded(matrix: list[list[PathLevel]], data: st.DataObject) -> None:
    size = len(matrix)
    pairs = list(combinations(range(size), 2))
    hidden = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    masks = [[of(matrix[a][b]) for b in range(size)] for a in range(size)]
    for a, b in hidden:
        masks[a][b] = masks[b][a] = ANY
    assert not violations(masks)
    narrowed, contradictions = narrow(masks, hidden)
    assert not contradictions
    for a, b in hidden:
        assert of(matrix[a][b]) & narrowed[a, b]


@given(trees(), st.data())
@settings(max_examples=100, deadline=None)
def test_a_violation_is_found_exactly_when_some_triple_has_one(
    matrix: list[list[PathLevel]], data: st.DataObject
) -> None:
    size = len(matrix)
    a, b = data.draw(st.sampled_from(list(combinations(range(size), 2))))
    wrong = data.draw(st.sampled_from([level for level in LEVELS if level != matrix[a][b]]))
    masks = [[of(matrix[x][y]) for y in range(size)] for x in range(size)]
    masks[a][b] = masks[b][a] = of(wrong)
    definition = any(
        sorted((masks[x][y], masks[x][z], masks[y][z]))[1] != max(masks[x][y], masks[x][z], masks[y][z])
        for x, y, z in combinations(range(size), 3)
    )
    assert bool(violations(masks)) == definition
