"""What the mechanisms of `gputopo allocate` share: their options, and the nodes they are asked about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from gputopo.commands import options, output
from gputopo.commands.inspect import open_pieces, read_live
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.evidence.piece import Piece
    from gputopo.topology.node import NodeTopology

Count = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("-c", "--count", metavar="N", help="How many units of the resource are asked for.",
                 show_default=False),
]  # fmt: skip
Available = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--available", metavar="SET", help="Only these are free: 0,1,GPU5,UUID,PCI address,4-7."),
]
InUse = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--in-use", metavar="SET", help="These are not free."),
]
MustInclude = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--must-include", metavar="SET", help="These must be in the answer."),
]
Ordered = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--ordered", metavar="SET", help="The free ones in the order they are handed over: one answer."),
]


def checked_count(count: int | None) -> int:
    if count is None:
        raise GputopoError("how many? -c is missing", "-c N", "gputopo allocate device-plugin -c 4")
    if count < 1:
        raise GputopoError(f"-c takes 1 or more, not {count}")
    return count


def check_live(sources: Sequence[str] | None, root: str | None, driver_root: str | None) -> None:
    if sources and (root is not None or driver_root is not None):
        option = "--root" if root is not None else "--driver-root"
        raise GputopoError(f"{option} is for the live node; give the folder as a source instead")


def live_nodes(
    root: str | None, driver_root: str | None, timeout: float, quiet: bool, assume: Mapping[str, str] | None = None
) -> tuple[NodeTopology, ...]:  # fmt: skip
    """This node. Raises GputopoError where it has no GPUs."""
    from gputopo.inspection import live_node

    reading = read_live(root, driver_root, options.checked_timeout(timeout), None, quiet)
    return _with_gpus([live_node(reading, assume)], "this node")


def sources_of(sources: Sequence[str] | None, timeout: float, quiet: bool) -> Sorted:
    """The sources, those of the node and those of its kubelet and plugin apart. Raises GputopoError."""
    from gputopo.commands.allocate_sources import Sorted, sort_out

    return sort_out(pieces(sources, timeout, quiet)) if sources else Sorted(())


def pieces(sources: Sequence[str], timeout: float, quiet: bool) -> tuple[Piece, ...]:
    return open_pieces(sources, options.checked_timeout(timeout), quiet)


def nodes_of(
    found: Sequence[Piece], *, as_format: str | None = None, assume: Mapping[str, str] | None = None,
    merge: bool = False, each: bool = False,
) -> tuple[NodeTopology, ...]:  # fmt: skip
    """The nodes that these pieces speak of. Raises GputopoError where they speak of none with GPUs."""
    from gputopo.inspection import nodes

    if merge and each:
        raise GputopoError("--merge and --each exclude one another")
    made = nodes(found, as_format=as_format, merge=merge, each=each, assume=assume)
    return _with_gpus(made, ", ".join(dict.fromkeys(piece.name for piece in found)) or "the sources")


def _with_gpus(nodes: Sequence[NodeTopology], where: str) -> tuple[NodeTopology, ...]:
    if not any(node.gpus for node in nodes):
        raise GputopoError("no GPUs found", where, "gputopo inspect says what the evidence holds")
    return tuple(node for node in nodes if node.gpus)


def read_text(path: str, option: str, limit: int = 4 << 20) -> str:
    """The text of an option's file. Raises GputopoError."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise GputopoError((error.strerror or str(error)).lower(), f"{option} {path}") from error
    if len(data) > limit:
        raise GputopoError(f"longer than {limit >> 20} MiB", f"{option} {path}")
    return data.decode("utf-8", "replace")


def free_units(
    node: NodeTopology, units: Sequence[str], available: str | None, in_use: str | None, ordered: str | None
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """The free units in the node's order, and the order in which they are handed over where one was given."""
    from gputopo.allocate.gpu_set import resolve
    from gputopo.allocate.state import physical

    if sum(one is not None for one in (available, in_use)) > 1:
        raise GputopoError("--available and --in-use exclude one another")

    def named(text: str, option: str) -> tuple[str, ...]:
        ids = resolve(node, text, option, units)
        found = tuple(
            unit for id in ids for unit in units if unit == id or physical(unit) == id or unit.startswith(f"{id}:")
        )
        of_gpus = {gpu.id: {mig.uuid for mig in gpu.mig} for gpu in node.gpus}
        found += tuple(unit for id in ids for unit in units if unit in of_gpus.get(id, ()) and unit not in found)
        missing = [id for id in ids if id not in found and not any(unit != id for unit in found)]
        if ids and not found:
            raise GputopoError(f"none of the resource's units is on {', '.join(missing or ids)}", option)
        return tuple(dict.fromkeys(found))

    free = set(units)
    if available is not None:
        free = set(named(available, "--available"))
    elif in_use is not None:
        free -= set(named(in_use, "--in-use"))
    if ordered is None:
        return tuple(unit for unit in units if unit in free), None
    order = named(ordered, "--ordered")
    if (available is not None or in_use is not None) and set(order) != free:
        raise GputopoError("--ordered must hold exactly the free ones", "--ordered")
    return tuple(unit for unit in units if unit in order), order


def write(text: str, output_file: str | None) -> None:
    output.write(text, output_file)
