"""What a container is told of devices, each way that a device plugin or a runtime has, as devices.

    env         NVIDIA_VISIBLE_DEVICES=GPU-…,GPU-…   UUIDs without replica, or NVML indexes; all, none, void name none
                PCIDEVICE_<RESOURCE>=0000:3b:02.1    of the SR-IOV network device plugin
    mount       /dev/null → /var/run/nvidia-container-devices/GPU-…
    annotation  cdi.k8s.io/nvidia-device-plugin_…: k8s.device-plugin.nvidia.com/gpu=GPU-…
    node        /dev/nvidia0 (0 is the minor number), /dev/infiniband/uverbs3

    >>> list(of_variable("NVIDIA_VISIBLE_DEVICES", "2,void")), list(of_node("/dev/nvidia3"))
    ([('2', 'index')], [('3', 'minor')])
    >>> list(of_mount("/var/run/nvidia-container-devices/cdi/nvidia.com/gpu/0"))
    [('nvidia.com/gpu=0', 'cdi')]

(NVIDIA k8s-device-plugin, internal/plugin/server.go; nvidia-container-toolkit, internal/config/image.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.terms.device_id import is_cdi, space_of, visible

VISIBLE = "NVIDIA_VISIBLE_DEVICES"
_PCI_VARIABLE = "PCIDEVICE_"
_VOLUMES = "/var/run/nvidia-container-devices/"
_IMEX = "imex/"  # below _VOLUMES: channels of a compute domain
_ANNOTATION = "cdi.k8s.io/"
_MINOR = re.compile(r"/dev/nvidia(\d{1,4})\Z", re.ASCII)
_VERBS = re.compile(r"/dev/infiniband/(uverbs\d{1,4})\Z", re.ASCII)

Named = tuple[str, str]  # id, space


def of_variable(key: str, value: str) -> Iterator[Named]:
    """Of one variable of the environment."""
    if key == VISIBLE:
        yield from visible(value)
    elif key.startswith(_PCI_VARIABLE):
        words = (word.strip() for word in value.split(","))
        yield from ((word, "pci") for word in words if space_of(word) == "pci")


def of_mount(path: str) -> Iterator[Named]:
    """Of a mount's place in the container: `…/GPU-…`, `…/0`, `…/cdi/VENDOR/CLASS/NAME`."""
    id = path.removeprefix(_VOLUMES)
    if id in ("", path) or id.startswith(_IMEX):
        return
    parts = id.split("/")
    if len(parts) == 4 and parts[0] == "cdi":
        yield f"{parts[1]}/{parts[2]}={parts[3]}", "cdi"
        return
    found = visible(id)
    if len(found) == 1:
        yield found[0]


def of_annotation(key: str, value: str) -> Iterator[Named]:
    """CDI names, where the annotation is one of CDI."""
    if key.startswith(_ANNOTATION):
        yield from ((word.strip(), "cdi") for word in value.split(",") if is_cdi(word.strip()))


def of_node(path: str) -> Iterator[Named]:
    """Of a device file on the host."""
    if minor := _MINOR.match(path):
        yield minor[1], "minor"
    elif verbs := _VERBS.match(path):
        yield verbs[1], "name"
