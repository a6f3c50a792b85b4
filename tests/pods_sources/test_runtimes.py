"""`crictl inspect` and `docker inspect`. Shapes: CRI api.proto, containerd and CRI-O info maps, moby api/types."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gputopo.holdings import ContainerHolding
from gputopo.parsers import crictl_inspect, docker_inspect
from gputopo.parsers.recognise_holdings import parse, recognise
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.cpu_set import CpuSet
from tests.pods.machines import container, devices, held, said, uuid
from tests.pods_sources.samples import gpu, needs_samples, pod, text

ID = "c0" * 32
UID = "5a6b7c8d-0000-4000-8000-0000000000f1"
LABELS = {"io.kubernetes.container.name": "main", "io.kubernetes.pod.name": "a", "io.kubernetes.pod.namespace": "ml",
          "io.kubernetes.pod.uid": UID}  # fmt: skip


def crictl(*env: str, config: dict[str, Any] | None = None, state: str = "CONTAINER_RUNNING", **spec: Any) -> str:
    own = {"ociVersion": "1.1.0", "process": {"env": list(env)}, **spec}
    status = {"id": ID, "state": state, "labels": LABELS, "annotations": {}}
    return json.dumps({"status": status, "info": {"pid": 9, "config": config or {}, "runtimeSpec": own}})


def docker(**parts: Any) -> str:
    body = {"Id": ID, "Name": "/job", "State": {"Running": True, "Pid": 9}, "Config": {"Env": [], "Labels": {}},
            "HostConfig": {}}  # fmt: skip
    return json.dumps([{**body, **parts}])


def one(given: str) -> ContainerHolding:
    [found] = parse(given.encode())[0].containers
    return found


def named(holding: ContainerHolding) -> list[tuple[str, str, str]]:
    return [(held.id, held.space, held.by) for held in holding.devices or ()]


def test_who_and_where() -> None:
    slices = f"kubepods-pod{UID.replace('-', '_')}.slice:cri-containerd:{ID}"
    linux = {"cgroupsPath": slices, "resources": {"cpu": {"cpus": "4-7", "mems": "1"}}}
    found = one(crictl(linux=linux))
    assert (found.namespace, found.pod, found.uid, found.container) == ("ml", "a", UID, "main")
    assert (found.container_id, found.pids, found.running) == (ID, (9,), True)
    assert (found.cpus, found.cpus_allowed, found.mems_allowed) == (None, CpuSet.of(range(4, 8)), (1,))
    assert (found.devices, found.visible) == (None, None)


def test_an_empty_cpuset_is_no_restriction() -> None:
    assert one(crictl(linux={"resources": {"cpu": {"cpus": "", "mems": ""}}})).cpus_allowed is None


def test_the_specification_itself_tells_the_pod_by_its_group_and_annotations() -> None:
    annotations = {"io.kubernetes.cri.container-name": "main", "io.kubernetes.cri.sandbox-name": "a"}
    spec = {"ociVersion": "1.1.0", "process": {"env": []}, "annotations": annotations,
            "linux": {"cgroupsPath": f"/kubepods/burstable/pod{UID}/{ID}"}}  # fmt: skip
    found = one(json.dumps(spec))
    assert (found.pod, found.uid, found.container, found.container_id) == ("a", UID, "main", ID)


@pytest.mark.parametrize(
    ("env", "visible", "devices"),
    [
        (("NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b",), ("GPU-a", "GPU-b"), [("GPU-a", "uuid"), ("GPU-b", "uuid")]),
        (("NVIDIA_VISIBLE_DEVICES=1, 0",), ("1", "0"), [("1", "index"), ("0", "index")]),
        (("NVIDIA_VISIBLE_DEVICES=all",), ("all",), []),
        (("NVIDIA_VISIBLE_DEVICES=void",), ("void",), []),
        (("NVIDIA_VISIBLE_DEVICES=GPU-a", "NVIDIA_VISIBLE_DEVICES=void"), ("void",), [("GPU-a", "uuid")]),
        (("NVIDIA_VISIBLE_DEVICES=/var/run/nvidia-container-devices",), ("/var/run/nvidia-container-devices",), []),
        (("PCIDEVICE_INTEL_COM_SRIOV=0000:3b:02.1", "NVIDIA_VISIBLE_DEVICES"), None, [("0000:3b:02.1", "pci")]),
    ],
)
def test_the_environment_is_a_claim(
    env: tuple[str, ...], visible: tuple[str, ...] | None, devices: list[tuple[str, str]]
) -> None:
    for found in (one(crictl(*env)), one(docker(Config={"Env": list(env)}))):
        assert found.visible == visible
        assert named(found) == [(*each, "env") for each in devices]


def test_cdi_names_mounts_and_device_files() -> None:
    config: dict[str, Any] = {"CDI_devices": [{"name": "nvidia.com/gpu=3"}, {"name": "not a name"}]}
    config["annotations"] = {"cdi.k8s.io/x_1": "nvidia.com/gpu=4,nvidia.com/gpu=5", "other": "nvidia.com/gpu=9"}
    mounts = [{"destination": "/var/run/nvidia-container-devices/GPU-m"}, {"destination": "/data"}]
    nodes = [{"path": "/dev/nvidia2"}, {"path": "/dev/nvidiactl"}, {"path": "/dev/infiniband/uverbs1"}]
    given = crictl(config=config, mounts=mounts, linux={"devices": nodes})
    assert named(one(given)) == [
        ("nvidia.com/gpu=3", "cdi", "cdi"), ("nvidia.com/gpu=4", "cdi", "annotation"),
        ("nvidia.com/gpu=5", "cdi", "annotation"), ("GPU-m", "uuid", "mount"), ("2", "minor", "node"),
        ("uverbs1", "name", "node"),
    ]  # fmt: skip
    config["linux"] = {"security_context": {"privileged": True}}
    assert {by for _, _, by in named(one(crictl(config=config, linux={"devices": nodes})))} == {"cdi", "annotation"}


@pytest.mark.parametrize(
    ("request_", "ids"),
    [
        ({"Driver": "", "DeviceIDs": ["0", "GPU-a"], "Capabilities": [["gpu"]]}, [("0", "index"), ("GPU-a", "uuid")]),
        ({"Driver": "nvidia", "Count": 2, "DeviceIDs": None}, [("0", "index"), ("1", "index")]),
        ({"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all", "x"]}, [("nvidia.com/gpu=all", "cdi")]),
        ({"Driver": "", "Count": 1 << 40, "Capabilities": [["gpu"]]}, []),
        ({"Driver": "", "Count": 1, "Capabilities": [["tpu"]]}, []),
    ],
)
def test_docker_run_gpus(request_: dict[str, Any], ids: list[tuple[str, str]]) -> None:
    found = one(docker(HostConfig={"DeviceRequests": [request_]}))
    assert named(found) == [(*each, "") for each in ids]


def test_all_gpus_is_every_gpu_of_the_node() -> None:
    request = {"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}
    assert named(one(docker(HostConfig={"DeviceRequests": [request]}))) == [("all", "all", "")]


def test_many_in_one_text_and_no_sandboxes() -> None:
    sandbox = crictl(annotations={"io.kubernetes.cri.container-type": "sandbox"})
    texts = (crictl(), sandbox, f"[{crictl()}, {crictl()}]")
    [records] = crictl_inspect.parse("\n".join(texts))
    assert [found.line for found in records.containers] == [1, 3, 3]
    both = docker().rstrip("]") + "," + docker(Config={"Labels": {"io.kubernetes.docker.type": "podsandbox"}})[1:]
    assert len(docker_inspect.parse(both)[0].containers) == 1


@pytest.mark.parametrize(
    "given",
    [
        crictl()[:-20], "[" * 100_000, "{}", '{"status": {}, "info": {}}', '{"status": 1, "info": "x"}', "[1]",
        '{"status": {"id": "sha256:1", "repoTags": []}, "info": {"imageSpec": {}}}',
        docker()[:-5], '[{"HostConfig": 1}]', '{"a":' * 5000,
    ],
)  # fmt: skip
def test_damaged_is_one_line(given: str) -> None:
    for module in (crictl_inspect, docker_inspect):
        with pytest.raises(Unreadable):
            module.parse(given)


def test_fields_of_another_shape_are_absent() -> None:
    body = json.loads(crictl())
    body["info"]["pid"] = -1
    body["info"]["config"] = {"envs": 3, "CDI_devices": {}}
    body["info"]["runtimeSpec"] = {"ociVersion": 1, "process": [], "linux": {"devices": 1, "resources": None}}
    body["status"]["labels"]["io.kubernetes.pod.name"] = 7
    found = one(json.dumps(body))
    assert (found.pod, found.uid, found.pids, found.devices) == (None, UID, (), None)


def test_hostile_names_stay_data() -> None:
    body = json.loads(docker())
    body[0]["Name"] = "/\x1b[31m" + "x" * 10_000
    assert (one(json.dumps(body)).container or "").startswith("\x1b[31mx")


def test_the_environment_alone_holds_with_a_named_assumption_and_the_kubelet_s_list_overrules_it() -> None:
    env = said("crictl-inspect", container("a", "u", "main", devices=devices(0, 2, by="env")))
    alone = held(env)
    assert (alone.containers[0].placed.gpus, alone.containers[0].given) == (("GPU0", "GPU2"), True)
    assert any("NVIDIA_VISIBLE_DEVICES" in note.text for note in alone.assumptions)
    other = said("podresources", container("b", "v", "main", 1), containers_complete=True)
    both = {each.pod: each.given for each in held(env, other).containers}
    assert both == {"a": False, "b": True}


def test_what_exited_holds_nothing() -> None:
    found = held(said("docker-inspect", container(None, None, "old", devices=devices(0), running=False)))
    assert (found.containers, found.free) == ((), ("GPU0", "GPU1", "GPU2", "GPU3"))
    assert any("does not run" in note.text for note in found.assumptions)
    exited = said("crictl-inspect", container(None, "u", "i", running=False))
    kept = held(exited, said("kubelet-checkpoint", container(None, "u", "i", 0)))
    assert [each.placed.gpus for each in kept.containers] == [("GPU0",)]


def test_cdi_names_without_a_topology_agree_with_uuids() -> None:
    from gputopo.holdings import DeviceHeld
    from gputopo.topology.node import NodeTopology

    kind = "k8s.device-plugin.nvidia.com/gpu"
    cdi = DeviceHeld(kind, f"{kind}={uuid(0)}", "cdi", by="cdi")
    for number, conflicts in ((0, 0), (1, 1)):
        one = container("a", "u", "main", devices=(cdi, *devices(number, by="env")))
        assert len(held(said("crictl-inspect", one), on=NodeTopology()).conflicts) == conflicts


TWO = [(gpu(0), "uuid", "env"), (gpu(1), "uuid", "env")]
KIND = "k8s.device-plugin.nvidia.com/gpu="


@needs_samples
@pytest.mark.parametrize(
    ("name", "devices", "visible", "cpus"),
    [
        ("crictl-inspect.containerd.envvar.json", TWO, (gpu(0), gpu(1)), "8-11,120-123"),
        ("crictl-inspect.containerd.cdi-cri.json",
         [(KIND + gpu(0), "cdi", "cdi"), (KIND + gpu(1), "cdi", "cdi")], ("void",), "8-11,120-123"),
        ("crictl-inspect.containerd.cdi-annotation.cgroupfs.json",
         [(KIND + gpu(6), "cdi", "annotation"), (gpu(6), "uuid", "env")], (gpu(6),), None),
        ("crictl-inspect.crio.json", TWO, (gpu(0), gpu(1)), "8-11,120-123"),
    ],
)  # fmt: skip
def test_the_samples_of_crictl(
    name: str, devices: list[tuple[str, str, str]], visible: tuple[str, ...], cpus: str | None
) -> None:
    found = one(text(name))
    assert (found.namespace, found.pod, found.uid, found.container) == ("ml", "trainer-0", pod(1), "trainer")
    assert (found.container_id, found.pids) == ("0123456789abcdef" * 4, (41234,))
    assert (named(found), found.visible) == (devices, visible)
    assert (str(found.cpus_allowed) if found.cpus_allowed else None) == cpus
    assert found.mems_allowed == ((0,) if cpus else None)


@needs_samples
def test_the_sample_of_docker() -> None:
    assert recognise(text("docker-inspect.json").encode()) == ("docker-inspect",)
    [records] = docker_inspect.parse(text("docker-inspect.json"))
    first, second = records.containers
    assert (first.pod, first.uid, first.pids, named(first)) == ("trainer-0", pod(1), (41234,), TWO)
    assert str(first.cpus_allowed) == "8-11,120-123"
    assert (second.pod, second.container, second.pids) == (None, "plain-docker", (42000,))
    assert named(second) == [("0", "index", ""), ("5", "index", "")]
