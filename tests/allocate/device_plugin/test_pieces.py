"""Configuration, versions, Fabric Manager, what a container sees."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.allocate.device_plugin.config import PluginConfig, Refused, Shared, Sharing, read_config
from gputopo.allocate.device_plugin.fabric import HGX, FmPartition, fit, module_ids, read_partitions
from gputopo.allocate.device_plugin.simple import simple
from gputopo.allocate.device_plugin.static_dgx import static_dgx
from gputopo.allocate.device_plugin.versions import behaviour
from gputopo.allocate.device_plugin.visible import visible
from gputopo.terms.path_level import PathLevel
from tests.allocate.nodes import node, two_sockets

NODE = node(8, two_sockets)
SHARING = {"resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"version": "v2"}, "unknown version: v2"),
        ({"flags": {"migStrategy": "all"}}, "unknown MIG strategy: all"),
        ({"flags": {"plugin": {"deviceListStrategy": ["envvar", "cdi"]}}}, "invalid strategy: cdi"),
        ({"flags": {"plugin": {"deviceIDStrategy": "minor"}}}, "invalid --device-id-strategy option: minor"),
        ({"flags": {"plugin": {"sharedDevicesAllocationPolicy": "spread"}}}, "allocation-policy option: spread"),
        ({"flags": {"deviceDiscoveryStrategy": "x"}}, "invalid --device-discovery-strategy option x"),
        ({"flags": ["migStrategy"]}, "cannot unmarshal"),
        ({"flags": {"gdsEnabled": "yes"}}, "type bool"),
        ({"sharing": {"timeSlicing": {"resources": []}}}, "no resources specified"),
        ({"sharing": {"timeSlicing": {"resources": [{"replicas": 2}]}}}, "no resource name"),
        ({"sharing": {"timeSlicing": {"resources": [{"name": "nvidia.com/gpu"}]}}}, "no replicas"),
        ({"sharing": {"mps": SHARING}, "flags": {"migStrategy": "mixed"}}, "mixed is not supported with MPS"),
        ({"imex": {"channelIDs": [1]}}, "invalid IMEX channel IDs"),
    ],
)
def test_what_the_plugin_does_not_start_with(document: dict[str, Any], words: str) -> None:
    with pytest.raises(Refused) as refusal:
        read_config(document)
    assert words in str(refusal.value)


def test_what_the_configuration_says() -> None:
    config, ignored = read_config({
        "version": "v1",
        "flags": {"migStrategy": "none", "plugin": {"deviceListStrategy": "cdi-cri", "passDeviceSpecs": True}},
        "sharing": {"mps": {"renameByDefault": True, "resources": [{"name": "gpu", "replicas": 2, "devices": 1}]}},
        "sharring": {},
    })  # fmt: skip
    assert config.device_list_strategies == ("cdi-cri",)
    assert config.sharing == Sharing("mps", (Shared("nvidia.com/gpu", 2),), True, True)
    assert ignored == ("sharring", "sharing.mps.resources.devices")


def test_versions() -> None:
    assert [behaviour(one).ignores_empty_must_include for one in ("v0.14.3", "v0.14.4", "v0.15.0-rc.2")] == [
        False, True, False,
    ]  # fmt: skip
    assert not behaviour("v0.21.0").known
    with pytest.raises(ValueError, match="latest"):
        behaviour("latest")


def test_partitions_are_joined_by_module_id() -> None:
    modules = module_ids(NODE)
    assert modules is not None
    ids = [gpu.id for gpu in NODE.gpus]
    assert fit(HGX, modules, ("GPU0", "GPU1"), ids).partition is None
    half = fit(HGX, modules, ("GPU3", "GPU2", "GPU0", "GPU1"), ids)
    assert (half.partition, half.free_after) == (1, (2, 5, 6, 11, 12, 13, 14))
    assert fit(HGX, modules, ("GPU0", "GPU2"), ids).partition == 3
    assert module_ids(NODE._replace(gpus=(NODE.gpus[0]._replace(module_id=None),))) is None


@pytest.mark.parametrize("document", [None, {}, {"partitionInfo": []}, {"partitionInfo": [{"partitionId": 0}]}, [1]])
def test_what_is_no_list_of_partitions(document: Any) -> None:
    with pytest.raises(ValueError, match="partition"):
        read_partitions(document)


def test_a_list_of_partitions() -> None:
    listed = {"partitionInfo": [{"partitionId": 7, "isActive": 0, "gpuInfo": [{"physicalId": 4}, {"physicalId": 2}]}]}
    assert read_partitions(listed) == (FmPartition(7, (2, 4), False),)


def test_what_a_container_sees_by_strategy() -> None:
    def look(**config: Any) -> Any:
        return visible(NODE, ("GPU0", "GPU3"), PluginConfig(**config), unique_ids=True)

    assert look().env == (("NVIDIA_VISIBLE_DEVICES", "GPU-uuid-0,GPU-uuid-3"),)
    assert look(device_id_strategy="index").env == (("NVIDIA_VISIBLE_DEVICES", "0,3"),)
    mounts = look(device_list_strategies=("volume-mounts",))
    assert mounts.env == (("NVIDIA_VISIBLE_DEVICES", "/var/run/nvidia-container-devices"),)
    assert mounts.mounts[0] == ("/dev/null", "/var/run/nvidia-container-devices/GPU-uuid-0")
    cdi = look(device_list_strategies=("cdi-annotations", "cdi-cri"))
    assert cdi.cdi_devices == tuple(f"k8s.device-plugin.nvidia.com/gpu=GPU-uuid-{n}" for n in (0, 3))
    assert cdi.annotations[0][0].startswith("cdi.k8s.io/nvidia-device-plugin_")
    assert (cdi.env, cdi.unset) == ((), True)
    assert look(pass_device_specs=True).devices[-1] == "/dev/nvidia3"


def test_replicas_of_one_gpu_are_named_once_since_v0_18() -> None:
    config = PluginConfig(sharing=Sharing("time-slicing", (Shared("nvidia.com/gpu", 2),)))
    units = ("GPU0::0", "GPU0::1")
    assert visible(NODE, units, config, unique_ids=True).ids == ("GPU-uuid-0",)
    assert visible(NODE, units, config, unique_ids=False).ids == ("GPU-uuid-0", "GPU-uuid-0")


def test_policies_that_no_plugin_uses() -> None:
    assert simple([3, 0, 1, 5], [], 3) == [0, 1, 3]
    assert static_dgx("dgx1p", [6, 5, 2, 4, 7, 1, 0], [6], 4) == [6, 4, 5, 7]
    assert static_dgx("dgx2", [14, 15], [], 2) == [14, 15]
    assert static_dgx("dgx1v", [0, 3], [0], 4) == []
    assert PathLevel.PIX < PathLevel.SYS
