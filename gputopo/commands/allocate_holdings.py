"""What the kubelet's state files say is held, as the state that a mechanism is asked in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gputopo.allocate.assumed import Assumed
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.state import State
    from gputopo.parsers.kubelet_state import DeviceCheckpoint, KubeletState
    from gputopo.topology.node import NodeTopology


def holding(state: State, resource: str, states: Sequence[KubeletState], *, given: str | None) -> State:
    """The state with all that these files hold. `given`: options already said which devices are free.

    Raises GputopoError for a device of the resource that the node does not have.
    """
    from gputopo.allocate.state import Holding
    from gputopo.parsers.kubelet_state import CpuManagerState, DeviceCheckpoint, MemoryManagerState

    for one in states:
        if isinstance(one, CpuManagerState):
            held = tuple(Holding(f"{cpus.pod}/{cpus.container}", (), cpus.cpus) for cpus in one.held)
            of_pods = tuple(Holding(pod, (), cpus) for pod, cpus in one.pods)
            state = state._replace(held=(*state.held, *held, *of_pods))
        elif isinstance(one, MemoryManagerState):
            state = state._replace(memory=one.free)
        elif isinstance(one, DeviceCheckpoint) and given is None:
            state = _devices(state, resource, one)
    return state


def assumed(states: Sequence[KubeletState]) -> tuple[Assumed, ...]:
    """What the answer rests on where such files were read: the kubelet forgets ended pods only now and then."""
    if not states:
        return ()
    return (Assumed("every container in the kubelet's state files still runs", "kubectl get pods, or --in-use SET"),)


def _devices(state: State, resource: str, checkpoint: DeviceCheckpoint) -> State:
    """Init containers' devices are handed on to the app containers of their pod: each is held once."""
    from gputopo.allocate.state import Holding

    taken: set[str] = set()
    held = []
    for one in checkpoint.held:
        if one.resource != resource:
            continue
        units = tuple(_unit(state, id) for id in one.devices)
        own = tuple(unit for unit in units if unit not in taken)
        taken.update(own)
        held.append(Holding(f"{one.pod}/{one.container}", own))
    free = tuple(unit for unit in state.free if unit not in taken)
    return state._replace(free=free, held=(*state.held, *held))


def _unit(state: State, id: str) -> str:
    """The node's name of a device that the plugin knows by UUID."""
    by_uuid = _names(state.node)
    device, colons, replica = id.partition("::")
    name = by_uuid.get(device, device) + colons + replica
    if name in state.units:
        return name
    if name == device and device.startswith(("GPU-", "MIG-")):
        raise GputopoError(
            f"the kubelet's checkpoint names {id}, which is no unit of this node", "",
            "give nvidia-smi -L beside it, so that UUIDs can be joined; or --in-use SET",
        )  # fmt: skip
    raise GputopoError(f"the kubelet's checkpoint names {id}, and the node has no such unit", "", "--in-use SET")


def _names(node: NodeTopology) -> dict[str, str]:
    return {gpu.uuid: gpu.id for gpu in node.gpus if gpu.uuid}
