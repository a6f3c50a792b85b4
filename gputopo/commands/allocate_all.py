"""`gputopo allocate all [SOURCE]... -c N`: every mechanism side by side, and the best possible set."""

from __future__ import annotations

from typing import Any

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.commands.allocate_holdings import holding

RESOURCE = "nvidia.com/gpu"


def command(
    sources: options.Sources = None,
    count: shared.Count = None,
    available: shared.Available = None,
    in_use: shared.InUse = None,
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
    """What each mechanism would give for the same request, in each setting that changes its choice, beside the
    best set that is free.
    """
    from gputopo.allocate.compare import compare, settings
    from gputopo.allocate.decider import decide
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.request import Request
    from gputopo.allocate.state import State

    size = shared.checked_count(count)
    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    beside = shared.sources_of(sources, timeout, quiet)
    nodes = (
        shared.nodes_of(beside.node, as_format=as_format, assume=assumed, merge=merge, each=each)
        if sources
        else shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    )
    made = []
    for node in nodes:
        units = DevicePlugin().state(node, RESOURCE).units
        free, _ = shared.free_units(node, units, available, in_use, None)
        state = holding(State(node, units, free), RESOURCE, beside.states, given=available or in_use)
        made.append(compare(state, Request(size), tuple(settings(node))))
    decides = decide(None).line
    if form == "text":
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.allocate_all import blocks

        style = Style(*output.place(color, output_file))
        text = "\n".join(
            render(blocks(one, node=one.state.node.name, decides=decides, verbose=verbose, quiet=quiet), style)
            for one in made
        )
    else:
        from gputopo.documents.allocation_comparison import encode, encode_list

        items = [encode(one, node=one.state.node.name, decides=decides) for one in made]
        document: dict[str, Any] = items[0] if len(items) == 1 else encode_list(items)
        if form == "json":
            from gputopo.reports.json import render as write
        else:
            from gputopo.reports.yaml import render as write
        text = write(document)
    output.write(text, output_file)
    return max(_exit([row.answer.admitted for row in one.rows]) for one in made)


def _exit(admitted: list[bool | None]) -> int:
    """1: every mechanism refuses. 3: none admits, and some are not decided."""
    if True in admitted:
        return 0
    return 3 if None in admitted else 1
