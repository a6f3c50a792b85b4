"""HAMi behind the protocol, its annotations, and the scores it would annotate for a node."""

from __future__ import annotations

import json

import pytest

from gputopo.allocate.decider.asks import Container
from gputopo.allocate.hami import Hami, Pod, Policy, Wanted
from gputopo.allocate.hami.devices import Gpu, held, pair_scores, registered
from gputopo.allocate.hami.from_node import node_of, of_node, of_object, used_by
from gputopo.allocate.hami.pair_scores import of_node as scores_of
from gputopo.allocate.hami.request import named, numa_bound, of_container
from gputopo.allocate.request import Request
from gputopo.allocate.state import State
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.path_level import PathLevel
from gputopo.terms.quantity import quantity
from gputopo.topology.node import Gpu as NodeGpu
from gputopo.topology.node import NodeTopology, NvLinks, Pair

P = PathLevel


def eight(nvlinks: int = 0, via_switch: bool | None = None) -> NodeTopology:
    """Two NUMA nodes of four GPUs, 80 GiB each."""
    links = NvLinks(nvlinks, nvlinks, "switch" if via_switch else None) if nvlinks else None
    gpus = tuple(
        NodeGpu(
            f"GPU{at}", at, f"GPU-{at}", "NVIDIA H100", numa_nodes=(at // 4,), nvlinks=links, memory_bytes=80 * 2**30
        )
        for at in range(8)
    )
    pairs = tuple(
        Pair(f"GPU{a}", f"GPU{b}", pcie=P.NODE if a // 4 == b // 4 else P.SYS, nvlinks=nvlinks, via_switch=via_switch,
             cross_numa=a // 4 != b // 4)
        for a in range(8) for b in range(a + 1, 8)
    )  # fmt: skip
    return NodeTopology(name="n", gpus=gpus, pairs=pairs)


def hami(node: NodeTopology, policy: str = "spread", bind: bool = False, **more: object) -> Hami:
    at_hand = of_node(node)
    own = Hami(at_hand.gpus, Pod(Policy(policy, bind)), ranges=scores_of(node), assumptions=at_hand.assumptions)
    return own._replace(**more)  # type: ignore[arg-type]


def state(node: NodeTopology, *in_use: str) -> State:
    return State.of(node, tuple(gpu.id for gpu in node.gpus), in_use)


def sets(own: Hami, at: State, size: int) -> list[str]:
    return ["".join(gpu[-1] for gpu in one.devices) for one in own.answer(at, Request(size)).outcomes]


def test_equal_gpus_give_every_set_of_the_numa_node_walked_first() -> None:
    node = eight()
    assert sets(hami(node), state(node), 3) == ["456", "457", "467", "567"]
    assert sets(hami(node), state(node), 4) == ["4567"]
    assert sets(hami(node), state(node), 5) == ["04567", "14567", "24567", "34567"]


def test_numa_bind_refuses_what_no_numa_node_holds() -> None:
    node = eight()
    answer = hami(node, bind=True).answer(state(node), Request(5))
    assert (answer.admitted, answer.reason) == (False, "FilteringFailed")
    assert answer.message == "4/8 AllocatedCardsInsufficientRequest, 4/8 NumaNotFit"
    assert sets(hami(node, bind=True), state(node, "GPU6"), 4) == ["0123"]


def test_nvswitch_links_count_for_hami() -> None:
    node = eight(18, via_switch=True)
    answer = hami(node, "topology-aware").answer(state(node, "GPU4"), Request(2))
    assert {one.score for one in answer.outcomes} == {1820}
    assert answer.scores[0].terms == (("NODE", 20), ("NVLink x18", 1800))


def test_the_smaller_number_of_active_links_counts_through_a_switch() -> None:
    node = eight(18, via_switch=True)
    lame = node._replace(gpus=(node.gpus[0]._replace(nvlinks=NvLinks(16, 18, "switch")), *node.gpus[1:]))
    first = scores_of(lame)[0]
    assert (first.low, first.high) == (1620, 1620)


def test_an_undecided_level_makes_a_range() -> None:
    pair = Pair("GPU0", "GPU1", pcie_candidates=(P.PIX, P.NODE), nvlinks=2, via_switch=False)
    node = NodeTopology(gpus=(NodeGpu("GPU0"), NodeGpu("GPU1")), pairs=(pair,))
    (found,) = scores_of(node)
    assert (found.low, found.high, found.terms) == (220, 250, ())
    (unseen,) = scores_of(node._replace(pairs=()))
    assert (unseen.low, unseen.high) == (10, 1850)


def test_many_sets_are_a_family() -> None:
    gpus = tuple(NodeGpu(f"GPU{at}", at, numa_nodes=(0,)) for at in range(16))
    node = NodeTopology(gpus=gpus)
    answer = hami(node).answer(state(node), Request(8))
    assert answer.outcomes == ()
    (family,) = answer.families
    assert (family.choose, len(family.of), family.ways) == (8, 16, 12870)


def test_a_sequence_exclusive_and_shared() -> None:
    node = eight()
    own = hami(node)
    now = state(node)
    request = Request(4, owner="a")
    after = own.step(now, request, own.answer(now, request).outcomes[0])
    assert after.free == ("GPU0", "GPU1", "GPU2", "GPU3")
    assert sets(own, after, 4) == ["0123"]
    shared = hami(node, "binpack", wanted=Wanted(1, 1000, 101, 10))
    first = shared.answer(now, request).outcomes[0]
    then = shared.step(now, request, first)
    assert then.free == now.free
    assert [one.devices for one in shared.answer(then, request).outcomes] == [first.devices]
    spread = hami(node, "spread", wanted=Wanted(1, 1000, 101, 10))
    assert first.devices not in [one.devices for one in spread.answer(then, request).outcomes]


def test_mig_mode_is_said_to_be_open() -> None:
    node = eight()
    own = hami(node)
    answer = own._replace(gpus=(own.gpus[0]._replace(mode="mig"), *own.gpus[1:])).answer(state(node), Request(1))
    assert answer.admitted is None
    assert not answer.outcomes_complete


REGISTER = [
    {
        "id": "GPU-a",
        "count": 10,
        "devmem": 81559,
        "devcore": 100,
        "type": "NVIDIA-H100",
        "mode": "hami-core",
        "health": True,
    },
    {
        "id": "GPU-b",
        "index": 1,
        "count": 10,
        "devmem": 81559,
        "devcore": 100,
        "type": "NVIDIA-H100",
        "numa": 1,
        "health": True,
    },
]


def node_object(**annotations: str) -> KubeObject:
    notes = {f"hami.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return KubeObject({"kind": "Node", "metadata": {"name": "n", "annotations": notes}}, "node.yaml")


def test_the_register_annotation_as_json() -> None:
    found, form = registered(json.dumps(REGISTER), "node n")
    assert form == "json"
    assert found[0] == Gpu("GPU-a", 0, 10, 81559, 100, "NVIDIA-H100", 0, "hami-core", True)
    assert (found[1].number, found[1].numa, found[1].mode) == (1, 1, "")


def test_the_register_annotation_as_csv_with_7_and_9_fields() -> None:
    text = "GPU-a,10,32768,100,NVIDIA-Tesla V100,1,true:GPU-b,4,16384,50,NVIDIA-P4,-1,F,3,mig:"
    (first, second), form = registered(text, "node n")
    assert form == "csv"
    assert (first.number, first.mode, first.numa, first.healthy) == (0, "hami-core", 1, True)
    assert (second.number, second.mode, second.numa, second.healthy, second.cores) == (3, "mig", -1, False, 50)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "neither JSON nor a list"),
        ("GPU-a", "neither JSON nor a list"),
        ("GPU-a,1:", "a device of 2 fields"),
        ("GPU-a,ten,1,1,T,0,true:", "count is 'ten'"),
        ("GPU-a,10,1,1,T,0,yes:", "health is 'yes'"),
        ("[1]", "no list of devices"),
        ('[{"id": "a", "numa": "0"}]', 'numa is the string "0"'),
        ('[{"id": "a", "health": "true"}]', 'health is the string "true"'),
        ("[{", "node-nvidia-register is not JSON"),
    ],
)
def test_a_register_annotation_that_does_not_decode(text: str, what: str) -> None:
    with pytest.raises(GputopoError, match=what.replace("[", r"\[")):
        registered(text, "node n")


