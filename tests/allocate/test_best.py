"""Better and best, in the order of the contract; families."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.best import Judge, best, islands
from gputopo.allocate.families import compress
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Islands
from tests.allocate.nodes import node, two_sockets

L = PathLevel
IDS = tuple(f"GPU{n}" for n in range(8))


def test_more_nvlinks_of_the_weakest_pair_are_better_than_any_pcie_level() -> None:
    made = node(4, lambda a, b: (L.PIX,) if (a, b) == (0, 1) else (L.NODE,), {(2, 3): 1})
    assert Judge(made).better(("GPU2", "GPU3"), ("GPU0", "GPU1")) is True
    assert Judge(made).better(("GPU0", "GPU1"), ("GPU2", "GPU3")) is False


def test_a_tie_is_not_better() -> None:
    assert Judge(node(8, two_sockets)).better(IDS[:2], IDS[4:6]) is False


def test_then_fewer_sockets() -> None:
    flat = node(8, lambda a, b: (L.SYS,))
    assert Judge(flat).better(IDS[:4], ("GPU0", "GPU1", "GPU2", "GPU4")) is True


def test_then_fewer_pairs_at_the_weakest_level() -> None:
    made = node(4, lambda a, b: (L.PIX,) if (a, b) == (0, 1) else (L.PXB,), socket=lambda gpu: 0)
    assert Judge(made).better(("GPU0", "GPU1", "GPU2"), ("GPU0", "GPU2", "GPU3")) is True


def test_an_open_level_that_matters_leaves_it_open() -> None:
    made = node(4, lambda a, b: (L.PIX, L.PXB) if (a, b) == (0, 1) else (L.PXB,), socket=lambda gpu: 0)
    assert Judge(made).better(("GPU0", "GPU1"), ("GPU2", "GPU3")) is None
    found = best(made, IDS[:4], 2)
    assert found is not None
    assert found.decided is False


def test_the_best_sets_of_a_two_socket_node() -> None:
    found = best(node(8, two_sockets), IDS[1:], 4, required=("GPU7",))
    assert found is not None
    assert (found.sets, found.decided) == ((IDS[4:],), True)
    assert best(node(8, two_sockets), IDS, 9) is None


def test_islands_kept_and_broken() -> None:
    made = node(8, two_sockets)._replace(islands=Islands(nvlink=(IDS[:4], IDS[4:6])))
    assert islands(made, ("GPU0", "GPU1")) == ((IDS[:4],), ())
    assert islands(made, ("GPU0", "GPU4", "GPU5")) == ((IDS[4:6],), (IDS[:4],))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.sampled_from(list(combinations("ABCDE", 2)) + list(combinations("ABCDE", 3))), min_size=1))
def test_families_hold_exactly_the_sets(sets: set[tuple[str, ...]]) -> None:
    made = [tuple(sorted(one)) for family in compress(sorted(sets)) for one in family.members()]
    assert len(made) == len(sets)
    assert set(made) == sets
