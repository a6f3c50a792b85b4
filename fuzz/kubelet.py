"""What the kubelet, the driver and /proc say in other ways than one text: messages, and files of a process."""

from __future__ import annotations

import json
from functools import cache

from gputopo.parsers.unreadable import Unreadable

_POD = "0a1b2c3d-0000-4000-8000-000000000001"
_ID = "0123456789abcdef" * 4
_SLICE = f"kubepods.slice/kubepods-pod{_POD.replace('-', '_')}.slice/cri-containerd-{_ID}.scope"
_DEVICE = {"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-a"], "topology": {"nodes": [{}, {"ID": "1"}]}}
_CLAIM = {"driverName": "gpu.nvidia.com", "poolName": "n", "deviceName": "gpu-0", "cdiDevices": [{"name": "v/c=0"}]}
_MEMORY = {"memoryType": "memory", "size": "64", "topology": {"nodes": [{}]}}
_CONTAINER = {
    "name": "main", "devices": [_DEVICE], "cpuIds": ["1", "300"], "memory": [_MEMORY],
    "dynamicResources": [{"claimName": "c", "claimNamespace": "ml", "claimResources": [_CLAIM]}],
}  # fmt: skip
_POD_RESOURCES = {"name": "a", "namespace": "ml", "containers": [_CONTAINER, {"name": "b"}], "cpuIds": ["1"]}
_PODS = {"podResources": [_POD_RESOURCES] * 2}
_ALLOCATABLE = {"devices": [_DEVICE], "cpuIds": ["1"], "memory": [_MEMORY]}
_LISTED = '{"gputopo": "gpu-processes", "gpus": [{"index": 0, "uuid": "GPU-a", "processes": [{"pid": 5}, {"pid": 6}]}]}'
_FILES = (
    f"12:cpuset:/{_SLICE}\n0::/\n\0Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0\n\0"
    "7f00 default anon=3 N0=1 N1=2 kernelpagesize_kB=4\n7f01 default file=/x huge N0=1 kernelpagesize_kB=2048\n\0"
    "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n\0"
    + json.dumps({"gputopo": "gpu-processes", "gpus": [{"index": 0, "uuid": "GPU-a", "processes": [{"pid": 5}],
                  "mps": {"error": 3}, "mig": [{"uuid": "MIG-a", "processes": [{"pid": 6}]}]}]})
)  # fmt: skip


@cache
def messages() -> tuple[bytes, ...]:
    """Answers of the podresources socket."""
    from google.protobuf.json_format import ParseDict

    from gputopo.parsers.podresources import ALLOCATABLE, LIST, wire

    pairs = ((LIST, _PODS), (ALLOCATABLE, _ALLOCATABLE))
    return tuple(ParseDict(value, wire.empty(call)).SerializeToString() for call, value in pairs)


def run_message(data: bytes, further: bool) -> None:
    """As a file of which nothing is known; `further`: as what a server sent."""
    from gputopo.parsers.podresources import ALLOCATABLE, LIST, parse_bytes
    from gputopo.parsers.recognise_holdings import parse

    if not further:
        parse(data)
        return
    for call in (LIST, ALLOCATABLE):
        for of_v1 in (True, False, None):
            assert parse_bytes(data, call, of_v1=of_v1)


def process_files() -> tuple[bytes, ...]:
    return (_FILES.encode(),)


class _Proc:
    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def read(self, path: str) -> bytes | None:
        return self.files.get(path.partition("/")[2])

    def names(self, path: str) -> tuple[str, ...] | None:
        return tuple(self.files)


def run_process(data: bytes, further: bool) -> None:
    """cgroup, status, numa_maps, mounts and the driver's list, with a NUL between; environ is all of them."""
    from gputopo.parsers.gpu_processes import holdings

    parts = (data.split(b"\0") + [b""] * 5)[:5]
    files = dict(zip(("cgroup", "status", "numa_maps", "mounts"), parts, strict=False)) | {"environ": data}
    listed = parts[4].decode("utf-8", "replace") if further else _LISTED
    proc = _Proc(files)
    assert holdings(listed, proc, proc if further else None).format


def run_answer(data: bytes, further: bool) -> None:
    """What a plugin answered to Allocate."""
    from base64 import b64encode

    from gputopo.parsers.allocate_answer import read

    text = b64encode(data).decode() if further else data.decode("latin-1")
    if "\n" in text:
        raise Unreadable("no base64 of one line")
    read(text, "nvidia.com/gpu")


@cache
def answers() -> tuple[bytes, ...]:
    from gputopo.protos.deviceplugin_pb2 import CDIDevice, ContainerAllocateResponse, DeviceSpec, Mount

    message = ContainerAllocateResponse(
        envs={"NVIDIA_VISIBLE_DEVICES": "GPU-a,1,0:1", "PCIDEVICE_X": "0000:3b:02.1"},
        mounts=[Mount(container_path="/var/run/nvidia-container-devices/GPU-a", host_path="/dev/null")],
        devices=[DeviceSpec(host_path="/dev/nvidia3"), DeviceSpec(host_path="/dev/infiniband/uverbs3")],
        annotations={"cdi.k8s.io/x": "nvidia.com/gpu=0"},
        cdi_devices=[CDIDevice(name="nvidia.com/gpu=1")],
    )
    return (message.SerializeToString(),)
