"""When the kubelet does not start, in its own words; the order of the checks; what a release knows."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.allocate.kubelet.machine import Machine
from gputopo.allocate.kubelet.releases import ALPHA, BETA, STABLE, Release, parse
from gputopo.allocate.kubelet.startup import Refused, Settings, kubelet
from tests.allocate.kubelet.machines import GIB, cpus, machine

TEN = Machine(tuple(range(10)), cpus(2, 1, 2, 1), {})
STATIC = {"cpu_policy": "static", "reserved_cpus": 1}


def refusal(on: Machine, release: int = 36, **settings: Any) -> list[str]:
    with pytest.raises(Refused) as error:
        kubelet(Settings(Release(release), **settings), on, {})
    return list(error.value.messages)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "best-effort"}, "unsupported on machines with more than 8 NUMA Nodes"),
        ({"policy": "best-effort", "options": {"max-allowable-numa-nodes": "9"}},
         "unsupported on machines with more than 9 NUMA Nodes"),
        ({"policy": "restricted", "options": {"max-allowable-numa-nodes": "7"}},
         'the minimum value of "max-allowable-numa-nodes" should not be less than 8'),
        ({"policy": "restricted", "options": {"max-allowable-numa-nodes": "x"}},
         'unable to convert policy option to integer "max-allowable-numa-nodes": '
         'strconv.Atoi: parsing "x": invalid syntax'),
        ({"policy": "restricted", "options": {"prefer-closest-numa-nodes": "maybe"}},
         'bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "maybe": invalid syntax'),
        ({"policy": "restricted", "options": {"nope": "true"}}, 'unknown Topology Manager Policy option: "nope"'),
        ({"policy": "restricted", "options": {"prefer-closest-numa-nodes": "true"}},
         "cannot discover NUMA topology: error getting NUMA distances from cadvisor"),
        ({"policy": "strict", "options": {"max-allowable-numa-nodes": "16"}}, 'unknown policy: "strict"'),
        ({"policy": "restricted", "scope": "node", "options": {"max-allowable-numa-nodes": "16"}},
         'unknown scope: "node"'),
    ],
)  # fmt: skip
def test_topology_manager(settings: dict[str, Any], message: str) -> None:
    assert refusal(TEN, **settings) == [message]


def test_policy_none_looks_at_no_option_scope_or_count() -> None:
    settings = Settings(Release(36), "none", "anything", {"nope": "x"})
    assert kubelet(settings, TEN, {})[0].policy == "none"


def test_of_several_bad_options_any_can_be_named() -> None:
    assert len(refusal(TEN, policy="restricted", options={"nope": "1", "nor": "2"})) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cpu_policy": "dynamic"}, 'unknown policy: "dynamic"'),
        ({"cpu_policy": "static"},
         "[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"),
        (STATIC | {"cpu_options": {"align-by-socket": "true"}},
         "new static policy error: CPU Manager Policy Alpha-level Options not enabled, but option "
         '"align-by-socket" provided'),
        (STATIC | {"cpu_options": {"full": "true"}},
         'new static policy error: unknown CPU Manager Policy option: "full"'),
        (STATIC | {"cpu_options": {"prefer-align-cpus-by-uncorecache": "1", "distribute-cpus-across-numa": "1"}},
         "new static policy error: static policy options prefer-align-cpus-by-uncorecache and "
         "distribute-cpus-across-numa can not be used at the same time"),
        (STATIC | {"policy": "single-numa-node", "cpu_options": {"align-by-socket": "true"},
                   "feature_gates": {"CPUManagerPolicyAlphaOptions": True}},
         "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager "
         "align-by-socket policy option"),
        ({"memory_policy": "Static"}, "[memorymanager] you should specify the system reserved memory"),
        ({"memory_policy": "Static", "reserved_memory": {7: {"memory": GIB}}},
         "the reserved memory configuration references a NUMA node 7 that does not exist on this machine"),
    ],
)  # fmt: skip
def test_cpu_and_memory_manager(settings: dict[str, Any], message: str) -> None:
    assert refusal(machine(cores=4), **settings) == [message]


def test_reserved_cpus_without_a_list_are_the_lowest_cores() -> None:
    made, state = kubelet(Settings(Release(36), cpu_policy="static", reserved_count=2), machine(cores=4), {})
    assert made.cpus is not None
    assert made.cpus.reserved == 1 | 1 << 8
    assert state.cpus is not None
    assert state.cpus.shared == (1 << 16) - 1


def test_strict_cpu_reservation_takes_the_reserved_ones_out_of_the_shared_pool() -> None:
    options = {"cpu_options": {"strict-cpu-reservation": "true"}}
    _, state = kubelet(Settings(Release(36), **STATIC, **options), machine(cores=4), {})
    assert state.cpus is not None
    assert state.cpus.shared == (1 << 16) - 2


@pytest.mark.parametrize(
    ("option", "levels"),
    [
        ("full-pcpus-only", {31: BETA, 32: BETA, 33: STABLE}),
        ("distribute-cpus-across-numa", {32: ALPHA, 33: BETA, 37: BETA}),
        ("align-by-socket", {32: ALPHA, 37: ALPHA}),
        ("strict-cpu-reservation", {31: None, 32: ALPHA, 33: BETA, 34: BETA, 35: STABLE}),
        ("prefer-align-cpus-by-uncorecache", {31: None, 33: ALPHA, 34: BETA, 35: BETA, 36: STABLE}),
    ],
)
def test_levels_of_cpu_manager_options(option: str, levels: dict[int, str | None]) -> None:
    assert {minor: Release(minor).cpu_option(option) for minor in levels} == levels


@pytest.mark.parametrize(("text", "minor"), [("1.36", 36), ("v1.35.4", 35), ("1.36.2-gke.1", 36)])
def test_versions(text: str, minor: int) -> None:
    assert parse(text) == Release(minor)


@pytest.mark.parametrize("text", ["", "36", "2.1", "1.x", "newest"])
def test_what_is_no_version(text: str) -> None:
    assert parse(text) is None
