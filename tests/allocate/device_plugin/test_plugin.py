"""The plugin on a node: what the evidence leaves open, shared devices, refusals, versions."""

from __future__ import annotations

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.device_plugin.config import PluginConfig, Refused, Shared, Sharing
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.device_plugin.report import report
from gputopo.allocate.device_plugin.units import offered
from gputopo.allocate.device_plugin.why import sentences
from gputopo.allocate.request import Request
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Link, NodeTopology, NvLinks, Observed
from tests.allocate.nodes import Mig, node, two_sockets

L = PathLevel
SWITCHED = node(8, two_sockets, {(a, b): 18 for a in range(8) for b in range(a + 1, 8)}, via_switch=True)
SHARED = PluginConfig(sharing=Sharing("time-slicing", (Shared("nvidia.com/gpu", 4),)))


def ask(
    of: NodeTopology, size: int, in_use: tuple[str, ...] = (), required: tuple[str, ...] = (), **plugin: object
) -> Answer:
    own = DevicePlugin(**plugin)  # type: ignore[arg-type]
    return own.answer(own.state(of, in_use=in_use), Request(size, required))


def sets(answer: Answer) -> set[tuple[str, ...]]:
    return {tuple(gpu.removeprefix("GPU") for gpu in one.gpus) for one in answer.outcomes}


def test_nvswitch_links_count_nothing() -> None:
    answer = ask(SWITCHED, 4)
    assert sets(answer) == {("0", "1", "2", "3"), ("4", "5", "6", "7")}
    assert {one.score for one in answer.outcomes} == {120}
    assert answer.outcomes_complete
    assert {pair.score for pair in answer.scores} == {10, 20}


def test_two_taken_gpus_make_every_set_of_four_cross() -> None:
    answer = ask(SWITCHED, 4, ("GPU0", "GPU6"))
    assert sets(answer) == {tuple("1234"), tuple("1235"), tuple("1237"), tuple("1457"), tuple("2457"), tuple("3457")}
    assert {one.score for one in answer.outcomes} == {90}
    assert all(one.cross_package for one in answer.outcomes)


def test_direct_links_are_added_to_the_pcie_level() -> None:
    bridged = node(4, lambda a, b: (L.NODE,), {(0, 1): 4, (2, 3): 4})
    answer = ask(bridged, 2)
    assert sets(answer) == {("0", "1"), ("2", "3")}
    assert {one.score for one in answer.outcomes} == {420}
    assert dict(answer.scores[0].terms) == {"NODE": 20, "NVLink x4": 400}


def test_an_open_level_gives_the_sets_of_each_possibility_and_no_score() -> None:
    hidden = node(4, lambda a, b: (L.PIX, L.PXB) if (a, b) in ((0, 1), (2, 3)) else (L.SYS,))
    own = DevicePlugin()
    answer = ask(hidden, 2)
    assert sets(answer) == {("0", "1"), ("2", "3")}
    assert [one.score for one in answer.outcomes] == [None, None]
    said = sentences(report(own, own.state(hidden), Request(2)))
    assert any("4 possibilities give 3 different answers" in line for line in said)
    assert any("topo -mp" in line for line in said)


def test_links_of_open_kind_are_cables_or_into_a_switch_all_together() -> None:
    open_kind = node(4, lambda a, b: (L.NODE,), {(0, 1): 4, (0, 2): 4, (1, 3): 4, (2, 3): 4}, via_switch=None)
    assert sets(ask(open_kind, 2)) == {("0", "1"), ("0", "2"), ("1", "3"), ("2", "3"), ("0", "3"), ("1", "2")}


def test_unknown_nvlinks_are_taken_as_none_and_said() -> None:
    answer = ask(node(4, two_sockets, {(0, 1): None}), 2)
    assert any("NVLinks" in note.text for note in answer.assumptions)


