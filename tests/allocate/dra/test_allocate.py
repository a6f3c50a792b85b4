"""The structured allocator: first fit with backtracking, its constraints, and its defects by release."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.allocate.dra import features
from gputopo.allocate.dra.allocate import attempt
from gputopo.allocate.dra.behaviour import Behaviour, of
from gputopo.allocate.dra.orders import outcomes
from tests.allocate.dra.worlds import HOW, claim, device, different, request, same, selectors, slice_, world

EVERY = [device(f"d{n}", numa=n // 2, root=f"r{n}") for n in range(4)]
MIG = [device("whole", parent="a", consumesCounters=[{"counterSet": "a", "counters": {"slices": {"value": "4"}}}]),
       *(device(f"part{n}", parent="a", consumesCounters=[{"counterSet": "a", "counters": {"slices": {"value": "2"}}}])
         for n in range(2))]  # fmt: skip
COUNTERS = [{"name": "a", "counters": {"slices": {"value": "4"}}}]


def names(slices: Any, claims: Any, *held: str, how: Behaviour = HOW) -> list[str] | None:
    """The devices in order; `None`: not satisfiable."""
    found = attempt(world(slices, claims, *held), selectors(how), how)
    assert found.failure is None, found.failure
    return [id.rpartition("/")[2] for _, id in found.devices] if found.satisfied else None


@pytest.mark.parametrize(
    ("says", "requests", "constraints", "held", "expected"),
    [
        ("the first in the order of the slice", [request("a", 2)], [], [], ["d0", "d1"]),
        ("one in use is passed over", [request("a", 2)], [], ["d0"], ["d1", "d2"]),
        ("more than there are", [request("a", 5)], [], [], None),
        ("one NUMA node", [request("a", 2)], [same("numa")], ["d1"], ["d2", "d3"]),
        ("every device has its own root", [request("a", 2)], [same("root")], [], None),
        ("an attribute nobody has refuses even one device", [request("a", 1)], [same("nvlinkDomain")], [], None),
        ("different NUMA nodes", [request("a", 2)], [different("numa")], [], ["d0", "d2"]),
        ("the second request makes the first go back", [request("a"), request("b", 2)],
         [same("numa", "a", "b"), different("root")], ["d0"], None),
        ("a constraint of one request leaves the other alone", [request("a", 2), request("b", 2)],
         [same("numa", "b")], [], ["d0", "d1", "d2", "d3"]),
        ("all of them", [request("a", allocationMode="All")], [], [], ["d0", "d1", "d2", "d3"]),
        ("All is refused where one is in use", [request("a", allocationMode="All")], [], ["d3"], None),
        ("an empty claim gets nothing", [], [], [], []),
    ],
)  # fmt: skip
def test_which_devices(says: str, requests: Any, constraints: Any, held: Any, expected: Any) -> None:
    assert names([slice_("s", EVERY)], [claim("c", requests, *constraints)], *held) == expected, says


def test_the_search_goes_back_over_claims() -> None:
    """The first claim first takes both free devices of NUMA node 0, which the second needs."""
    zero = [{"cel": {"expression": "device.attributes['drv.example.com'].numa == 0"}}]
    near = claim("near", [request("x", 2, selectors=zero)])
    pair = claim("two", [request("a", 2)], same("numa"))
    assert names([slice_("s", EVERY)], [pair, near]) == ["d2", "d3", "d0", "d1"]


def test_a_list_takes_its_first_subrequest_that_leads_to_a_solution() -> None:
    wanted = [{"name": name, "deviceClassName": "any", "count": count} for name, count in (("four", 4), ("two", 2))]
    asked = claim("c", [{"name": "g", "firstAvailable": wanted}], same("numa", "g/four"))
    found = attempt(world([slice_("s", EVERY)], [asked]), selectors(), HOW)
    assert [request for request, _ in found.devices] == ["c g/two", "c g/two"]


def test_distinct_attribute_remembers_one_value_a_request_until_1_36_and_all_from_1_37() -> None:
    slices = [slice_("s", [device("a", numa=0), device("b", numa=1), device("c", numa=0)])]
    asked = [claim("c", [request("r", 3)], different("numa"))]
    assert names(slices, asked) == ["a", "b", "c"]
    assert names(slices, asked, how=of((1, 37))) is None


def test_distinct_attribute_compares_nothing_in_1_34() -> None:
    slices = [slice_("s", [device("a", numa=0), device("b", numa=0)])]
    asked = [claim("c", [request("r", 2)], different("numa"))]
    how = of((1, 34), features.known((1, 34)) - {features.CAPACITY})
    assert names(slices, asked, how=how) == ["a", "b"]
    assert names(slices, asked) is None


def test_a_rejected_device_keeps_its_counters_up_to_1_36_2() -> None:
    """`whole` is rejected by its taint after its counters were reserved; then nothing is left for the parts."""
    devices = [MIG[0] | {"taints": [{"key": "x", "effect": "NoSchedule"}]}, *MIG[1:]]
    slices = [slice_("c", [], slices=2, sharedCounters=COUNTERS), slice_("s", devices, slices=2)]
    asked = [claim("c", [request("r", 2)])]
    assert names(slices, asked) == ["part0", "part1"]
    assert names(slices, asked, how=of((1, 36, 2))) is None


def test_counters_that_others_hold_are_gone() -> None:
    slices = [slice_("c", [], slices=2, sharedCounters=COUNTERS), slice_("s", MIG, slices=2)]
    assert names(slices, [claim("c", [request("r")])], "part0") == ["part1"]
    assert names(slices, [claim("c", [request("r")])], "whole") is None


def test_an_incomplete_pool_gives_nothing_from_1_35_on_and_all_says_so() -> None:
    slices = [slice_("s", EVERY, slices=2)]
    assert names(slices, [claim("c", [request("r")])]) is None
    assert names(slices, [claim("c", [request("r")])], how=of((1, 34))) == ["d0"]
    failure = attempt(world(slices, [claim("c", [request("r", allocationMode="All")])]), selectors(), HOW).failure
    says = "asks for all devices, but resource pool drv.example.com/p is currently being updated"
    assert str(failure) == f"claim c, request r: {says}"


def test_the_newest_generation_alone_counts() -> None:
    slices = [slice_("old", [device("old")], generation=1), slice_("new", [device("new")], generation=2)]
    assert names(slices, [claim("c", [request("r")])]) == ["new"]


def test_pools_are_sorted_from_1_36_on_and_random_before() -> None:
    slices = [slice_("s1", [device("d")], pool="b"), slice_("s2", [device("d")], pool="a")]
    asked = world(slices, [claim("c", [request("r")])])
    assert attempt(asked, selectors(), HOW).devices == (("c r", "drv.example.com/a/d"),)
    old = of((1, 35))
    found = outcomes(asked, selectors(old), old)
    assert {one.devices[0][1] for one in found.attempts} == {"drv.example.com/a/d", "drv.example.com/b/d"}
    assert found.complete


def test_a_failing_selector_ends_the_attempt_only_when_it_is_reached() -> None:
    devices = [device("a", model="x"), device("b")]
    asks = [{"cel": {"expression": "device.attributes['drv.example.com'].model == 'x'"}}]
    assert names([slice_("s", devices)], [claim("c", [request("r", selectors=asks)])]) == ["a"]
    both = attempt(world([slice_("s", devices)], [claim("c", [request("r", 2, selectors=asks)])]), selectors(), HOW)
    assert str(both.failure) == "claim c: selector #0: CEL runtime error: no such key: model"
    assert both.satisfied is False


def test_a_shared_device_is_divided_by_its_policy() -> None:
    policy = {"default": "4Gi", "validRange": {"min": "4Gi", "step": "2Gi"}}
    shared = device("a", allowMultipleAllocations=True, capacity={"memory": {"value": "10Gi", "requestPolicy": policy}})
    asked = [claim("c", [request("x", capacity={"requests": {"memory": "5Gi"}}), request("y")])]
    found = attempt(world([slice_("s", [shared])], asked), selectors(), HOW)
    assert [one.consumed for one in found.results[0].given] == [{"memory": "6Gi"}, {"memory": "4Gi"}]
    more = [claim("c", [request("x", capacity={"requests": {"memory": "5Gi"}}), request("y"), request("z")])]
    assert attempt(world([slice_("s", [shared])], more), selectors(), HOW).satisfied is False


@pytest.mark.parametrize(
    ("effect", "tolerations", "expected"),
    [
        ("NoSchedule", [], None),
        ("NoExecute", [], None),
        ("None", [], ["a"]),
        ("NoSchedule", [{"operator": "Exists"}], ["a"]),
        ("NoSchedule", [{"key": "k", "value": "v"}], ["a"]),
        ("NoSchedule", [{"key": "k", "value": "w"}], None),
        ("NoSchedule", [{"key": "k", "operator": "Exists", "effect": "NoExecute"}], None),
    ],
)
def test_taints_and_what_tolerates_them(effect: str, tolerations: Any, expected: Any) -> None:
    slices = [slice_("s", [device("a", taints=[{"key": "k", "value": "v", "effect": effect}])])]
    assert names(slices, [claim("c", [request("r", tolerations=tolerations)])]) == expected


def test_the_limit_of_32_devices_a_claim() -> None:
    slices = [slice_("s", [device(f"d{n}") for n in range(40)])]
    assert len(names(slices, [claim("c", [request("r", 32)])]) or ()) == 32
    failure = attempt(world(slices, [claim("c", [request("r", 33)])]), selectors(), HOW).failure
    assert str(failure) == "claim c: number of requested devices 33 exceeds the claim limit of 32"


def test_gates_that_are_off_refuse_what_needs_them() -> None:
    how = of((1, 36, 3), frozenset())
    slices = [slice_("s", [device("a")])]
    admin = attempt(world(slices, [claim("c", [request("r", adminAccess=True)])]), selectors(how), how)
    assert admin.failure is not None
    assert admin.failure.kind == "feature-off"
    tainted = [slice_("s", [device("a", taints=[{"key": "k", "effect": "NoSchedule"}])])]
    assert names(tainted, [claim("c", [request("r")])], how=how) == ["a"]
    assert names([slice_("s", MIG)], [claim("c", [request("r")])], how=how) is None


def test_admin_access_ignores_what_is_in_use() -> None:
    slices = [slice_("s", [device("a")])]
    assert names(slices, [claim("c", [request("r", adminAccess=True)])], "a") == ["a"]
    assert names(slices, [claim("c", [request("r")])], "a") is None


def test_1_34_looks_at_the_wrong_device_and_panics_where_there_is_none() -> None:
    how = of((1, 34), features.known((1, 34)))
    slices = [slice_("s1", [device("a")], slices=2), slice_("s2", [device("b")], slices=2)]
    failure = attempt(world(slices, [claim("c", [request("r", 2)])]), selectors(how), how).failure
    assert failure is not None
    assert failure.kind == "crash"
