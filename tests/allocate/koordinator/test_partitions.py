"""Which partition of a table is taken; values worked out by hand from the algorithm."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gputopo.allocate.koordinator.devices import mask
from gputopo.allocate.koordinator.partitions import (
    HOPPER,
    INSUFFICIENT,
    NO_TABLE,
    UNSUPPORTED,
    Partition,
    Table,
    built_in,
    index,
    left_over,
    pick,
)

ALL = 0xFF


def minors(used: tuple[int, ...], size: int, table: Table = HOPPER, **more: object) -> tuple[int, ...] | str:
    found = pick(index(table), size, mask(used), ALL, **more)  # type: ignore[arg-type]
    return found.partition.minors if found.partition is not None else found.refusal


@pytest.mark.parametrize(
    ("used", "size", "expected"),
    [
        ((), 8, (0, 1, 2, 3, 4, 5, 6, 7)),
        ((), 4, (0, 1, 2, 3)),
        ((0,), 4, (4, 5, 6, 7)),
        ((0,), 2, (2, 3)),  # keeps the half 4-7 whole
        ((0, 2), 2, (4, 5)),  # of the first half no pair is left
        ((0,), 1, (1,)),  # beside the one in use: 2-3, 4-5, 6-7 and 4-7 stay whole
        ((0, 1), 1, (2,)),
        ((4, 5, 6, 7), 1, (0,)),
        ((0, 4), 4, INSUFFICIENT),
        ((0, 2, 4, 6), 2, INSUFFICIENT),
        ((), 3, UNSUPPORTED),
    ],
)
def test_the_built_in_table(used: tuple[int, ...], size: int, expected: object) -> None:
    assert minors(used, size) == expected


def test_no_table() -> None:
    assert pick(None, 2, 0, ALL).refusal == NO_TABLE


def test_the_bin_pack_score_weighs_what_stays_whole() -> None:
    hopper = index(HOPPER)
    assert left_over(hopper, 1, mask([0])) == 100 * 1 + 1 * 3
    assert left_over(hopper, 2, mask([0, 1])) == 100 * 1 + 1 * 3
    assert left_over(hopper, 4, mask([0, 1, 2, 3])) == 100
    assert left_over(hopper, 1, 0) == 10000 + 200 + 4


SCORED: Table = {2: (Partition((0, 1), 1), Partition((2, 3), 3), Partition((4, 5), 3))}


def test_the_code_takes_the_lowest_allocation_score_the_documents_say_the_highest() -> None:
    assert minors((), 2, SCORED) == (0, 1)
    documented = pick(index(SCORED, highest_first=True), 2, 0, ALL)
    assert documented.partition is not None
    assert documented.partition.minors == (2, 3)


def test_best_effort_goes_on_to_the_next_score_and_restricted_does_not() -> None:
    assert minors((0,), 2, SCORED) == (2, 3)
    assert minors((0,), 2, SCORED, restricted=True) == INSUFFICIENT


def test_only_the_first_score_group_counts_for_bin_packing() -> None:
    table: Table = {
        1: (Partition((0,), 1), Partition((2,), 1)),
        2: (Partition((0, 1), 9), Partition((2, 3), 1)),
    }
    # (2,3) is the first group of size 2: taking 0 leaves it whole (1 x 1), taking 2 does not
    assert left_over(index(table), 1, mask([0])) == 1
    assert left_over(index(table), 1, mask([2])) == 0
    assert minors((), 1, table) == (0,)


def test_ring_bus_bandwidth_needs_a_partition_that_says_enough() -> None:
    table: Table = {2: (Partition((0, 1), 1), Partition((2, 3), 1, Fraction(100)), Partition((4, 5), 1, Fraction(400)))}
    assert minors((), 2, table) == (0, 1)
    assert minors((), 2, table, bandwidth=Fraction(200)) == (4, 5)
    assert minors((), 2, table, bandwidth=Fraction(100)) == (2, 3)
    assert minors((), 2, table, bandwidth=Fraction(401)) == INSUFFICIENT


def test_an_unhealthy_gpu_is_in_no_partition() -> None:
    found = pick(index(HOPPER), 4, used=0, total=mask([0, 1, 2, 4, 5, 6, 7]))
    assert found.partition is not None
    assert found.partition.minors == (4, 5, 6, 7)


def test_more_than_twelve_equal_partitions_are_no_longer_taken_in_the_order_of_the_table() -> None:
    """sort.Slice is not stable there; 16 equal elements keep their order since they look sorted."""
    table: Table = {1: tuple(Partition((minor,), 1) for minor in range(16))}
    found = pick(index(table), 1, 0, mask(range(16)))
    assert found.partition is not None
    assert found.partition.minors == (0,)


@pytest.mark.parametrize(
    ("labels", "there"),
    [
        ({"gpu-model": "H100"}, True),
        ({"gpu-model": "H800", "gpu-vendor": "nvidia"}, True),
        ({"gpu-model": "H20", "gpu-vendor": ""}, True),
        ({"gpu-model": "H100-80GB-HBM3"}, False),
        ({"gpu-model": "A100"}, False),
        ({"gpu-model": "H100", "gpu-vendor": "huawei"}, False),
        ({}, False),
    ],
)
def test_for_which_labels_the_table_is_built_in(labels: dict[str, str], there: bool) -> None:
    found = built_in({f"node.koordinator.sh/{key}": value for key, value in labels.items()})
    assert (found is HOPPER) is there
