"""Trees, NICs and joint allocation; values worked out by hand from the algorithm."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gputopo.allocate.koordinator.allocator import VIOLATION, Allocation, Rules, allocate
from gputopo.allocate.koordinator.demand import Demand, Nics, whole_gpus
from gputopo.allocate.koordinator.devices import CORE, RATIO, RDMA_SHARE, WHOLE_GPU, Device, Devices, Place
from gputopo.allocate.koordinator.partitions import HOPPER, INSUFFICIENT, NO_TABLE, UNSUPPORTED, index
from gputopo.allocate.koordinator.scopes import INSUFFICIENT as TOO_FEW
from gputopo.allocate.koordinator.scopes import INSUFFICIENT_SCOPED, NO_TREE, SHARED_SEVERAL, Wanted, least_allocated

NOTHING = Rules(None)


def node(roots: str, nics: str = "", used: tuple[int, ...] = (), per_numa: int = 2) -> Devices:
    """`aabb`: GPU 0 and 1 under root complex a, 2 and 3 under b; `per_numa` roots are on one NUMA node."""
    order = sorted(set(roots + nics))
    places = {root: Place(at // per_numa, f"pci0000:{at:02}") for at, root in enumerate(order)}
    gpus = [Device("gpu", at, WHOLE_GPU, places[root]) for at, root in enumerate(roots)]
    rdma = [Device("rdma", at, {RDMA_SHARE: Fraction(100)}, places[root]) for at, root in enumerate(nics)]
    return Devices((*gpus, *rdma), {("gpu", minor): WHOLE_GPU for minor in used})


def gpus(devices: Devices, size: int, rules: Rules = NOTHING, **more: object) -> tuple[int, ...] | str:
    demand = Demand(whole_gpus(size)._replace(scope=str(more.pop("scope", ""))), **more)  # type: ignore[arg-type]
    found = allocate(devices, rules, demand)
    return found.minors.get("gpu", ()) if not found.refusal else found.refusal


@pytest.mark.parametrize(
    ("used", "size", "expected"),
    [
        ((), 1, (0,)),
        ((), 2, (0, 1)),
        ((), 4, (0, 1, 2, 3)),
        ((), 3, (0, 1, 2)),
        ((0,), 1, (1,)),  # the fullest root complex
        ((2,), 1, (3,)),
        ((4,), 1, (5,)),
        ((0,), 2, (2, 3)),  # the rest of NUMA node 0, which is not empty
        ((4,), 2, (6, 7)),
        ((4,), 4, (0, 1, 2, 3)),
        ((0, 4), 4, (1, 2, 3, 5)),  # no NUMA node has 4: the lowest of the node
        ((0, 1, 2, 3), 5, TOO_FEW),
    ],
)
def test_the_smallest_scope_that_is_fullest(used: tuple[int, ...], size: int, expected: object) -> None:
    assert gpus(node("aabbccdd", used=used), size) == expected


@pytest.mark.parametrize(
    ("scope", "size", "expected"),
    [
        ("PCIe", 2, (0, 1)),
        ("PCIe", 3, INSUFFICIENT_SCOPED),
        ("NUMANode", 4, (0, 1, 2, 3)),
        ("NUMANode", 5, INSUFFICIENT_SCOPED),
        ("Node", 5, (0, 1, 2, 3, 4)),
        ("Device", 1, INSUFFICIENT_SCOPED),
    ],
)
def test_a_required_scope(scope: str, size: int, expected: object) -> None:
    assert gpus(node("aabbccdd"), size, scope=scope) == expected


def test_one_gpu_without_topology_takes_the_tree_from_all() -> None:
    devices = node("aabb", used=(0,))
    lame = devices._replace(all=(*devices.all[:3], devices.all[3]._replace(place=None)))
    assert gpus(lame, 2) == (1, 2)
    assert gpus(devices, 2) == (2, 3)
    assert gpus(lame, 2, scope="Node") == NO_TREE
    assert gpus(lame, 4) == "Insufficient gpu devices"


def test_honor_refuses_where_prefer_goes_on_with_the_tree() -> None:
    devices = node("aabbccdd", used=(0, 4))
    assert gpus(devices, 4, Rules(index(HOPPER), honor=True)) == INSUFFICIENT
    assert gpus(devices, 4, Rules(index(HOPPER))) == (1, 2, 3, 5)
    assert gpus(devices, 3, Rules(index(HOPPER), honor=True)) == UNSUPPORTED
    assert gpus(devices, 3, Rules(index(HOPPER))) == (1, 2, 3)
    assert gpus(devices, 4, NOTHING, honor=True) == NO_TABLE


def test_a_part_of_a_gpu_goes_where_most_stays_free_in_the_fullest_scope() -> None:
    devices = node("aabb")
    half = {CORE: Fraction(50), RATIO: Fraction(50)}
    demand = Demand(Wanted(1, half, shared=True))
    assert allocate(devices, Rules(index(HOPPER), honor=True), demand).minors == {"gpu": (0,)}
    busy = devices._replace(used={("gpu", 2): half})
    assert allocate(busy, NOTHING, demand).minors == {"gpu": (3,)}  # root b is not empty; of it 3 is freer
    assert allocate(devices, NOTHING, Demand(Wanted(2, half, shared=True, scope="Node"))).refusal == SHARED_SEVERAL


def test_least_allocated_is_the_mean_share_that_stays_free() -> None:
    total = {RATIO: Fraction(100), CORE: Fraction(100), "koordinator.sh/gpu-memory": Fraction(1000)}
    free = {RATIO: Fraction(80), CORE: Fraction(80), "koordinator.sh/gpu-memory": Fraction(501)}
    # ratio: 100-20-30 = 50; memory: nothing asked of it, 50.1 stays, rounded down; core has no weight
    assert least_allocated({RATIO: Fraction(30)}, total, free) == (50 + 50) // 2


def joint(devices: Devices, size: int, nics: int = 1, same: bool = True, types: str = "gpu rdma") -> Allocation:
    wanted = Nics(nics, {RDMA_SHARE: Fraction(1)})
    return allocate(devices, NOTHING, Demand(whole_gpus(size), nics=wanted, joint=tuple(types.split()), same_pcie=same))


def test_same_pcie_gives_a_nic_on_every_root_complex_of_the_gpus() -> None:
    found = joint(node("aabbccdd", "abcd"), 4)
    assert found.minors == {"gpu": (0, 1, 2, 3), "rdma": (0, 1)}


def test_the_nic_follows_the_gpus() -> None:
    found = joint(node("aabbccdd", "abcd", used=(0, 1, 2)), 2)
    assert found.minors == {"gpu": (4, 5), "rdma": (2,)}


def test_same_pcie_is_refused_where_a_root_complex_has_no_nic() -> None:
    assert joint(node("aabbccdd", "acd"), 4).refusal == VIOLATION
    assert joint(node("aabbccdd", "acd"), 4, same=False).minors["rdma"] == (0, 1)


def test_same_pcie_is_refused_where_more_nics_are_asked_than_root_complexes_are_used() -> None:
    assert joint(node("aabbccdd", "abcd"), 2, nics=2).refusal == VIOLATION


def test_the_second_nic_of_a_root_complex_comes_after_the_first_of_every_other() -> None:
    found = joint(node("aabb", "aaab"), 4, nics=2)
    assert found.minors["rdma"] == (0, 3)
    assert joint(node("aabb", "aaab"), 4, nics=3).minors["rdma"] == (0, 3, 1)


def test_without_joint_allocation_the_nic_is_the_lowest() -> None:
    demand = Demand(whole_gpus(2), nics=Nics(1, {RDMA_SHARE: Fraction(1)}))
    found = allocate(node("aabbccdd", "abcd", used=(0, 1, 2, 3)), NOTHING, demand)
    assert found.minors == {"gpu": (4, 5), "rdma": (0,)}


def test_a_virtual_function_is_the_first_that_is_free() -> None:
    devices = node("aa", "a")
    nic = devices.all[2]._replace(functions=(({"type": "general"}, ("0000:19:00.2", "0000:19:00.1")),))
    devices = devices._replace(all=(*devices.all[:2], nic), used_functions=frozenset({"0000:19:00.1"}))
    wanted = Nics(1, {RDMA_SHARE: Fraction(1)}, functions={"type": "general"})
    demand = Demand(whole_gpus(1), nics=wanted, joint=("gpu", "rdma"))
    assert allocate(devices, NOTHING, demand).functions == ("0000:19:00.2",)
    other = demand._replace(nics=wanted._replace(functions={"type": "fastest"}))
    assert allocate(devices, NOTHING, other).refusal == "Insufficient rdma devices"


def test_a_node_without_nics() -> None:
    assert joint(node("aabb"), 2).refusal == "Insufficient rdma devices"


def test_a_gpu_in_part_scores_as_upstream_with_free_and_total_swapped() -> None:
    """scoreDevice gets free for total: 1 and 3 are half used, so both score 0 and the first is taken, not the freer."""
    memory = "koordinator.sh/gpu-memory"
    half = {CORE: Fraction(50), RATIO: Fraction(50), memory: Fraction(20)}
    devices = node("abcd", used=(0, 2))
    sized = [
        gpu._replace(total={**WHOLE_GPU, memory: Fraction(size)}) for gpu, size in zip(devices.all, (80, 40, 80, 80))
    ]
    devices = Devices(tuple(sized), {**devices.used, ("gpu", 1): half, ("gpu", 3): half})
    found = allocate(devices, NOTHING, Demand(Wanted(1, {CORE: Fraction(30), memory: Fraction(8)}, shared=True)))
    assert found.minors == {"gpu": (1,)}


def test_with_a_selector_of_any_kind_an_unhealthy_gpu_no_longer_counts_as_used() -> None:
    devices = node("aabb", used=(3,))
    sick = devices._replace(all=(*devices.all[:3], devices.all[3]._replace(total={})))
    assert gpus(sick, 1) == (2,)  # beside the used one
    assert gpus(sick, 1, has_selector=True) == (0,)


def test_both_words_are_kept_where_map_order_decides_which_is_said() -> None:
    demand = Demand(whole_gpus(3), nics=Nics(5, {RDMA_SHARE: Fraction(1)}))
    found = allocate(node("aa", "a"), NOTHING, demand)
    assert {found.refusal, found.or_refusal} == {TOO_FEW, "Insufficient rdma devices"}
