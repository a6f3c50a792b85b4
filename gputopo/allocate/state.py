"""What is free and who holds what, before and after a request.

    >>> node = NodeTopology()
    >>> state = State.of(node, ("GPU0", "GPU1", "GPU2"))
    >>> after = state.taken("pod-a", ("GPU1",))
    >>> after.free, after.held
    (('GPU0', 'GPU2'), (Holding(owner='pod-a', devices=('GPU1',), cpus=None),))
    >>> after.released("pod-a") == state
    True
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from gputopo.terms.cpu_set import CpuSet
from gputopo.topology.node import NodeTopology

REPLICA = "::"  # between a device's id and the number of its replica, in the device plugin's ids


class Holding(NamedTuple):
    owner: str
    devices: tuple[str, ...]
    cpus: CpuSet | None = None


class State(NamedTuple):
    """The node and its units: GPU ids (`GPU0`), MIG UUIDs, or replicas (`GPU0::3`)."""

    node: NodeTopology
    units: tuple[str, ...]  # every unit of the resource, healthy or not, in the node's order
    free: tuple[str, ...]  # healthy and held by nobody, in the same order
    held: tuple[Holding, ...] = ()
    cpus: CpuSet | None = None  # free for exclusive use; None: not looked at
    memory: tuple[tuple[int, int], ...] | None = None  # (NUMA node, free bytes); None: not looked at

    @classmethod
    def of(cls, node: NodeTopology, units: tuple[str, ...], in_use: Collection[str] = ()) -> State:
        return cls(node, units, tuple(unit for unit in units if unit not in in_use))

    def taken(self, owner: str, devices: tuple[str, ...], cpus: CpuSet | None = None) -> State:
        """The state after these were given. Raises ValueError when one of them is not free."""
        missing = [device for device in devices if device not in self.free]
        if missing:
            raise ValueError(f"not free: {', '.join(missing)}")
        return self._replace(
            free=tuple(device for device in self.free if device not in devices),
            held=(*self.held, Holding(owner, devices, cpus)),
            cpus=self.cpus - cpus if self.cpus is not None and cpus is not None else self.cpus,
        )

    def released(self, owner: str) -> State:
        """The state after all that this owner holds came back. Raises ValueError when it holds nothing."""
        mine = [holding for holding in self.held if holding.owner == owner]
        if not mine:
            raise ValueError(f"{owner} holds nothing")
        free = {*self.free, *(device for holding in mine for device in holding.devices)}
        cpus = self.cpus
        for holding in mine:
            if cpus is not None and holding.cpus is not None:
                cpus = cpus | holding.cpus
        return self._replace(
            free=tuple(unit for unit in self.units if unit in free),
            held=tuple(holding for holding in self.held if holding.owner != owner),
            cpus=cpus,
        )


def physical(unit: str) -> str:
    """The device behind a unit: a replica's GPU, else the unit itself.

    >>> physical("GPU0::3"), physical("MIG-5f")
    ('GPU0', 'MIG-5f')
    """
    return unit.split(REPLICA, 1)[0]
