"""What a device plugin answered to Allocate: `AllocResp` of the kubelet's checkpoint, base64 of protobuf.

ContainerAllocateResponse of k8s.io/kubelet, pkg/apis/deviceplugin/v1beta1. It names the devices once more, each way
by its strategy (told_devices.py; `cdi`: as CDI devices of the runtime), so that the two can be compared:

    >>> answer = read("ChsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSATI=", "nvidia.com/gpu")
    >>> answer.visible, [(one.id, one.space, one.by) for one in answer.devices]
    (('2',), [('2', 'index', 'env')])
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from gputopo.holdings import DeviceHeld
from gputopo.parsers import told_devices as told
from gputopo.parsers.unreadable import Unreadable

if TYPE_CHECKING:
    from gputopo.protos.deviceplugin_pb2 import ContainerAllocateResponse


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
    value = message.envs.get(told.VISIBLE)
    devices = dict.fromkeys(DeviceHeld(resource, id, space, by=by) for id, space, by in _named(message))
    return AllocateAnswer(tuple(devices), None if value is None else tuple(value.split(",")))


def _named(message: ContainerAllocateResponse) -> Iterator[tuple[str, str, str]]:
    """(id, space, by what) of all that names one device."""
    for key, value in sorted(message.envs.items()):
        yield from ((*one, "env") for one in told.of_variable(key, value))
    for mount in message.mounts:
        yield from ((*one, "mount") for one in told.of_mount(mount.container_path))
    for key, value in sorted(message.annotations.items()):
        yield from ((*one, "annotation") for one in told.of_annotation(key, value))
    yield from ((device.name, "cdi", "cdi") for device in message.cdi_devices if device.name)
    for node in message.devices:
        yield from ((*one, "node") for one in told.of_node(node.host_path))