@pytest.mark.parametrize(("version", "score"), [("v0.14.2", 1220), ("v0.19.3", 1820), ("v0.20.0", 1820)])
def test_older_releases_count_fewer_links(version: str, score: int) -> None:
    answer = ask(node(2, lambda a, b: (L.NODE,), {(0, 1): 18}), 2, version=version)
    assert [one.score for one in answer.outcomes] == [score]


def listing(forward: int, backward: int) -> NodeTopology:
    """Two GPUs whose links are listed: so many from GPU0 to GPU1, so many back."""
    made = node(3, lambda a, b: (L.NODE,), {(0, 1): None})
    links = [
        tuple(Link(at, "active", None, peer, "gpu") for at in range(count))
        or (Link(0, "inactive", None, None, None),)
        for count, peer in ((forward, "GPU1"), (backward, "GPU0"), (0, ""))
    ]  # fmt: skip
    gpus = [gpu._replace(links=own, nvlinks=NvLinks(len(own), 18, "direct")) for gpu, own in zip(made.gpus, links)]
    return made._replace(gpus=tuple(gpus))


def test_links_on_one_side_only_kill_the_plugin_unless_one_gpu_is_asked_for() -> None:
    answer = ask(listing(4, 0), 2)
    assert (answer.admitted, answer.reason) == (False, "UnexpectedAdmissionError")
    assert "bidirectional" in (answer.message or "")
    assert ask(listing(4, 0), 1).admitted
    assert ask(listing(4, 0), 2, ("GPU1",)).admitted


def test_links_that_differ_count_from_the_gpu_that_comes_first() -> None:
    first = ask(listing(4, 1), 2, ("GPU2",), ordered=("GPU0", "GPU1"))
    last = ask(listing(4, 1), 2, ("GPU2",), ordered=("GPU1", "GPU0"))
    own = DevicePlugin(ordered=("GPU1", "GPU0"))
    found = own.look(own.state(listing(4, 1), in_use=("GPU2",)), Request(2))
    assert first.admitted
    assert last.admitted
    assert found.variants[0].scores == [[0, 120], [420, 0]]


def test_one_lost_gpu_fails_every_request() -> None:
    lost = SWITCHED._replace(observations=(Observed("gpu-lost", ("GPU5",), "GPU is lost", "nvml", None),))
    answer = ask(lost, 1)
    assert (answer.admitted, answer.reason) == (False, "UnexpectedAdmissionError")
    assert any("GPU5" in line for line in answer.why)
    assert ask(lost, 1, config=SHARED).admitted  # greedyAlloc asks NVML nothing


def test_releases_that_mistake_an_empty_list_leave_it_to_the_kubelet() -> None:
    answer = ask(SWITCHED, 2, version="v0.14.5")
    assert [(family.choose, family.ways) for family in answer.families] == [(2, 28)]
    assert sets(ask(SWITCHED, 8, version="v0.14.5")) == {tuple("01234567")}


def test_too_many_is_refused_in_the_kubelets_words() -> None:
    answer = ask(SWITCHED, 8, ("GPU0",))
    assert answer.admitted is False
    assert "Requested: 8, Available: 7" in (answer.message or "")


def test_replicas_go_to_the_least_allocated_gpu() -> None:
    own = DevicePlugin(SHARED)
    state = own.state(node(2, lambda a, b: (L.NODE,)), in_use=("GPU0::0", "GPU0::1", "GPU1::3"))
    answer = own.answer(state, Request(1))
    assert (answer.unit, [one.devices for one in answer.outcomes]) == ("replica", [("GPU1",)])
    after = own.step(state, Request(1, owner="pod"), answer.outcomes[0])
    assert after.held[0].devices == ("GPU1::0",)


def test_mps_gives_one_replica_at_a_time() -> None:
    sharing = Sharing("mps", (Shared("nvidia.com/gpu", 2),), fail_requests_above_one=True)
    answer = ask(SWITCHED, 2, config=PluginConfig(sharing=sharing))
    assert "maximum request size for shared resources is 1; found 2" in (answer.message or "")


