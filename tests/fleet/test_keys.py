"""Nodes of one key get one answer: asked one by one, renamed, with devices in use, by every mechanism."""

from __future__ import annotations

from random import Random

import pytest

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.state import State
from gputopo.commands.allocate_dra_objects import Files, driver_line, question
from gputopo.commands.allocate_fleet import Asker
from gputopo.commands.allocate_fleet_askers import OfKubelet, OfPlugin
from gputopo.commands.allocate_fleet_dra import OfDra
from gputopo.commands.allocate_fleet_reading import Saved
from gputopo.commands.allocate_kubelet_options import GPU, Asked, Given
from gputopo.commands.allocate_kubelet_question import Question
from gputopo.commands.allocate_objects import Objects
from gputopo.commands.allocate_plugin_asked import Asking
from gputopo.commands.allocate_plugin_config import choose
from gputopo.commands.allocate_reading import Reading
from gputopo.commands.allocate_sources import Sorted
from gputopo.commands.progress import Progress
from gputopo.evidence.open import open_sources
from gputopo.fleet.verdict import judge
from gputopo.inspection import nodes
from gputopo.parsers.kubelet_state import DeviceCheckpoint, HeldDevices
from gputopo.terms.kube_object import KubeObject
from gputopo.topology.node import NodeTopology
from tests.fleet.relabel import relabelled

NODES = ("hgx-h100", "pcie-bridged", "dgx-a100-nps4", "mixed-5gpu")


def saved(node: NodeTopology, held: tuple[str, ...] = ()) -> Saved:
    """As it comes out of a folder with the kubelet's checkpoint beside the node."""
    states = (DeviceCheckpoint((HeldDevices("uid", "main", GPU, held),), {}),) if held else ()
    reading = Reading((node,), Sorted((), states=states), Objects(None, (), (), (), ()), "", None)
    return Saved(node.name or "a", node, reading)


def plugin(size: int, policy: str = "best-effort") -> OfPlugin:
    asking = Asking(size, None, None, None, None, None, None)
    return OfPlugin(asking, lambda reading: choose((), None, None, None), "v0.20.0", policy, "nvml")


def kubelet(size: int, policy: str) -> OfKubelet:
    return OfKubelet(Question(Asked(size), Given(policy), GPU, None, None, None, None, None, "v0.20.0", "1.36"))


def claim(size: int, *constraints: str, expression: str = "") -> OfDra:
    exactly: dict[str, object] = {"deviceClassName": "gpu.nvidia.com", "count": size}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    body = {
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"},
        "spec": {"devices": {
            "requests": [{"name": "gpus", "exactly": exactly}],
            "constraints": [{"matchAttribute": name} for name in constraints],
        }},
    }  # fmt: skip
    asked, how = question((KubeObject(body, "claim"),), Files(), "1.36", ())
    line, notes = driver_line(None)
    return OfDra(asked, how, line, notes, lambda progress: lambda: False)


ASKERS: dict[str, Asker] = {
    "plugin 2": plugin(2),
    "plugin 4": plugin(4),
    "plugin simple": plugin(2, "simple"),
    "none": kubelet(2, "none"),
    "restricted": kubelet(3, "restricted"),
    "single": kubelet(4, "single-numa-node"),
    "best-effort": kubelet(2, "best-effort"),
    "claim": claim(2),
    "one root": claim(2, "resource.kubernetes.io/pcieRoot"),
}


def asked(asker: Asker, one: Saved) -> tuple[object, ...]:
    """All of an answer that is not a name."""
    found = judge(asker.ask(one, Progress("", quiet=True)).asked)
    best = None if found.best is None else (len(found.best.sets), found.best.decided)
    return found.verdict, found.often, best, found.nearer, found.sets, found.worse, found.complete


@pytest.mark.parametrize("name", ASKERS)
def test_nodes_of_one_key_get_one_answer(name: str) -> None:
    asker, draw = ASKERS[name], Random(7)
    by_key: dict[object, set[tuple[object, ...]]] = {}
    for sample in NODES:
        [node] = nodes(open_sources([f"sample:{sample}"]))
        for seed in range(5):
            made, new = relabelled(node, seed)
            held = tuple(sorted(draw.sample(list(new), draw.choice((0, 0, 1, 2, 3)))))
            for one in (saved(node, tuple(id for id in held if id in new and id.startswith("GPU"))),
                        saved(made, tuple(new[id] for id in held if id.startswith("GPU")))):  # fmt: skip
                by_key.setdefault(asker.key(one).form, set()).add(asked(asker, one))
    assert len(by_key) >= len(NODES) + (asker.mechanism != "dra")  # which does not look at a checkpoint
    assert all(len(answers) == 1 for answers in by_key.values()), by_key.values()


