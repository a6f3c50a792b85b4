"""What one text of objects says, before it is known which node each of them concerns: another text may tell."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.holdings import ClaimRecord, ContainerHolding, DeviceHeld, DeviceName, PodRecord
from gputopo.records import Gap, Observation


class PodSaid(NamedTuple):
    record: PodRecord
    containers: tuple[ContainerHolding, ...] = ()
    gaps: tuple[Gap, ...] = ()


class ClaimSaid(NamedTuple):
    record: ClaimRecord
    nodes: tuple[str, ...] = ()  # by its nodeSelector
    pools: tuple[tuple[str, str], ...] = ()  # (driver, pool) of its devices
    names: tuple[DeviceName, ...] = ()


class SliceSaid(NamedTuple):
    driver: str
    pool: str
    generation: int
    node: str  # "": of several nodes
    names: tuple[DeviceName, ...] = ()
    devices: tuple[DeviceHeld, ...] = ()


class NodeSaid(NamedTuple):
    """Of a Node, or of another object that describes one."""

    name: str
    fake: str = ""
    pool_labels: tuple[tuple[str, str], ...] = ()  # labels, where the node's GPUs are fake
    kwok: bool = False
    counts: tuple[tuple[str, int], ...] | None = None  # allocatable
    names: tuple[DeviceName, ...] = ()
    devices: tuple[DeviceHeld, ...] | None = None
    containers: tuple[ContainerHolding, ...] = ()
    policies: tuple[tuple[str, str], ...] = ()
    observations: tuple[Observation, ...] = ()


class FakePools(NamedTuple):
    """The ConfigMap that the fake-gpu-operator is installed with: GPUs of a node of each pool, None not said."""

    config_map: str
    label: str
    counts: tuple[tuple[str, int | None], ...]


class EventSaid(NamedTuple):
    """A pod was refused, or found no node."""

    pod: PodRecord
    at: str | None
    waits: bool = False  # for a node


class Said(NamedTuple):
    """Of one text. A later object of one name takes the place of an earlier one."""

    pods: tuple[PodSaid, ...] = ()
    claims: tuple[ClaimSaid, ...] = ()
    slices: tuple[SliceSaid, ...] = ()
    nodes: tuple[NodeSaid, ...] = ()
    fake_pools: tuple[FakePools, ...] = ()
    fake_nodes: tuple[NodeSaid, ...] = ()  # by the ConfigMap of the fake-gpu-operator for it
    events: tuple[EventSaid, ...] = ()
    gaps: tuple[Gap, ...] = ()
