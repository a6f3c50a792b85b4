"""`gputopo allocate sequence [SOURCE]... --request 1,1,2,4`: what many requests leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.sequence.events import Event
    from gputopo.allocate.sequence.forecast import Forecast
    from gputopo.topology.node import NodeTopology

RESOURCE = "nvidia.com/gpu"
_ASSUMED = (("no replicas, no MIG, Topology Manager policy none", "gputopo allocate kubelet"),)


def command(
    sources: options.Sources = None,
    request: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--request", metavar="N,N,...", help="GPUs of each pod in order; -2 ends the second one."),
    ] = None,
    all_orders: Annotated[bool, typer.Option("--all-orders", help="Try every other order of the pods, too.")] = False,
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
    from gputopo.allocate.sequence.events import parse_events

    if not request:
        raise GputopoError("which requests? --request is missing", "--request N,N,...", "--request 1,1,2,4")
    events = parse_events(request)
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    nodes = (
        shared.nodes_of(shared.pieces(sources, timeout, quiet), as_format=as_format, assume=assumed,
                        merge=merge, each=each)
        if sources
        else shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    )  # fmt: skip
    made = [(node, _forecast(node, events, available, in_use, all_orders)) for node in nodes]
    if form == "text":
        text = _text(made, color, output_file, verbose=verbose, quiet=quiet)
    else:
        text = _document(made, form)
    output.write(text, output_file)
    return max(_exit(forecast) for _, forecast in made)


def _forecast(
    node: NodeTopology, events: Sequence[Event], available: str | None, in_use: str | None, all_orders: bool
) -> Forecast:  # fmt: skip
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.sequence.forecast import forecast
    from gputopo.allocate.sequence.walk import Answers
    from gputopo.allocate.state import State

    plugin = DevicePlugin()
    units = plugin.state(node, RESOURCE).units
    free, _ = shared.free_units(node, units, available, in_use, None)
    state = State(node, units, free)
    return forecast(Answers(plugin, node, RESOURCE), state, events, all_orders=all_orders)


def _text(
    made: Sequence[tuple[NodeTopology, Forecast]], color: str, output_file: str | None, *, verbose: bool, quiet: bool
) -> str:  # fmt: skip
    from gputopo.reports.style import Style
    from gputopo.reports.text import render
    from gputopo.reports.views.allocate_sequence import blocks

    style = Style(*output.place(color, output_file))
    assumed = ((f"plugin {made[0][1].version}", ""), *_ASSUMED)
    return "\n".join(
        render(
            blocks(forecast, node=node.name, resource=RESOURCE, assumed=assumed, verbose=verbose, quiet=quiet), style
        )
        for node, forecast in made
    )


def _document(made: Sequence[tuple[NodeTopology, Forecast]], form: str) -> str:
    from gputopo.documents.forecast import encode, encode_list
    from gputopo.topology.node import NoteAssumption

    assumptions = [NoteAssumption((), text, None) for text, _ in _ASSUMED]
    items = [
        encode(forecast, node=node.name, resource=RESOURCE, assumptions=assumptions) for node, forecast in made
    ]
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
