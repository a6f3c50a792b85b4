"""`gputopo export --to FORMAT [SOURCE]...`: a node as the configuration of NCCL, Slurm, a DRA driver and others."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from gputopo.commands import allocate_options as shared
from gputopo.commands import options, output
from gputopo.errors import GputopoError

To = Annotated[
    Literal["nccl-xml", "gres.conf", "resourceslice", "koordinator", "nfd"],
    typer.Option("--to", help="NCCL_TOPO_FILE, Slurm, NVIDIA's DRA driver, a Device object, a feature file.",
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


def command(
    to: To,
    sources: options.Sources = None,
    node_name: NodeName = None,
    driver_version: DriverVersion = None,
    threads_per_core: Threads = None,
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
