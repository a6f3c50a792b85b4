"""What GPU Feature Discovery's labels say, and where they cannot all be true.

Source: NVIDIA/k8s-device-plugin v0.20.0 internal/lm/resource.go (baseLabeler: count, replicas, sharing-strategy,
product with -SHARED), mig-strategy.go (product with -MIG-profile only under `single`, -MIG-INVALID, replicas 0 of GPUs
with MIG on), nvml.go (mps.capable).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gputopo.rules.manifests.objects.node_parts import NodePart, whole

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
STRATEGY, PRESENT, MPS = "nvidia.com/mig.strategy", "nvidia.com/gpu.present", "nvidia.com/mps.capable"
_SHARING = ("none", "time-slicing", "mps", "")
_MIG_STRATEGIES = ("none", "single", "mixed")
_SIZE = re.compile(r"(\d+)GB\b")
_FACTOR = 16  # how far a memory label may be from the size in the product's name: GH200 480GB names its CPU memory


class Contradiction(NamedTuple):
    label: str
    message: str
    because: str = ""
    remedy: str = ""


class Resource(NamedTuple):
    """The labels of one resource. None: no such label, or no number."""

    name: str
    devices: int | None
    replicas: int | None
    strategy: str | None
    product: str

    def label(self, last: str) -> str:
        return f"{self.name}.{last}"


def resources(node: NodePart) -> Iterator[Resource]:
    for label in node.labels:
        name = label.removesuffix(".count")
        if name != label and (name == GPU or name.startswith(MIG)):
            own = {last: node.labels.get(f"{name}.{last}") for last in ("count", "replicas")}
            strategy, product = node.labels.get(f"{name}.sharing-strategy"), node.labels.get(f"{name}.product", "")
            yield Resource(name, whole(own["count"]), whole(own["replicas"]), strategy, product)


def against_each_other(node: NodePart) -> Iterator[Contradiction]:
    for one in resources(node):
        yield from _sharing(one, node)
        yield from _memory(one, node)
    yield from _strategy(node)
    if node.labels.get(PRESENT) == "false" and whole(node.labels.get(f"{GPU}.count")):
        message = f"{PRESENT} is false beside {GPU}.count {node.labels[f'{GPU}.count']}"
        because = "the operator found no NVIDIA device on the PCI bus: the other labels are left over"
        yield Contradiction(PRESENT, message, because, "remove the labels that are left over")


def _sharing(one: Resource, node: NodePart) -> Iterator[Contradiction]:
    label = one.label("sharing-strategy")
    if one.strategy is not None and one.strategy not in _SHARING:
        yield Contradiction(label, f"{label} is {one.strategy}", "", "none, time-slicing or mps")
    elif one.replicas is not None and one.replicas > 1 and one.strategy == "none":
        yield Contradiction(label, f"{label} is none, and a GPU is shared by {one.replicas} replicas")
    elif one.replicas in (0, 1) and one.strategy in ("time-slicing", "mps"):
        yield Contradiction(label, f"{label} is {one.strategy}, and {one.label('replicas')} is {one.replicas}")
    if one.replicas in (0, 1) and one.product.endswith("-SHARED"):
        message = f"{one.label('product')} ends with -SHARED, and {one.label('replicas')} is {one.replicas}"
        yield Contradiction(one.label("product"), message)
    if one.strategy == "mps" and node.labels.get(MPS) == "false":
        yield Contradiction(MPS, f"{MPS} is false, and {label} is mps")


def _memory(one: Resource, node: NodePart) -> Iterator[Contradiction]:
    label = one.label("memory")
    text = node.labels.get(label)
    number = whole(text)
    size = _SIZE.search(one.product) if "-MIG-" not in one.product else None
    if text is not None and number is None:
        yield Contradiction(label, f"{label} is {text}, no whole number", "it counts MiB", "e.g. 81559")
    elif number and size is not None:
        mib = int(size[1]) * 1000 * 1000 * 1000 // 2**20
        if mib and not mib // _FACTOR < number < mib * _FACTOR:
            message = f"{label} {text} is in MiB, and {one.label('product')} says {size[0]}"
            yield Contradiction(label, message, "", f"about {mib}")


def _strategy(node: NodePart) -> Iterator[Contradiction]:
    strategy, product = node.labels.get(STRATEGY), node.labels.get(f"{GPU}.product", "")
    label = f"{GPU}.product"
    if strategy is not None and strategy not in _MIG_STRATEGIES:
        yield Contradiction(STRATEGY, f"{STRATEGY} is {strategy}", "", ", ".join(_MIG_STRATEGIES))
    elif product.endswith("-MIG-INVALID"):
        because = "a GPU with MIG on has no instances, MIG is on for some GPUs only, or there are several profiles"
        remedy = "one profile on every GPU, or mig.strategy mixed"
        yield Contradiction(label, f"{product}: the node's MIG devices do not fit strategy single", because, remedy)
    elif "-MIG-" in product and strategy != "single" and f"{GPU}.count" in node.labels:
        message = f"{label} names a MIG profile, and {STRATEGY} is {strategy or 'not there'}"
        yield Contradiction(label, message, "only strategy single writes it there")


def against_node(node: NodePart) -> Iterator[Contradiction]:
    """The labels of what is made by NVIDIA's device plugin, against its resources."""
    if not made_by_nvidias_plugin(node):
        return
    for one in resources(node):
        yield from _count(one, node)
    strategy = node.labels.get(STRATEGY, "none")
    served = sorted(name for name, number in node.capacity.items() if name.startswith(MIG) and number)
    if served and strategy != "mixed" and f"{GPU}.count" in node.labels:
        label = STRATEGY if STRATEGY in node.labels else f"{GPU}.count"
        message = f"the node serves {served[0]}, and {STRATEGY} is {strategy if label == STRATEGY else 'not there'}"
        yield Contradiction(label, message, "only strategy mixed serves resources named after a profile")


