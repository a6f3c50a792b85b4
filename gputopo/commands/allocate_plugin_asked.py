"""What `allocate device-plugin` asks: of which resource and how many, on a node in its present state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.commands import allocate_objects as given
from gputopo.commands import allocate_options as shared
from gputopo.commands.allocate_holdings import holding
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.device_plugin.fabric import FmPartition
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State
    from gputopo.commands.allocate_reading import Reading
    from gputopo.topology.node import NodeTopology


class Asking(NamedTuple):
    """The request as the options give it."""

    size: int
    available: str | None
    in_use: str | None
    must_include: str | None
    ordered: str | None
    resource: str | None
    partitions: Sequence[FmPartition] | None


def resource_and_size(
    objects: given.Objects, resource: str | None, container: str | None, count: int | None
) -> tuple[str | None, int]:  # fmt: skip
    """Of which resource and how many. The plugin is asked container by container. Raises GputopoError, WrongShape."""
    pod = objects.pod
    if pod is None:
        return resource, shared.checked_count(count)
    from gputopo.allocate.decider.asks import containers

    own = resource if resource is None or "/" in resource else f"nvidia.com/{resource}"
    names = {name for one in containers(pod) for name, amount in one.asks.items() if amount and _is_ours(name)}
    if own is None and len(names) > 1:
        several = ", ".join(sorted(names))
        raise GputopoError(f"the pod asks for several resources: {several}", pod.where, "--resource NAME")
    own = own or next(iter(names), "nvidia.com/gpu")
    asking = [one for one in containers(pod) if one.asks.get(own)]
    one = given.one_container(asking, pod, container, own)
    return own, shared.checked_count(count, int(one.asks[own]))


def _is_ours(resource: str) -> bool:
    return resource.startswith(("nvidia.com/gpu", "nvidia.com/mig-")) and not resource.startswith(
        ("nvidia.com/gpumem", "nvidia.com/gpucores")
    )


def prepared(
    node: NodeTopology, plugin: DevicePlugin, asked: Asking, found: Reading
) -> tuple[State, Request, tuple[str, ...] | None]:  # fmt: skip
    """What is asked in which state, and the order in which the free ones are handed over. Raises GputopoError."""
    from gputopo.allocate.device_plugin.units import offered
    from gputopo.allocate.gpu_set import resolve
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    units = offered(node, plugin.config)
    name = _resource(asked.resource, tuple(units))
    own = units[name]
    free, order = shared.free_units(node, own, asked.available, asked.in_use, asked.ordered)
    given_free = asked.available or asked.in_use or asked.ordered
    state = holding(State(node, own, free), name, found.beside.states, given=given_free)
    must = resolve(node, asked.must_include, "--must-include", own) if asked.must_include is not None else ()
    lost = [one for one in must if one not in state.free]
    if lost:
        raise GputopoError(f"not among the free ones: {', '.join(lost)}", "--must-include")
    if len(must) > asked.size:
        raise GputopoError(f"{len(must)} are required and {asked.size} asked for", "--must-include")
    return state, Request(asked.size, must, name), order


def _resource(name: str | None, offered: Sequence[str]) -> str:
    from gputopo.allocate.device_plugin.units import GPU

    if not offered:
        raise GputopoError("the plugin offers nothing on this node", "", "see its MIG strategy", 1)
    if name is None:
        if GPU in offered or len(offered) == 1:
            return GPU if GPU in offered else offered[0]
        raise GputopoError(f"which resource? {', '.join(offered)}", "--resource")
    if "/" not in name:
        name = f"nvidia.com/{name}"
    if name not in offered:
        raise GputopoError(f"the plugin does not offer {name} here", "--resource", f"it offers {', '.join(offered)}", 1)
    return name
