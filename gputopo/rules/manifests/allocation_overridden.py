"""GT362 allocation-overridden

What it says
    A container takes other GPUs than it was given, or GPUs without asking: by NVIDIA_VISIBLE_DEVICES, by an index in
    CUDA_VISIBLE_DEVICES that it does not have, or by a device file of the node.

Why it matters
    The scheduler and the kubelet count other GPUs than are used: two pods meet on one GPU, and what the device plugin
    chose by topology is lost.

What to do
    Ask for GPUs below `limits` and leave the variables out. Inside a container its GPUs are numbered from 0.

When it is silent
    The variable is not set in the manifest, comes from elsewhere (valueFrom, the image), or hides all GPUs of a
    container that asks for none. Of GPUs that another scheduler hands out in parts nothing is said. DaemonSets and
    privileged containers that ask for no GPU look after the node, and may see all of it. Claims are passed over: their
    driver injects by CDI.

    Source: kubernetes v1.36.3 pkg/kubelet/kubelet_pods.go (GenerateRunContainerOptions puts the container's own
    variables behind those of the device plugin, and the later value of a name counts); NVIDIA/k8s-device-plugin v0.20.0
    internal/plugin/server.go (NVIDIA_VISIBLE_DEVICES by deviceListStrategy); CUDA C++ Programming Guide,
    CUDA_VISIBLE_DEVICES.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [pod] = read('''apiVersion: v1
    ... kind: Pod
    ... metadata: {name: p}
    ... spec:
    ...   containers:
    ...   - name: c
    ...     env: [{name: NVIDIA_VISIBLE_DEVICES, value: all}]
    ...     resources: {limits: {nvidia.com/gpu: 1}}
    ... ''')
    >>> [(found.place, found.message) for found in check(pod, Context())]
    [(Place(line=7, column=49), 'the container sees every GPU of the node, not the nvidia.com/gpu: 1 that it is given')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gputopo.rules.manifests.objects.pod_parts import (
    GPU,
    POD_KINDS,
    Container,
    PodPart,
    amounts,
    containers,
    gpus_asked,
    listed,
    mapping_of,
    pod_parts,
    text_of,
)
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.manifest import Manifest, Path

CODE = "GT362"
SEVERITY = "warning"
KINDS = POD_KINDS
_VISIBLE, _CUDA = "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
_HIDES = ("", "void", "none")
_MOUNTED = "/var/run/nvidia-container-devices"  # what the strategy volume-mounts sets
_DEVICE = re.compile(r"/dev/nvidia\d+")
_ENVVAR = "with the device plugin's default deviceListStrategy, envvar, this value takes the place of the plugin's"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    of_node = manifest.kind == "DaemonSet"
    for part in pod_parts(manifest):
        for container in containers(part):
            if container.resources.get("claims"):
                continue
            asked = gpus_asked(container)
            found = _variable(container, _VISIBLE)
            if found is not None and asked:
                said = "; ".join(f"{name}: {one.text}" for name, one in asked.items())
                yield from _overrides(manifest, *found, said)
            elif found is not None and not of_node and not _privileged(container) and not _elsewhere(part, container):
                yield from _unasked(manifest, *found)
            elif asked and not _privileged(container):
                yield from _indices(manifest, container)
        if not of_node:
            yield from _device_files(manifest, part)


def _overrides(manifest: Manifest, path: Path, value: str, asked: str) -> Iterator[Problem]:
    if value == _MOUNTED:
        return
    if value == "all":
        message = f"the container sees every GPU of the node, not the {asked} that it is given"
    elif value in _HIDES:
        message = f"{_VISIBLE}={value} hides the {asked} that the container is given"
    else:
        message = f"the container sees {value}, not the {asked} that it is given"
    yield problem(CODE, SEVERITY, manifest, path, message, _ENVVAR, f"leave {_VISIBLE} out")


def _unasked(manifest: Manifest, path: Path, value: str) -> Iterator[Problem]:
    if value in _HIDES or value == _MOUNTED:
        return
    sees = "every GPU of the node" if value == "all" else value
    message = f"the container sees {sees} and asks for none: nobody counts these GPUs as taken"
    because = "under NVIDIA's container runtime the variable alone is enough"
    yield problem(CODE, SEVERITY, manifest, path, message, because, f"limits: {{{GPU}: 1}} in place of {_VISIBLE}")


def _indices(manifest: Manifest, container: Container) -> Iterator[Problem]:
    asked = gpus_asked(container)
    found = _variable(container, _CUDA)
    if found is None or list(asked) != [GPU]:
        return
    path, value = found
    number = asked[GPU].number
    for word in value.split(","):
        index = word.strip()
        if number is not None and index.isascii() and index.isdigit() and int(index) >= number:
            message = f"{_CUDA} has {index}, and the container has {GPU}: {asked[GPU].text}, numbered from 0"
            because = "CUDA ends the list at the first index that is not there"
            yield problem(CODE, SEVERITY, manifest, path, message, because, f"leave {_CUDA} out")
            return


def _device_files(manifest: Manifest, part: PodPart) -> Iterator[Problem]:
    if any(_privileged(container) for container in containers(part)):
        return
    for path, body in listed(part.spec, "volumes", part.spec_path):
        file = text_of(mapping_of(body, "hostPath"), "path")
        if _DEVICE.fullmatch(file):
            message = f"{file} of the node is mounted: nobody counts this GPU as taken"
            remedy = f"limits: {{{GPU}: 1}} in place of the volume"
            yield problem(CODE, SEVERITY, manifest, (*path, "hostPath", "path"), message, "", remedy)


def _variable(container: Container, name: str) -> tuple[Path, str] | None:
    """The path of its value, and the value. Of a name given twice the last one counts; None: not said here."""
    found = None
    for path, body in listed(container.body, "env", container.path):
        if text_of(body, "name") == name:
            value = body.get("value")
            plain = isinstance(value, str) and "$(" not in value and "valueFrom" not in body
            found = ((*path, "value"), str(value).strip()) if plain else None
    return found


def _elsewhere(part: PodPart, container: Container) -> bool:
    """Whether the pod has GPUs, or parts of them, from another scheduler or by an annotation."""
    names = {*amounts(container, "limits"), *amounts(container, "requests")}
    names |= set(map(str, mapping_of(part.metadata, "annotations")))
    return any("gpu" in name.lower() for name in names)


def _privileged(container: Container) -> bool:
    return mapping_of(container.body, "securityContext").get("privileged") is True
