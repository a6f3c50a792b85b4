"""The report of many nodes as a value: what is counted, in which order, which exit code; tables of parts of a fleet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gputopo.fleet.admission import Judged, Report, Unreadable, in_order
from gputopo.fleet.alike import Member, alike, merge
from gputopo.fleet.verdict import Verdict
from tests.reports.test_junit import FINE, OPEN, REFUSED, SPLIT, shape

NEARER = shape("9", Verdict("fine", ("in one socket; {0,1} would be nearer",), nearer=True))


def report(*shapes: Judged) -> Report:
    return Report("kubelet", "v1.36", None, None, None, shapes, (Unreadable("x", "y"),))


@pytest.mark.parametrize(
    ("shapes", "codes"),
    [
        ((), {"error": 2, "warning": 2, "info": 2, "never": 2}),
        ((FINE,), {"error": 0, "warning": 0, "info": 0, "never": 0}),
        ((FINE, NEARER), {"error": 0, "warning": 0, "info": 1, "never": 0}),
        ((FINE, SPLIT), {"error": 0, "warning": 1, "info": 1, "never": 0}),
        ((FINE, REFUSED), {"error": 1, "warning": 1, "info": 1, "never": 0}),
        ((FINE, OPEN), {"error": 3, "warning": 3, "info": 3, "never": 3}),
        ((OPEN, SPLIT), {"error": 3, "warning": 1, "info": 1, "never": 3}),
        ((OPEN, REFUSED), {"error": 1, "warning": 1, "info": 1, "never": 3}),
    ],
)
def test_exit_codes(shapes: tuple[Judged, ...], codes: dict[str, int]) -> None:
    assert {fail_on: report(*shapes).exit_code(fail_on) for fail_on in codes} == codes


def test_the_worst_stands_first() -> None:
    few = FINE._replace(key="few", members=FINE.members[:1])
    assert [one.key for one in in_order([few, FINE, OPEN, SPLIT, REFUSED])] == ["1", "2", "3", "4", "few"]


def test_shapes_and_nodes_are_counted() -> None:
    made = report(FINE, NEARER, SPLIT)
    assert [made.tally(word) for word in ("fine", "split", "refused")] == [(2, 200), (1, 100), (0, 0)]
    assert made.nodes == 300


@given(some.lists(some.sampled_from("abc"), max_size=12), some.lists(some.integers(0, 2), min_size=12, max_size=12))
def test_parts_of_a_fleet_in_any_order_make_the_table_of_the_whole(forms: list[str], part_of: list[int]) -> None:
    nodes = [((form,), Member(at, f"{at}.txt", None)) for at, form in enumerate(forms)]
    whole = alike(nodes)
    parts = [alike([one for one, part in zip(nodes, part_of) if part == number]) for number in range(3)]
    assert merge(merge(parts[0], parts[1]), parts[2]) == whole
    assert merge(parts[2], merge(parts[1], parts[0])) == whole
    assert list(merge(parts[2], merge(parts[1], parts[0]))) == list(whole)
