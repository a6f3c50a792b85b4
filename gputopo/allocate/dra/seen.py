"""An answer as a person asks for it: the GPUs and NICs behind the devices, and how far they are apart."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.dra.allocate import Attempt
from gputopo.allocate.dra.join import Joined, numa_of
from gputopo.allocate.dra.objects import Device, DeviceId, World
from gputopo.allocate.dra.result import Given
from gputopo.allocate.outcome import Outcome, Viewer
from gputopo.topology.node import NodeTopology

Json = dict[str, object]


class Seen(NamedTuple):
    """`pairs`: GPU, NIC and how near they are, for each GPU of the answer and each NIC of it."""

    outcome: Outcome
    claims: tuple[Json, ...]
    node_selector: Json | None
    pairs: tuple[tuple[str, str, str | None], ...] = ()


def seen_on(
    one: Attempt, world: World, topology: NodeTopology | None, joined: Joined, named: bool, pool_named: bool = True
) -> Seen:
    given = [each for claim in one.results for each in claim.given]
    gpus = tuple(dict.fromkeys(joined.gpus[each.id] for each in given if each.id in joined.gpus))
    nics = tuple(dict.fromkeys(joined.nics[each.id] for each in given if each.id in joined.nics))
    devices = tuple(str(each.id) if named else joined.gpus.get(each.id, str(each.id)) for each in given)
    if topology is not None and gpus:
        outcome = Viewer(topology).outcome(gpus)._replace(devices=devices)
    else:
        outcome = _from_attributes(given, world)._replace(devices=devices)
    selectors = [claim.node_selector for claim in one.results if claim.node_selector is not None]
    return Seen(
        outcome,
        tuple(_claim(each, joined, named, pool_named) for each in given),
        selectors[0] if selectors else None,
        _pairs(topology, gpus, nics),
    )


def _claim(one: Given, joined: Joined, named: bool, pool_named: bool) -> Json:
    """A name that the evidence does not hold is None."""
    return {
        "claim": one.claim, "request": one.request, "driver": one.id.driver,
        "pool": one.id.pool if pool_named else None,
        "device": one.id.device if named else None, "gpu": joined.gpus.get(one.id), "nic": joined.nics.get(one.id),
        "adminAccess": one.admin_access, "consumedCapacity": one.consumed,
    }  # fmt: skip


def _from_attributes(given: list[Given], world: World) -> Outcome:
    """NUMA nodes where every device has such an attribute; sockets are never in a slice."""
    devices: dict[DeviceId, Device] = {own.id_of(each): each for own in world.slices for each in own.devices}
    numa = [numa_of(devices[one.id], one.id.driver) for one in given]
    known = [one for one in numa if one is not None]
    if not numa or len(known) != len(numa):
        return Outcome((), ())
    nodes = tuple(sorted({each for one in known for each in one}))
    crossing = any(not set(one) & set(other) for one in known for other in known)
    return Outcome((), (), numa_nodes=nodes, cross_numa=crossing)


def _pairs(
    topology: NodeTopology | None, gpus: tuple[str, ...], nics: tuple[str, ...]
) -> tuple[tuple[str, str, str | None], ...]:
    if topology is None:
        return ()
    levels = {frozenset((pair.a, pair.b)): pair.level for pair in topology.pairs}
    return tuple((gpu, nic, levels.get(frozenset((gpu, nic)))) for gpu in gpus for nic in nics)
