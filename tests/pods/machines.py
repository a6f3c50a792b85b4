"""Small nodes and sources for tests of who holds what."""

from __future__ import annotations

from typing import Any

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, PodRecord
from gputopo.pods.join import join
from gputopo.pods.model import Held
from gputopo.pods.spoken import Spoken
from gputopo.rules.pods.example import node as small
from gputopo.topology.node import NodeTopology, Source

GPU = "nvidia.com/gpu"


def uuid(number: int) -> str:
    return f"GPU-00000000-0000-4000-8000-{number:012d}"


def node(nvlinks: int = 0) -> NodeTopology:
    """GPU0, GPU1 on socket 0, GPU2, GPU3 on socket 1, with UUIDs, indices and (other) minor numbers."""
    made = small(nvlinks)
    gpus = tuple(
        gpu._replace(uuid=uuid(at), nvml_index=at, minor=3 - at, pci=f"0000:{at + 1:02x}:00.0")
        for at, gpu in enumerate(made.gpus)
    )
    return made._replace(gpus=gpus, name="n1")


def devices(
    *numbers: int, by: str = "", resource: str = GPU, numa: dict[int, int] | None = None
) -> tuple[DeviceHeld, ...]:
    return tuple(
        DeviceHeld(resource, uuid(one), "uuid", (numa[one],) if numa and one in numa else None, by=by)
        for one in numbers
    )


def container(pod: str | None, uid: str | None, name: str | None, *numbers: int, **fields: Any) -> ContainerHolding:
    held = fields.pop("devices", devices(*numbers) if numbers else None)
    return ContainerHolding("ml" if pod else None, pod, uid, name, devices=held, **fields)


def pod(name: str, uid: str | None, phase: str = "Running", **fields: Any) -> PodRecord:
    return PodRecord("ml", name, uid, phase, **fields)


def said(format: str, *containers: ContainerHolding, **fields: Any) -> Spoken:
    return Spoken(Source(format, format, format, "", True), HoldingRecords(format, containers=containers, **fields))


def held(*spoken: Spoken, on: NodeTopology | None = None) -> Held:
    return join(node() if on is None else on, spoken)