def test_scores_and_cordon_come_from_the_node() -> None:
    scores = [{"uuid": "GPU-a", "score": {"GPU-b": 1810}}, {"uuid": "GPU-b", "score": {"GPU-a": 1810}}]
    own = node_object(
        node_nvidia_register=json.dumps(REGISTER), node_nvidia_score=json.dumps(scores), device_cordon=" GPU-b ,"
    )
    found = of_object(own, {"GPU-a": "GPU0", "GPU-b": "GPU1"})
    assert found is not None
    assert [gpu.id for gpu in found.gpus] == ["GPU0", "GPU1"]
    assert found.scores == {"GPU0": {"GPU1": 1810}, "GPU1": {"GPU0": 1810}}
    assert found.cordoned == {"GPU1"}
    assert of_object(node_object(), {}) is None
    with pytest.raises(GputopoError, match="a score is no integer"):
        pair_scores('[{"uuid": "a", "score": {"b": "7"}}]', "node n")


def test_the_annotation_makes_a_node() -> None:
    made = node_of("n", registered(json.dumps(REGISTER), "node n")[0])
    assert [(gpu.id, gpu.uuid, gpu.numa_nodes) for gpu in made.gpus] == [
        ("GPU0", "GPU-a", (0,)),
        ("GPU1", "GPU-b", (1,)),
    ]
    assert made.assumptions[0].subjects == ("GPU0",)
    assert made.pair("GPU0", "GPU1").cross_numa is True


