"""`allocate koordinator` and `allocate hami` from files to answers; how answers look is tested with the views."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.decider import Decision
from gputopo.commands import allocate_hami, allocate_koordinator
from gputopo.commands.allocate_place import Place, exit_code
from gputopo.commands.allocate_scheduler import Answered
from gputopo.errors import GputopoError

Asked = Callable[..., tuple[int, Answer, Decision]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., int]], Asked]:
    """Runs a command and gives (exit code, answer, who decides)."""

    def of(command: Callable[..., int]) -> Asked:
        def run(*sources: Path, **more: object) -> tuple[int, Answer, Decision]:
            seen: list[Answered] = []

            def keep(reports: Sequence[Answered], place: Place) -> int:
                seen.extend(reports)
                return max(exit_code(one.answer, by_chance=False) for one in reports)

            monkeypatch.setattr(sys.modules[command.__module__], "printed", keep)
            texts = {key: str(value) if isinstance(value, Path) else value for key, value in more.items()}
            code = command([str(one) for one in sources] or None, quiet=True, **texts)
            return code, seen[0].answer, seen[0].decision

        return run

    return of


def write(path: Path, *objects: dict[str, object]) -> Path:
    path.write_text("\n---\n".join(json.dumps(one) for one in objects))
    return path


def device(name: str = "n", table: str | None = None, honor: bool = False) -> dict[str, object]:
    """8 GPUs: two a root complex, four a NUMA node; a NIC on root complexes 0 and 3."""
    rows = [
        {"type": "gpu", "id": f"GPU-{at}", "minor": at, "health": True,
         "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"},
         "topology": {"nodeID": at // 4, "pcieID": f"pci0000:{at // 2}0", "socketID": -1}}
        for at in range(8)
    ]  # fmt: skip
    nics = [
        {"type": "rdma", "id": f"0000:{root}9:00.0", "minor": at, "health": True,
         "resources": {"koordinator.sh/rdma": 100},
         "topology": {"nodeID": root // 2, "pcieID": f"pci0000:{root}0", "socketID": -1}}
        for at, root in enumerate((0, 3))
    ]  # fmt: skip
    metadata: dict[str, object] = {
        "name": name,
        "labels": {"node.koordinator.sh/gpu-partition-policy": "Honor"} if honor else {},
    }
    if table is not None:
        metadata["annotations"] = {"scheduling.koordinator.sh/gpu-partitions": table}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Device", "metadata": metadata,
        "spec": {"devices": rows + nics},
    }  # fmt: skip


def pod(limits: dict[str, object], annotations: dict[str, str] | None = None, **spec: object) -> dict[str, object]:
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"containers": [{"name": "main", "resources": {"limits": limits}}], **spec},
    }  # fmt: skip


def devices(answer: Answer) -> list[tuple[str, ...]]:
    return [one.devices for one in answer.outcomes]


def test_a_device_object_alone(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_koordinator.command)
    source = write(tmp_path / "device.json", device())
    code, answer, decision = run(source, count=2, in_use="0")
    assert (code, devices(answer)) == (0, [("GPU2", "GPU3")])
    assert not decision.sure
    assert run(source, count=2, available="5-7")[1].outcomes[0].devices == ("GPU6", "GPU7")


def test_the_pod_says_how_many_and_who_decides(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_koordinator.command)
    rule = '{"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}'
    joint = {"scheduling.koordinator.sh/device-joint-allocate": rule}
    limits = {"nvidia.com/gpu": 2, "koordinator.sh/rdma": 1}
    asking = write(tmp_path / "pod.json", pod(limits, joint, schedulerName="koord-scheduler"))
    source = write(tmp_path / "device.json", device())
    code, answer, decision = run(source, pod=asking)
    assert (code, devices(answer)) == (0, [("GPU0", "GPU1", "NIC0")])
    assert decision.line == "Koordinator: schedulerName is koord-scheduler"
    code, answer, _ = run(source, pod=asking, in_use="0,1")  # root complexes 1 and 2 have no NIC, 3 is not looked at
    assert (code, answer.message) == (1, "node(s) Device Joint-Allocate rules violation")


def test_a_string_score_is_one_line_and_exit_2(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    table = '{"2": [{"minors": [0, 1], "allocationScore": "1"}]}'
    source = write(tmp_path / "device.json", device(table=table))
    with pytest.raises(GputopoError) as raised:
        asked(allocate_koordinator.command)(source, count=2)
    assert raised.value.what.endswith('allocationScore of "2"[0] is the string "1", not an integer')
    assert (raised.value.where, raised.value.exit_code) == ("device n", 2)


def test_the_policy_of_the_device_object_and_the_option_over_it(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_koordinator.command)
    source = write(tmp_path / "device.json", device(table='{"2": [{"minors": [6, 7]}]}', honor=True))
    assert run(source, count=3)[:1] == (1,)
    code, answer, _ = run(source, count=3, partition_policy="Prefer")
    assert (code, devices(answer)) == (0, [("GPU0", "GPU1", "GPU2")])
    assert devices(run(source, count=2)[1]) == [("GPU6", "GPU7")]


def test_the_built_in_table_by_the_label_of_the_node(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_koordinator.command)
    labels = {"node.koordinator.sh/gpu-model": "H100", "node.koordinator.sh/gpu-partition-policy": "Honor"}
    node = write(
        tmp_path / "node.json", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": labels}}
    )
    source = write(tmp_path / "device.json", device())
    assert run(source, count=3, node=node)[1].message == "node(s) Unsupported number of GPU requests"
    assert devices(run(source, count=4, node=node, in_use="1")[1]) == [("GPU4", "GPU5", "GPU6", "GPU7")]
    assert run(source, count=3)[0] == 0


def test_what_bound_pods_hold_is_taken(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    held = json.dumps({"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}}]})
    bound = pod({}, {"scheduling.koordinator.sh/device-allocated": held}, nodeName="n")
    source = write(tmp_path / "device.json", device(), bound)
    assert devices(asked(allocate_koordinator.command)(source, count=1)[1]) == [("GPU0",)]
    assert devices(asked(allocate_koordinator.command)(source, count=2)[1]) == [("GPU2", "GPU3")]


def register(count: int = 4, **more: object) -> str:
    rows = [
        {"id": f"GPU-{at}", "index": at, "count": 10, "devmem": 81559, "devcore": 100, "type": "NVIDIA H100",
         "numa": at * 2 // count, "mode": "hami-core", "health": True, **more}
        for at in range(count)
    ]  # fmt: skip
    return json.dumps(rows)


def hami_node(**notes: str) -> dict[str, object]:
    annotations = {f"hami.io/{key.replace('_', '-')}": value for key, value in notes.items()}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": annotations}}


def test_a_node_registered_with_hami(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_hami.command)
    source = write(tmp_path / "node.json", hami_node(node_nvidia_register=register()))
    code, answer, decision = run(source, count=1)
    assert (code, devices(answer), decision.who) == (0, [("GPU3",)], "HAMi")
    assert devices(run(source, count=2, policy="binpack", numa_bind=True)[1]) == [("GPU0", "GPU1")]
    code, answer, _ = run(source, count=3, numa_bind=True)
    assert (code, answer.message) == (1, "2/4 AllocatedCardsInsufficientRequest, 2/4 NumaNotFit")
    assert run(source, count=9)[1].message == "NodeInsufficientDevice"


def test_the_pods_annotations_and_its_container(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_hami.command)
    source = write(tmp_path / "node.json", hami_node(node_nvidia_register=register(), device_cordon="GPU-3"))
    notes = {"hami.io/gpu-scheduler-policy": "binpack", "nvidia.com/use-gpuuuid": "GPU-0,GPU-3"}
    asking = write(tmp_path / "pod.json", pod({"nvidia.com/gpu": 1, "nvidia.com/gpumem": 1000}, notes))
    code, answer, _ = run(source, pod=asking, policy="spread")
    assert (code, devices(answer)) == (0, [("GPU0",)])
    with pytest.raises(GputopoError, match="-c 2 contradicts the pod, which asks for 1"):
        run(source, pod=asking, count=2)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "how many?"),
        ({"count": 0}, "-c takes 1 or more, not 0"),
        ({"count": 1, "in_use": "9"}, "no such GPU: 9"),
        ({"count": 1, "in_use": "0", "available": "1"}, "exclude one another"),
        ({"count": 1, "policy": "binpak"}, "no such policy: binpak"),
        ({"count": 1, "k8s_version": "newest"}, "no version of Kubernetes: 'newest'"),
        ({"count": 1, "node": "other"}, "no Node object of that name"),
        ({"count": 1, "pod": "/nowhere/pod.yaml"}, "no such file or directory"),
    ],
)
def test_bad_usage_is_one_line(
    tmp_path: Path, asked: Callable[..., Asked], options: dict[str, object], what: str
) -> None:
    source = write(tmp_path / "node.json", hami_node(node_nvidia_register=register()))
    with pytest.raises(GputopoError, match=what.replace("?", r"\?")) as raised:
        asked(allocate_hami.command)(source, **options)
    assert raised.value.exit_code == 2


def test_a_field_of_the_wrong_type_is_one_line(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    broken = device()
    broken["spec"] = {"devices": [{"type": "gpu", "minor": "0"}]}
    with pytest.raises(GputopoError, match=r'spec\.devices\[0\]\.minor is the string "0", not a whole number'):
        asked(allocate_koordinator.command)(write(tmp_path / "device.json", broken), count=1)


def test_several_containers_are_told_apart(tmp_path: Path, asked: Callable[..., Asked]) -> None:
    run = asked(allocate_hami.command)
    source = write(tmp_path / "node.json", hami_node(node_nvidia_register=register()))
    two = pod({"nvidia.com/gpu": 1})
    two["spec"] = {"containers": [
        {"name": name, "resources": {"limits": {"nvidia.com/gpu": count}}} for name, count in (("a", 1), ("b", 2))
    ]}  # fmt: skip
    asking = write(tmp_path / "pod.json", two)
    with pytest.raises(GputopoError, match="several containers ask for GPUs: a, b"):
        run(source, pod=asking)
    assert len(devices(run(source, pod=asking, container="b")[1])[0]) == 2
