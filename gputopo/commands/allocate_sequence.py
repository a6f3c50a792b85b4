"""`gputopo allocate sequence [SOURCE]... --request 1,1,2,4`: what many requests leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.protocol import Mechanism
    from gputopo.allocate.sequence.events import Event
    from gputopo.allocate.sequence.forecast import Forecast
    from gputopo.topology.node import NodeTopology

RESOURCE = "nvidia.com/gpu"
_PLAIN = "no replicas, no MIG, no exclusive CPUs"


def command(
    sources: options.Sources = None,
    request: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--request", metavar="N,N,...", help="GPUs of each pod in order; -2 ends the second one."),
    ] = None,
    pods: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--pods", metavar="FILE", help="Pods and workloads that start in this order, instead."),
    ] = None,
    all_orders: Annotated[bool, typer.Option("--all-orders", help="Try every other order of the pods, too.")] = False,
    topology_manager_policy: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="POLICY", help="The kubelet's, which may refuse a pod; default: none."),
    ] = None,
    in_use: shared.InUse = None,
    available: shared.Available = None,
    as_format: options.As = None,
    form: options.Output = "text",
    output_file: options.OutputFile = None,
    color: options.Color = "auto",
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    each: options.Each = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """What many requests, one after another, leave behind: every set each can get, which is the first that is
    refused or split, what order or placement avoids it, and the fewest restarts that repair it.

    A set is split when a better one of its size exists on the empty node.
    """
    events = _events(request, pods)
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    nodes = (
        shared.nodes_of(shared.pieces(sources, timeout, quiet), as_format=as_format, assume=assumed,
                        merge=merge, each=each)
        if sources
        else shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    )  # fmt: skip
    mechanism = _mechanism(topology_manager_policy)
    made = [(node, _forecast(node, mechanism, events, available, in_use, all_orders)) for node in nodes]
    if form == "text":
        text = _text(made, color, output_file, verbose=verbose, quiet=quiet)
    else:
        text = _document(made, form)
    output.write(text, output_file)
    return max(_exit(forecast) for _, forecast in made)


def _events(request: str | None, pods: str | None) -> tuple[Event, ...]:
    from gputopo.allocate.sequence.events import parse_events

    if (request is None) == (pods is None):
        what = "which requests? --request or --pods is missing" if pods is None else "--request and --pods exclude \
one another"
        raise GputopoError(what, hint="gputopo allocate sequence --request 1,1,2,4")
    if request is not None:
        return parse_events(request)
    assert pods is not None
    from gputopo.allocate.sequence.pods import MOST_PODS, starts_of
    from gputopo.parsers.kube_objects import read
    from gputopo.parsers.unreadable import Unreadable
    from gputopo.terms.kube_object import WrongShape

    where = f"--pods {pods}"
    try:
        found = starts_of(read(shared.read_text(pods, "--pods")), RESOURCE)
    except Unreadable as error:
        raise GputopoError(error.what, where, error.hint) from error
    except WrongShape as error:
        raise GputopoError(str(error), where) from error
    if not found:
        raise GputopoError(f"no pod in it asks for {RESOURCE}", where)
    if len(found) > MOST_PODS:
        raise GputopoError(f"{len(found)} pods; {MOST_PODS} are followed at most", where)
    names = [one.owner for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise GputopoError(f"two pods are called {twice}", where)
    return found


def _mechanism(policy: str | None) -> Mechanism:
    """The device plugin, which is all there is under policy none; else the kubelet that asks it."""
    from gputopo.allocate.device_plugin.plugin import DevicePlugin

    if policy in (None, "none"):
        return DevicePlugin()
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.merge import POLICIES
    from gputopo.allocate.kubelet.releases import DEFAULT, Release
    from gputopo.allocate.kubelet.startup import Settings

    if policy not in POLICIES:
        raise GputopoError(f"no such policy: {policy}", "--topology-manager-policy", f"one of {', '.join(POLICIES)}")
    return KubeletNode(Settings(Release(DEFAULT), policy=policy), DevicePlugin())


def _forecast(
    node: NodeTopology, mechanism: Mechanism, events: Sequence[Event], available: str | None, in_use: str | None,
    all_orders: bool,
) -> Forecast:  # fmt: skip
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.sequence.forecast import forecast
    from gputopo.allocate.sequence.walk import Answers
    from gputopo.allocate.state import State

    units = DevicePlugin().state(node, RESOURCE).units
    free, _ = shared.free_units(node, units, available, in_use, None)
    return forecast(Answers(mechanism, node, RESOURCE), State(node, units, free), events, all_orders=all_orders)


def _assumed(forecast: Forecast) -> tuple[str, ...]:
    from gputopo.allocate.device_plugin.versions import NEWEST

    kubelet = "Topology Manager policy none" if forecast.mechanism == "device-plugin" else f"kubelet {forecast.version}"
    return (f"plugin {NEWEST}, {_PLAIN}", kubelet)


def _text(
    made: Sequence[tuple[NodeTopology, Forecast]], color: str, output_file: str | None, *, verbose: bool, quiet: bool
) -> str:  # fmt: skip
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.allocate_sequence import blocks

    style = Style(*output.place(color, output_file))
    assumed = [(text, "") for text in _assumed(made[0][1])]
    return "\n".join(
        render(
            blocks(forecast, node=node.name, resource=RESOURCE, assumed=assumed, verbose=verbose, quiet=quiet), style
        )
        for node, forecast in made
    )


def _document(made: Sequence[tuple[NodeTopology, Forecast]], form: str) -> str:
    from gputopo.documents.forecast import encode, encode_list
    from gputopo.topology.node import NoteAssumption

    items = [
        encode(
            forecast, node=node.name, resource=RESOURCE,
            assumptions=[NoteAssumption(("node",), text, None) for text in _assumed(forecast)],
        )
        for node, forecast in made
    ]  # fmt: skip
    document: dict[str, Any] = items[0] if len(items) == 1 else encode_list(items)
    if form == "json":
        from gputopo.reports.json import render
    else:
        from gputopo.reports.yaml import render
    return render(document)


def _exit(forecast: Forecast) -> int:
    """1: a pod is refused whatever was picked before. 3: too many states to follow them all."""
    from gputopo.allocate.sequence.forecast import ALWAYS

    if any(told.refused == ALWAYS for told in forecast.told):
        return 1
    return 0 if all(told.complete for told in forecast.told) else 3