@pytest.mark.parametrize("name", ["plugin 2", "plugin 4", "none", "claim", "one root"])
def test_a_renamed_node_has_the_key_of_the_node(name: str) -> None:
    """Where numbers are looked at it need not: a kubelet takes the lower NUMA node, `simple` the lower GPU."""
    for sample in NODES:
        [node] = nodes(open_sources([f"sample:{sample}"]))
        assert ASKERS[name].key(saved(relabelled(node, 4)[0])).form == ASKERS[name].key(saved(node)).form


def test_numbers_of_numa_nodes_count_where_the_kubelet_looks_at_them() -> None:
    """Two bridged GPUs on NUMA node 0 or on node 1: with best-effort the lower node is taken in both cases."""
    [node] = nodes(open_sources(["sample:mixed-5gpu"]))
    swap = {0: 1, 1: 0}
    assert node.numa_nodes is not None
    other = node._replace(
        gpus=tuple(gpu._replace(numa_nodes=tuple(swap[at] for at in gpu.numa_nodes or ())) for gpu in node.gpus),
        numa_nodes=tuple(
            one._replace(number=swap[one.number], id=f"NUMA{swap[one.number]}") for one in node.numa_nodes
        ),
        packages=tuple(
            one._replace(numa_nodes=tuple(swap[at] for at in one.numa_nodes or ())) for one in node.packages or ()
        ),
    )
    looking, blind = kubelet(1, "best-effort"), kubelet(1, "none")
    assert looking.key(saved(other)).form != looking.key(saved(node)).form
    assert blind.key(saved(other)).form == blind.key(saved(node)).form


def test_a_configuration_of_its_own_makes_another_key() -> None:
    from gputopo.commands.allocate_sources import Named

    [node] = nodes(open_sources(["sample:hgx-h100"]))
    asker = OfKubelet(Question(Asked(8), Given(), GPU, None, None, None, None, None, "v0.20.0", "1.36"))
    text = "kind: KubeletConfiguration\ntopologyManagerPolicy: single-numa-node\n"
    plain = saved(node)
    beside = plain.reading.beside._replace(kubelet_configs=(Named("config.yaml", text),))
    strict = plain._replace(reading=plain.reading._replace(beside=beside))
    assert asker.key(plain).form != asker.key(strict).form
    assert (asked(asker, plain)[0], asked(asker, strict)[0]) == ("fine", "refused")


def test_identities_count_where_an_expression_reads_them() -> None:
    [node] = nodes(open_sources(["sample:hgx-h100"]))

    def with_uuids(stem: str) -> Saved:
        return saved(node._replace(gpus=tuple(gpu._replace(uuid=f"{stem}-{gpu.id}") for gpu in node.gpus)))

    reading = claim(1, expression="device.attributes['gpu.nvidia.com'].uuid.startsWith('a')")
    assert claim(1).key(with_uuids("a")).form == claim(1).key(with_uuids("b")).form
    assert reading.key(with_uuids("a")).form != reading.key(with_uuids("b")).form
    assert (asked(reading, with_uuids("a"))[0], asked(reading, with_uuids("b"))[0]) == ("fine", "refused")


def test_devices_that_other_claims_hold_count() -> None:
    from gputopo.allocate.dra.objects import Allocated, DeviceId

    [node] = nodes(open_sources(["sample:hgx-h100"]))
    free = claim(4)
    taken = Allocated(frozenset(DeviceId("gpu.nvidia.com", "node", f"GPU{at}") for at in range(5)))
    short = free._replace(question=free.question._replace(allocated=taken))
    assert free.key(saved(node)).form != short.key(saved(node)).form
    assert asked(short, saved(node))[0] == "refused"


def test_what_is_assumed_of_some_shapes_only_says_so() -> None:
    from gputopo.fleet.admission import together

    common, own = Assumed("kubelet v1.36", "--k8s-version"), Assumed("no NVLinks")
    assert together([(common, own), (common,)]) == (common, own._replace(text="no NVLinks (1 of 2 shapes)"))


def test_replicas_and_whole_gpus_do_not_share_a_key() -> None:
    from gputopo.fleet.marks import of_plugin

    [node] = nodes(open_sources(["sample:single-gpu"]))
    whole, shared = State.of(node, ("GPU0",)), State.of(node, ("GPU0::0", "GPU0::1"))
    assert of_plugin(whole, 18, in_order=False, frame=None) != of_plugin(shared, 18, in_order=False, frame=None)