def made_by_nvidias_plugin(node: NodePart) -> bool:
    hami = any(key.startswith("hami.io/node-") for key in node.annotations)
    ack = node.labels.get("ack.node.gpu.schedule", "default") != "default"
    return not hami and not ack and node.labels.get("run.ai/fake.gpu") != "true"


def _count(one: Resource, node: NodePart) -> Iterator[Contradiction]:
    capacity = _capacity(one, node)
    if one.devices is None or one.replicas is None or capacity is None or not one.replicas:
        return
    if one.name == GPU and (node.labels.get(STRATEGY) == "mixed" or not one.devices):
        return  # GPUs with MIG on are counted, and served by their profiles
    expected = one.devices * one.replicas
    if capacity == expected:
        return
    label = one.label("count")
    said = f"{label} {one.devices}"
    sum_ = f"{said} and {one.replicas} replicas of each make {expected}" if one.replicas > 1 else f"{said}"
    because, remedy = "", ""
    if not capacity:
        because = "the device plugin has not registered, or the GPUs are handed out in another way"
    elif one.replicas == 1 and capacity % one.devices == 0:
        because = f"the device plugin shares each GPU {capacity // one.devices} times, and the labels do not say so"
        remedy = "give GPU Feature Discovery the device plugin's configuration"
    elif capacity > expected:
        because = "the labels name one product only where a node has several, or they are left over"
    yield Contradiction(label, f"{sum_}, and the capacity is {capacity}", because, remedy)


def _capacity(one: Resource, node: NodePart) -> int | None:
    """Of the resource that the labels are about. None: not said, or renamed to something unknown."""
    if one.replicas is not None and one.replicas > 1 and one.product and not one.product.endswith("-SHARED"):
        return node.capacity.get(f"{one.name}.shared")
    return node.capacity.get(one.name)
