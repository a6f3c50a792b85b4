"""Which policy of the Topology Manager gives a set: the words, and what they rest on."""

from __future__ import annotations

from gputopo.pods.model import Held, Pod
from gputopo.pods.placed import NOWHERE
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.example import container, held, node
from gputopo.rules.pods.replayed import given, refused


def crossing(*others: tuple[str, ...], policy: str | None = None) -> str:
    """Of a pod with GPU0 and GPU2 (two sockets) beside pods with `others`."""
    on = node()
    own = held(on, container(("GPU0", "GPU2"), on), *(container(one, on, f"p{at}") for at, one in enumerate(others)))
    policies = {"topology": policy} if policy else {}
    audit = Audit(own._replace(policies=policies))
    return given(audit, audit.units[0])


def test_with_a_better_set_free_no_policy_gives_it() -> None:
    # All four GPUs are free to it: PIX pairs score higher, and hints prefer one NUMA node.
    assert crossing() == (
        "topology manager policy none, best-effort, restricted and single-numa-node give another "
        "(replayed with its own and the free GPUs; the policy is in no source)"
    )


def test_with_one_gpu_left_on_each_socket_only_loose_policies_give_it() -> None:
    assert crossing(("GPU1",), ("GPU3",)) == (
        "topology manager policy none and best-effort give it, restricted and single-numa-node refuse it "
        "(replayed with its own and the free GPUs; the policy is in no source)"
    )


def test_a_known_policy_is_the_only_one_asked() -> None:
    assert crossing(("GPU1",), ("GPU3",), policy="best-effort") == (
        "topology manager policy best-effort gives it (replayed with its own and the free GPUs)"
    )


def test_of_claims_replicas_and_unknown_free_gpus_nothing_is_said() -> None:
    on = node()
    made = container(("GPU0", "GPU2"), on)
    replicas = tuple(one._replace(replica="1") for one in made.devices)
    claimed = tuple(one._replace(resource="claim:gpus") for one in made.devices)
    own: list[Held] = [
        held(on, made._replace(devices=replicas)), held(on, made._replace(devices=claimed)),
        held(on, made)._replace(free=None),
    ]  # fmt: skip
    for one in own:
        audit = Audit(one)
        assert given(audit, audit.units[0]) == ""


def of_pod(size: int, *held_sets: tuple[str, ...], policy: str = "") -> str:
    on = node()
    own = held(on, *(container(one, on, f"p{at}") for at, one in enumerate(held_sets)))
    why = ("TopologyAffinityError", "Resources cannot be allocated with Topology locality")
    pod = Pod("ml", "big", None, (), NOWHERE, (), "Failed", None, why, requests=(("nvidia.com/gpu", size),))
    return refused(Audit(own._replace(policies={"topology": policy} if policy else {})), pod)


def test_what_a_refused_pod_meets_now_and_on_an_empty_node() -> None:
    # Two GPUs a NUMA node: three never fit one, two do on an empty node.
    assert of_pod(3, ("GPU0",)) == (
        "replayed for 3 GPUs, 3 free now: policy none, best-effort and restricted admit it now, single-numa-node "
        "refuses it on an empty node too (for its GPUs alone; the policy is in no source)"
    )
    assert of_pod(2, ("GPU0",), ("GPU2",), policy="single-numa-node") == (
        "replayed for 2 GPUs, 2 free now: policy single-numa-node refuses it now, not on an empty node (for its GPUs "
        "alone)"
    )
    assert of_pod(9) == "it asks for 9 GPUs, and the node has 4"
    assert of_pod(0) == ""