def test_what_pods_hold() -> None:
    def pod(text: str, node: str = "n", phase: str = "Running") -> KubeObject:
        notes = {"hami.io/vgpu-devices-allocated": text, "hami.io/vgpu-node": node}
        return KubeObject({"kind": "Pod", "metadata": {"name": "p", "annotations": notes}, "status": {"phase": phase}})

    gpus = registered(json.dumps(REGISTER), "node n")[0]
    text = "GPU-a,NVIDIA,3000,30:;GPU-a,NVIDIA,1000,10:GPU-b,NVIDIA,5000,0:;"
    found = used_by(gpus, [pod(text), pod(text, "other"), pod(text, phase="Failed")], "n", {})
    assert [(one.used, one.used_memory, one.used_cores) for one in found] == [(2, 4000, 40), (1, 5000, 0)]
    with pytest.raises(GputopoError, match="fewer than 4 fields"):
        held("GPU-a,NVIDIA:;", "pod p")


def container(**asks: object) -> Container:
    return Container(
        "main", "app", {f"nvidia.com/{key.replace('_', '-')}": quantity(value) for key, value in asks.items()}
    )


@pytest.mark.parametrize(
    ("asks", "wanted"),
    [
        ({"gpu": 2}, Wanted(2, 0, 100, 100)),  # all memory and, by the webhook, all cores
        ({"gpu": 1, "gpumem": 3000}, Wanted(1, 3000, 101, 0)),
        ({"gpu": 1, "gpumem": 3000, "gpucores": 30}, Wanted(1, 3000, 101, 30)),
        ({"gpu": 1, "gpumem_percentage": 50}, Wanted(1, 0, 50, 0)),
        ({"gpu": 1, "gpumem_percentage": 100}, Wanted(1, 0, 100, 100)),
        ({"gpumem": 3000}, Wanted(1, 3000, 101, 0)),  # the webhook adds one GPU
        ({"gpu": 1, "gpumem_percentage": 0}, Wanted(1, 0, 100, 0)),
        ({"cpu": 4}, None),
    ],
)
def test_what_a_container_asks(asks: dict[str, object], wanted: Wanted | None) -> None:
    assert of_container(container(**asks)) == wanted


def test_what_the_webhook_denies_is_exit_1() -> None:
    with pytest.raises(GputopoError, match="not 0 to 100") as raised:
        of_container(container(gpu=1, gpumem_percentage=120))
    assert raised.value.exit_code == 1
    with pytest.raises(GputopoError, match="counts MiB"):
        of_container(container(gpu=1, gpumem="3Gi"))


def test_annotations_of_the_pod() -> None:
    assert numa_bound({"nvidia.com/numa-bind": "T"})
    assert not numa_bound({"nvidia.com/numa-bind": "yes"})
    assert named({"nvidia.com/use-gpuuuid": "GPU-a, x"}, {"GPU-a": "GPU0"}) == {"nvidia.com/use-gpuuuid": "GPU0,x"}
