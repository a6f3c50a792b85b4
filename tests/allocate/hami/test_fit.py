"""HAMi's choice for one container: the facts of upstream's unit tests, values worked out by hand."""

from __future__ import annotations

import pytest

from gputopo.allocate.hami import Gpu, Pod, Policy, Wanted, fit
from gputopo.allocate.hami.fit import best_of, fit_ordered
from gputopo.allocate.hami.order import ordered, score

SHARE = Wanted(1, memory=100, percent=101, cores=10)  # a small part of a GPU


def gpu(id: str, numa: int = 0, used: int = 0, **more: object) -> Gpu:
    """As in upstream's tests: 10 slots, 8 GiB; `used` containers hold 1000 MiB and 10 % each."""
    values = {"memory": 8192, "used": used, "used_memory": 1000 * used, "used_cores": 10 * used} | more
    return Gpu(id, numa=numa, **values)  # type: ignore[arg-type]


def pod(policy: str = "spread", bind: bool = False, **annotations: str) -> Pod:
    return Pod(Policy(policy, bind), {key.replace("_", "/", 1).replace("_", "-"): v for key, v in annotations.items()})


def test_numa_bind_keeps_a_numa_node_together_where_spread_alone_would_interleave() -> None:
    gpus = [gpu("a", 0, used=2), gpu("b", 0), gpu("c", 1, used=1)]
    two = SHARE._replace(number=2)
    assert [one.id for one in ordered(gpus, Policy("spread"), two)] == ["a", "c", "b"]
    assert [one.id for one in ordered(gpus, Policy("spread", True), two)] == ["a", "b", "c"]
    assert fit(gpus, two, pod("spread", bind=True)).chosen == ("b", "a")


def test_numa_bind_on_a_list_that_is_not_grouped_fails() -> None:
    gpus = [gpu("a", 0), gpu("c", 1), gpu("b", 0)]
    assert fit_ordered(gpus, SHARE._replace(number=2), pod(bind=True)).chosen is None


def test_spread_takes_the_idlest_wherever_it_is() -> None:
    gpus = [gpu("p", 0), gpu("q", 1, used=3), gpu("r", 1, used=2)]
    assert fit(gpus, SHARE, pod("spread")).chosen == ("p",)
    assert fit(gpus, SHARE, pod("binpack")).chosen == ("q",)


def test_equal_gpus_are_taken_from_the_end_of_the_register_list() -> None:
    gpus = [gpu(name) for name in "abcd"]
    assert fit(gpus, Wanted(2), pod("spread")).chosen == ("d", "c")
    assert fit(gpus[::-1], Wanted(2), pod("spread")).chosen == ("a", "b")


def test_numa_bind_fails_where_no_numa_node_has_enough() -> None:
    gpus = [gpu("a", 0), gpu("b", 0), gpu("c", 1)]
    assert fit(gpus, Wanted(3), pod(bind=True)).chosen is None
    assert fit(gpus, Wanted(3), pod()).chosen == ("c", "b", "a")


def test_binpack_with_numa_bind_walks_the_numa_nodes_upwards_and_spread_downwards() -> None:
    gpus = [gpu("a", 0), gpu("b", 1)]
    assert fit(gpus, SHARE, pod("binpack", bind=True)).chosen == ("a",)
    assert fit(gpus, SHARE, pod("spread", bind=True)).chosen == ("b",)


def test_all_cores_means_nobody_else() -> None:
    gpus = [gpu("a"), gpu("b", used=1)]
    assert fit(gpus, Wanted(1), pod("binpack")).chosen == ("a",)
    refused = fit([gpu("b", used=1)], Wanted(1, memory=100, percent=101), pod())
    assert refused.reason == "1/1 CardInsufficientCore"
    idle_cores = gpu("b", used=1, used_cores=0)
    assert fit([idle_cores], Wanted(1, memory=100, percent=101), pod()).reason == "1/1 ExclusiveDeviceAllocateConflict"


