"""GPUs that schedulers of their own wrote on pods and nodes: HAMi, Volcano, Koordinator, gpushare."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.holdings import DeviceHeld
from gputopo.parsers.object_holdings import parse
from tests.pods_sources.objects import pod, said
from tests.pods_sources.samples import SHARED, needs_samples

A, B = (f"GPU-00000000-0000-4000-8000-00000000000{at}" for at in (0, 1))
HAMI = "hami.io/vgpu-devices-allocated"
KOORDINATOR = "scheduling.koordinator.sh/device-allocated"


def noted(annotations: dict[str, str], *names: str, inits: int = 0, **more: Any) -> dict[str, Any]:
    """A pod of these containers, the first `inits` of them init containers."""
    containers = [{"name": name, "resources": {"limits": {"nvidia.com/gpu": "1"}}} for name in names]
    spec = {"initContainers": containers[:inits], "containers": containers[inits:]}
    return pod("a", "n1", metadata={"annotations": annotations}, spec=spec, **more)


def held(body: dict[str, Any]) -> dict[str | None, list[tuple[str, str, str]]]:
    [one] = said(body)
    return {
        each.container: [(device.id, device.space, device.share) for device in each.devices]
        for each in one.containers
        if each.devices
    }


@pytest.mark.parametrize("key", [HAMI, "volcano.sh/vgpu-ids-new"])
def test_a_semicolon_ends_a_container_and_a_colon_a_device(key: str) -> None:
    value = f"{A},NVIDIA,3000,30:{B},NVIDIA,3000,30:;{B},NVIDIA,81559,100:;"
    share = "3000 MiB, 30 %"
    assert held(noted({key: value}, "x", "y")) == {
        "x": [(A, "uuid", share), (B, "uuid", share)], "y": [(B, "uuid", "")],
    }  # fmt: skip


def test_init_containers_are_counted_where_the_count_says_so() -> None:
    """HAMi counts them first of late; before it counted the others only."""
    late = f";{A},NVIDIA,3000,0:;"
    assert list(held(noted({HAMI: late}, "i", "x", inits=1))) == ["x"]
    early = f"{A},NVIDIA,3000,0:;"
    assert list(held(noted({HAMI: early}, "i", "x", inits=1))) == ["x"]
    fits_neither = f"{A},NVIDIA,3000,0:;;;;"
    assert list(held(noted({HAMI: fits_neither}, "i", "x", "y", inits=1))) == [None]


def test_before_it_is_bound_it_is_where_the_scheduler_put_it() -> None:
    body = noted({HAMI: f"{A},NVIDIA,3000,0:;", "hami.io/vgpu-node": "n7"}, "x")
    del body["spec"]["nodeName"]
    assert [one.node for one in said(body)] == ["n7"]


def test_koordinator_names_minor_numbers_and_addresses() -> None:
    value = (
        '{"gpu":[{"minor":4,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}},'
        '{"minor":5,"resources":{"koordinator.sh/gpu-core":"50"}}],'
        '"rdma":[{"minor":0,"id":"0000:19:00.0","extension":{"vfs":[{"minor":-1,"busID":"0000:19:00.1"}]}},'
        '{"minor":1,"id":"0000:3b:00.0"}]}'
    )
    assert held(noted({KOORDINATOR: value}, "x")) == {
        "x": [("4", "minor", ""), ("5", "minor", "50 %"), ("0000:19:00.1", "pci", ""), ("0000:3b:00.0", "pci", "")]
    }


def test_what_is_of_the_pod_goes_to_the_only_container_that_asks() -> None:
    value = '{"gpu":[{"minor":1}]}'
    body = noted({KOORDINATOR: value}, "x", "y")
    assert list(held(body)) == [None]
    body["spec"]["containers"][1]["resources"] = {}
    assert list(held(body)) == ["x"]


@pytest.mark.parametrize(("value", "ids"), [("3", ["3"]), ("0,2", ["0", "2"]), ("-1", [])])
def test_gpushare_names_an_index(value: str, ids: list[str]) -> None:
    found = held(noted({"ALIYUN_COM_GPU_MEM_IDX": value}, "x"))
    assert [(id, space) for id, space, _ in found.get("x", [])] == [(id, "index") for id in ids]


@pytest.mark.parametrize(
    ("key", "value"),
    [(HAMI, f"{A},NVIDIA:;"), (HAMI, f"{A},NVIDIA,x,0:;"), (KOORDINATOR, "["), (KOORDINATOR, '{"gpu":[{"minor":"1"}]}'),
     (KOORDINATOR, "[" * 50_000), (KOORDINATOR, "5"), ("ALIYUN_COM_GPU_MEM_IDX", "gpu0")],
)  # fmt: skip
def test_what_does_not_decode_is_said_and_nothing_is_made_of_it(key: str, value: str) -> None:
    [one] = said(noted({key: value}, "x"))
    assert one.containers[0].devices is None
    assert [gap.reason for gap in one.gaps] == [f"annotation {key}: it is not what its scheduler writes"]


def test_registers_of_nodes_name_their_gpus() -> None:
    """HAMi's NUMA node 0 also stands for unknown, so only others are believed."""
    json_form = f'[{{"id":"{A}","count":10,"health":true}},{{"id":"{B}","index":1,"numa":1,"health":true}}]'
    csv_form = f"{A},10,32768,100,NVIDIA-V100,0,true:{B},10,32768,100,NVIDIA-V100,1,true:"
    for value, index in ((json_form, 1), (csv_form, None)):
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n1", "annotations": {"hami.io/node-nvidia-register": value}}}  # fmt: skip
        [one] = said(node)
        assert one.allocatable == (
            DeviceHeld("nvidia.com/gpu", A, "uuid"), DeviceHeld("nvidia.com/gpu", B, "uuid", (1,)),
        )  # fmt: skip
        assert one.names[1].nvml_index == index


@needs_samples
def test_the_samples_of_the_schedulers() -> None:
    folder = SHARED / "data/kubernetes-samples"
    first, second = parse((folder / "hami-annotations.yaml").read_text())
    assert [(one.node, len(one.allocatable or ())) for one in (first, second)] == [("node-a", 2), ("node-b", 2)]
    assert [[each.id for each in one.devices or ()] for one in first.containers] == [[A], [B]]
    [one] = parse((folder / "volcano-annotations.yaml").read_text())
    assert [each.id for each in one.containers[0].devices or ()] == [A, B]
    texts = [(folder / f"koordinator-{name}.yaml").read_text() for name in ("pods", "device-cr")]
    [one] = parse("\n---\n".join(texts))
    devices = [(each.id, each.space) for each in one.containers[0].devices or ()]
    assert devices == [("0", "minor"), ("4", "minor"), ("0000:19:00.1", "pci")]
    assert {name.id: name.uuid for name in one.names if name.space == "minor"} == {
        "0": A, "4": "GPU-00000000-0000-4000-8000-000000000004",
    }  # fmt: skip
