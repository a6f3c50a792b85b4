"""What a device plugin answered to Allocate: `AllocResp` of the kubelet's checkpoint, base64 of protobuf.

ContainerAllocateResponse of k8s.io/kubelet, pkg/apis/deviceplugin/v1beta1. It names the devices once more, each
way by its strategy (NVIDIA k8s-device-plugin, internal/plugin/server.go), so that the two can be compared:

    env         NVIDIA_VISIBLE_DEVICES=GPU-…,GPU-…   UUIDs without replica, or NVML indexes
    mount       /dev/null → /var/run/nvidia-container-devices/GPU-…
    annotation  cdi.k8s.io/nvidia-device-plugin_…: k8s.device-plugin.nvidia.com/gpu=GPU-…
    cdi         the same names as CDI devices of the container runtime
    node        /dev/nvidia0 (0 is the minor number), /dev/infiniband/uverbs3

    >>> answer = read("ChsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSATI=", "nvidia.com/gpu")
    >>> answer.visible, [(one.id, one.space, one.by) for one in answer.devices]
    (('2',), [('2', 'index', 'env')])
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gputopo.holdings import DeviceHeld
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.device_id import is_cdi, space_of, visible

if TYPE_CHECKING:
    from gputopo.protos.deviceplugin_pb2 import ContainerAllocateResponse

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_PCI_VARIABLE = "PCIDEVICE_"  # of the SR-IOV network device plugin: PCIDEVICE_<RESOURCE>=0000:3b:02.1,…
_VOLUMES = "/var/run/nvidia-container-devices/"
_IMEX = "imex/"  # below _VOLUMES: channels of a compute domain
_ANNOTATION = "cdi.k8s.io/"
_MINOR = re.compile(r"/dev/nvidia(\d{1,4})\Z", re.ASCII)
_VERBS = re.compile(r"/dev/infiniband/(uverbs\d{1,4})\Z", re.ASCII)


class AllocateAnswer(NamedTuple):
    devices: tuple[DeviceHeld, ...]
    visible: tuple[str, ...] | None  # NVIDIA_VISIBLE_DEVICES as written; None: not set


def read(answer: str, resource: str) -> AllocateAnswer:
    """Raises Unreadable."""
    from base64 import b64decode

    from google.protobuf.message import DecodeError

    from gputopo.protos.deviceplugin_pb2 import ContainerAllocateResponse

    try:
        message = ContainerAllocateResponse.FromString(b64decode(answer, validate=True))
    except (ValueError, DecodeError):
        raise Unreadable("AllocResp is not the answer of a device plugin") from None
    told = message.envs.get(VISIBLE)
    devices = dict.fromkeys(DeviceHeld(resource, id, space, by=by) for id, space, by in _named(message))
    return AllocateAnswer(tuple(devices), None if told is None else tuple(told.split(",")))


def _named(message: ContainerAllocateResponse) -> Iterator[tuple[str, str, str]]:
    """(id, space, by what) of all that names one device."""
    for key, value in sorted(message.envs.items()):
        if key == VISIBLE:
            yield from ((id, space, "env") for id, space in visible(value))
        elif key.startswith(_PCI_VARIABLE):
            words = (word.strip() for word in value.split(","))
            yield from ((word, "pci", "env") for word in words if space_of(word) == "pci")
    for mount in message.mounts:
        found = _mounted(mount.container_path)
        if found is not None:
            yield (*found, "mount")
    for _, value in sorted((key, value) for key, value in message.annotations.items() if key.startswith(_ANNOTATION)):
        yield from ((word.strip(), "cdi", "annotation") for word in value.split(",") if is_cdi(word.strip()))
    yield from ((device.name, "cdi", "cdi") for device in message.cdi_devices if device.name)
    for node in message.devices:
        if minor := _MINOR.match(node.host_path):
            yield minor[1], "minor", "node"
        elif verbs := _VERBS.match(node.host_path):
            yield verbs[1], "name", "node"


def _mounted(path: str) -> tuple[str, str] | None:
    """The device that a mount's name in the container says: `…/GPU-…`, `…/0`, `…/cdi/VENDOR/CLASS/NAME`."""
    id = path.removeprefix(_VOLUMES)
    if id in ("", path) or id.startswith(_IMEX):
        return None
    parts = id.split("/")
    if len(parts) == 4 and parts[0] == "cdi":
        return f"{parts[1]}/{parts[2]}={parts[3]}", "cdi"
    found = visible(id)
    return found[0] if len(found) == 1 else None