def test_mutex_takes_idle_gpus_only() -> None:
    gpus = [gpu("a"), gpu("b", used=1)]
    assert fit(gpus, SHARE, pod("mutex")).chosen == ("a",)
    assert fit(gpus, SHARE._replace(number=2), pod("mutex")).reason == (
        "1/2 AllocatedCardsInsufficientRequest, 1/2 ExclusiveDeviceAllocateConflict"
    )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"healthy": False}, "CardNotHealth"),
        ({"slots": 1, "used": 1}, "CardTimeSlicingExhausted"),
        ({"used_memory": 8100}, "CardInsufficientMemory"),
        ({"used_cores": 95}, "CardInsufficientCore"),
        ({"type": "NVIDIA-NVIDIA A10"}, "CardTypeMismatch"),
        ({"id": "other"}, "CardUuidMismatch"),
    ],
)
def test_what_rules_a_gpu_out(change: dict[str, object], reason: str) -> None:
    annotations = {"nvidia.com/use-gputype": "h100", "nvidia.com/use-gpuuuid": "a, b"}
    good = gpu("a", type="NVIDIA-NVIDIA H100 80GB HBM3")
    asked = Pod(Policy("spread"), annotations)
    assert fit([good], SHARE, asked).chosen == ("a",)
    assert fit([good._replace(**change)], SHARE, asked).reason == f"1/1 {reason}"  # type: ignore[arg-type]


def test_a_cordoned_gpu_is_left_out() -> None:
    found = fit([gpu("a"), gpu("b")], SHARE, Pod(Policy("spread"), {}, frozenset({"b"})))
    assert found.chosen == ("a",)


def test_no_core_is_left_for_a_request_without_cores_on_a_full_gpu() -> None:
    assert (
        fit([gpu("a", used=1, used_cores=100)], Wanted(1, 100, 101, 0), pod()).reason == "1/1 CardComputeUnitsExhausted"
    )


def test_more_gpus_than_the_node_has() -> None:
    assert fit([gpu("a")], Wanted(2), pod()).reason == "NodeInsufficientDevice"


def pairs(text: str) -> dict[str, dict[str, int]]:
    """`ab 5, bc 7`: symmetric scores."""
    found: dict[str, dict[str, int]] = {}
    for part in text.split(","):
        (a, b), value = part.split()
        found.setdefault(a, {})[b] = found.setdefault(b, {})[a] = int(value)
    return found


def test_topology_aware_takes_the_set_with_the_highest_sum() -> None:
    gpus = [gpu(name) for name in "abcd"]
    scores = pairs("ab 110, cd 210, ac 10, ad 10, bc 10, bd 10")
    assert set(fit(gpus, Wanted(2), pod("topology-aware"), scores).chosen or ()) == {"c", "d"}


def test_topology_aware_takes_the_worst_connected_for_one() -> None:
    gpus = [gpu(name) for name in "abc"]
    assert fit(gpus, Wanted(1), pod("topology-aware"), pairs("ab 200, bc 100, ac 10")).chosen == ("c",)


def test_topology_aware_without_the_score_annotation_takes_the_first_in_the_search() -> None:
    gpus = [gpu(name) for name in "abcd"]
    assert fit(gpus, Wanted(2), pod("topology-aware")).chosen == ("d", "c")


def test_topology_aware_with_numa_bind_sees_only_the_numa_node_walked_last() -> None:
    gpus = [gpu("a", 0), gpu("b", 0), gpu("c", 1), gpu("d", 1)]
    scores = pairs("ab 10, cd 210, ac 10, ad 10, bc 10, bd 10")
    assert set(fit(gpus, Wanted(2), pod("topology-aware", bind=True), scores).chosen or ()) == {"a", "b"}
    alone = [gpu("a", 0), gpu("c", 1), gpu("d", 1)]
    assert fit(alone, Wanted(2), pod("topology-aware", bind=True), scores).chosen is None


def test_the_score_of_a_pair_is_read_in_the_list_of_the_first() -> None:
    one_sided = {"a": {"b": 500}, "b": {"a": 0, "c": 100}, "c": {"b": 100, "a": 0}}
    assert best_of(["a", "b", "c"], 2, one_sided) == ("a", "b")
    assert best_of(["c", "b", "a"], 2, one_sided) == ("c", "b")


def test_negative_scores_do_not_win_by_default() -> None:
    assert best_of(["a", "b", "c"], 2, pairs("ab -5, ac -3, bc -9")) == ("a", "c")


def test_the_score_counts_what_is_used_and_not_what_is_asked() -> None:
    used = gpu("a", used=1, memory=10000, type="NVIDIA-NVIDIA H100")
    assert score(used, SHARE) == pytest.approx(10 * (0.1 + 0.1 + 0.1))
    assert score(used._replace(type="NVIDIA"), SHARE) == pytest.approx(10 * (0.2 + 0.2 + 0.11))


def test_a_chain_of_policies_ends_with_the_index() -> None:
    gpus = [gpu("a", 1, number=0), gpu("b", 0, number=1), gpu("c", 0, number=2)]
    assert [one.id for one in ordered(gpus, Policy("numa,binpack"), SHARE)] == ["b", "c", "a"]
    assert [one.id for one in ordered(gpus, Policy("mutex,topology-aware"), SHARE)] == ["a", "b", "c"]