def with_mig(*profiles: tuple[str, ...]) -> NodeTopology:
    made = node(len(profiles), lambda a, b: (L.SYS,))
    return made._replace(gpus=tuple(
        gpu._replace(mig=tuple(Mig(f"MIG-{gpu.id}-{at}", name, number=at) for at, name in enumerate(names)))
        for gpu, names in zip(made.gpus, profiles)
    ))  # fmt: skip


def test_mig_devices_by_strategy() -> None:
    cut = with_mig(("1g.10gb", "1g.10gb+me"), ())
    assert offered(cut, PluginConfig()) == {"nvidia.com/gpu": ("GPU0", "GPU1")}
    assert offered(cut, PluginConfig("mixed")) == {
        "nvidia.com/gpu": ("GPU1",),
        "nvidia.com/mig-1g.10gb": ("MIG-GPU0-0",),
        "nvidia.com/mig-1g.10gb.me": ("MIG-GPU0-1",),
    }
    with pytest.raises(Refused, match="same migEnabled value"):
        offered(cut, PluginConfig("single"))
    with pytest.raises(Refused, match="more than one MIG device type"):
        offered(with_mig(("1g.10gb", "2g.20gb")), PluginConfig("single"))


def test_two_mig_devices_are_any_two() -> None:
    answer = ask(with_mig(("1g.10gb", "1g.10gb"), ("1g.10gb", "1g.10gb")), 2, config=PluginConfig("single"))
    assert (answer.unit, len(answer.outcomes)) == ("mig", 6)
    assert {one.gpus for one in answer.outcomes} == {("GPU0",), ("GPU1",), ("GPU0", "GPU1")}


def test_more_sets_than_are_listed_are_families() -> None:
    flat = node(16, lambda a, b: (L.PIX,))
    answer = ask(flat, 4)
    assert (answer.outcomes, answer.outcomes_complete) == ((), False)
    assert [(family.choose, family.ways) for family in answer.families] == [(4, 1820)]


def test_freeing_one_gpu_is_tried_by_running_the_simulator_again() -> None:
    own = DevicePlugin()
    made = report(own, own.state(SWITCHED, in_use=("GPU0", "GPU6")), Request(4))
    assert [(one.unit, one.sets, one.scores) for one in made.remedies] == [
        ("GPU0", (("GPU0", "GPU1", "GPU2", "GPU3"),), (120,)),
        ("GPU6", (("GPU4", "GPU5", "GPU6", "GPU7"),), (120,)),
    ]
    assert [(way.shape, way.left, way.total, way.sets, way.wins) for way in made.ways] == [
        ((3, 1), (2, 0), 110, 6, True),
        ((2, 2), (1, 1), 90, 9, False),
    ]
    assert made.better is False


def test_the_best_set_that_the_plugin_misses_is_named() -> None:
    # Three in a row: 1-2 is the best pair, but the plugin cuts {0,1} {2,3}.
    chain = node(4, lambda a, b: (L.NODE,), {(0, 1): 3, (1, 2): 4, (2, 3): 3})
    own = DevicePlugin()
    made = report(own, own.state(chain), Request(2))
    assert sets(made.answer) == {("0", "1"), ("2", "3")}
    assert made.best is not None
    assert (made.best.sets, made.better) == ((("GPU1", "GPU2"),), True)


def test_renumbering_the_gpus_renumbers_the_answer() -> None:
    order = (5, 2, 7, 0, 4, 1, 6, 3)  # new number n was old number order[n]
    renumbered = node(8, lambda a, b: two_sockets(*sorted((order[a], order[b]))), socket=lambda gpu: order[gpu] // 4)
    plain = node(8, two_sockets)
    for size in (2, 3, 4, 5):
        old = {frozenset(one.gpus) for one in ask(plain, size, ("GPU0",)).outcomes}
        new = ask(renumbered, size, (f"GPU{order.index(0)}",)).outcomes
        assert {frozenset(f"GPU{order[int(gpu[3:])]}" for gpu in one.gpus) for one in new} == old
