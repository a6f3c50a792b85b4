"""`gputopo export --to FORMAT [SOURCE]...`: a node as the configuration of NCCL, Slurm, a DRA driver and others.

Metrics need the rules beside the node: export_prometheus.py makes them, export_listen.py serves them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.errors import GputopoError

To = Annotated[
    Literal["nccl-xml", "gres.conf", "resourceslice", "koordinator", "nfd", "prometheus"],
    typer.Option("--to", help="NCCL_TOPO_FILE, Slurm, NVIDIA's DRA driver, a Device object, a feature file, metrics.",
                 show_default=False),
]  # fmt: skip
NodeName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--node-name", metavar="NAME", help="The node's name, where no source says it."),
]
DriverVersion = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--driver-version", metavar="V", help="Of NVIDIA's DRA driver, for resourceslice; newest: 0.4.1."),
]
Threads = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--threads-per-core", metavar="N", help="For Cores of gres.conf: Slurm counts cores."),
]
Pods = Annotated[bool, typer.Option("--pods", help="For prometheus: also how pods are placed; numbers, no names.")]
Listen = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--listen", metavar="HOST:PORT", help="For prometheus: serve /metrics of this node, until Ctrl-C."),
]
Interval = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--interval", metavar="SECONDS", help="For --listen: read the node no more often.  [default: 60]"),
]


def command(
    to: To,
    sources: options.Sources = None,
    node_name: NodeName = None,
    driver_version: DriverVersion = None,
    threads_per_core: Threads = None,
    pods: Pods = False,
    listen: Listen = None,
    interval: Interval = None,
    as_format: options.As = None,
    output_file: options.OutputFile = None,
    quiet: options.Quiet = False,
    assume: options.Assume = None,
    merge: options.Merge = False,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
) -> int:
    """This node, or saved evidence, as a file that another system reads; exit 3 where the evidence is too thin."""
    from gputopo.export import Choices, export

    as_format = options.checked_format(as_format)
    assumed = options.pairs(assume, "--assume")
    shared.check_live(sources, root, driver_root)
    _check(to, driver_version, threads_per_core)
    _check_metrics(to, pods, listen, interval, sources, output_file)
    if (as_format is not None or merge) and (pods or not sources):
        option = "--as" if as_format is not None else "--merge"
        where = "with --pods each source is read by what it is" if sources else "the live node is read as it is"
        raise GputopoError(f"{option} is for sources", "", f"{where}: leave it out")
    if to == "prometheus":
        from gputopo.commands.export_prometheus import Ask, live, saved

        ask = Ask(node_name, pods, options.checked_timeout(timeout), quiet, assumed)
        if listen is not None:
            from gputopo.commands.export_listen import serve

            return serve(lambda: live(ask._replace(quiet=True), root, driver_root), listen, interval or 60.0, quiet)
        made = saved(ask, sources, as_format, merge) if sources else live(ask, root, driver_root)
        from gputopo.reports.prometheus import exposition

        output.write(exposition(made), output_file)
        return 0
    if sources:
        found = shared.pieces(sources, timeout, quiet)
        nodes = shared.nodes_of(found, as_format=as_format, assume=assumed, merge=merge)
    else:
        nodes = shared.live_nodes(root, driver_root, timeout, quiet, assumed)
    if len(nodes) != 1:
        named = ", ".join(node.name or "a node without a name" for node in nodes[:3])
        raise GputopoError(f"{len(nodes)} nodes in the sources: a file is of one", named, "--merge, or fewer sources")
    output.write(export(nodes[0], to, Choices(node_name, driver_version, threads_per_core)), output_file)
    return 0


def _check(to: str, driver_version: str | None, threads_per_core: int | None) -> None:
    """Raises GputopoError for an option of another format, or a number that is none."""
    if driver_version is not None and to != "resourceslice":
        raise GputopoError("--driver-version is for --to resourceslice")
    if threads_per_core is not None and to != "gres.conf":
        raise GputopoError("--threads-per-core is for --to gres.conf")
    if threads_per_core is not None and not 1 <= threads_per_core <= 8:
        raise GputopoError(f"--threads-per-core takes 1 to 8, not {threads_per_core}")


def _check_metrics(
    to: str, pods: bool, listen: str | None, interval: float | None, sources: list[str] | None, output_file: str | None
) -> None:
    """Raises GputopoError for what does not go together."""
    for option, given in (("--pods", pods), ("--listen", listen is not None), ("--interval", interval is not None)):
        if given and to != "prometheus":
            raise GputopoError(f"{option} is for --to prometheus")
    if interval is not None and listen is None:
        raise GputopoError("--interval is for --listen, which is not given")
    if interval is not None and not 1 <= interval <= 86400:
        raise GputopoError(f"--interval takes seconds between 1 and 86400, not {interval:g}")
    if listen is not None and (sources or output_file is not None):
        raise GputopoError("--listen serves the live node", "", "without it, a source or --output-file is for a file")
