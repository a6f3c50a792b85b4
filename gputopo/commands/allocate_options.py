"""What the mechanisms of `gputopo allocate` share: their options, and the nodes they are asked about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Optional

import typer

from gputopo.commands import options
from gputopo.commands.inspect import open_pieces, read_live
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.commands.allocate_sources import Sorted
    from gputopo.evidence.piece import Piece
    from gputopo.topology.node import NodeTopology

Text = Optional[str]  # noqa: UP045  (Typer reads it at run time)

Count = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("-c", "--count", metavar="N", help="How many units of the resource; default: what --pod asks for.",
                 show_default=False),
]  # fmt: skip
Available = Annotated[
    Text, typer.Option("--available", metavar="SET", help="Only these are free: 0,1,GPU5,UUID,PCI address,4-7.")
]
InUse = Annotated[Text, typer.Option("--in-use", metavar="SET", help="These are not free.")]
MustInclude = Annotated[Text, typer.Option("--must-include", metavar="SET", help="These must be in the answer.")]
Ordered = Annotated[
    Text, typer.Option("--ordered", metavar="SET", help="The free ones in the order they are handed over: one answer.")
]
PodFile = Annotated[Text, typer.Option("--pod", metavar="FILE", help="The Pod (or workload) that asks.")]
NodeFile = Annotated[
    Text, typer.Option("--node", metavar="FILE|NAME", help="The Node object, or the name of one given as SOURCE.")
]
PodsFile = Annotated[Text, typer.Option("--pods", metavar="FILE", help="Pods of the node: what they hold is taken.")]
Classes = Annotated[Text, typer.Option("--classes", metavar="FILE", help="DeviceClass objects.")]
K8sVersion = Annotated[Text, typer.Option("--k8s-version", metavar="V", help="Kubernetes version, e.g. 1.36.")]
ContainerName = Annotated[
    Text, typer.Option("--container", metavar="NAME", help="Of a pod with several containers that ask for GPUs.")
]
PluginConfigFile = Annotated[
    Text, typer.Option("--plugin-config", metavar="FILE", help="config.yaml, its ConfigMap, or a ClusterPolicy.")
]
ConfigKey = Annotated[
    Text, typer.Option("--config-key", metavar="KEY", help="Of a ConfigMap; the node's label names it.")
]
PluginVersion = Annotated[
    Text, typer.Option("--plugin-version", metavar="VERSION", help="Of the plugin, e.g. v0.17.1; newest: v0.20.0.")
]
KubeletConfig = Annotated[
    Text, typer.Option("--kubelet-config", metavar="FILE", help="Its file, a ConfigMap, or /configz.")
]

AnyOutput = Annotated[
    Literal["text", "json", "yaml", "markdown", "csv", "html", "github", "junit"],
    typer.Option("-o", "--output", help="How to print it; html: one page; github: annotations; junit: --fleet."),
]
FleetPaths = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--fleet", metavar="PATH", help="Ask every saved node in this folder, archive or list of paths."),
]
FleetFailOn = Annotated[
    Optional[options.Severity],  # noqa: UP045
    typer.Option("--fail-on", help="Of --fleet: error (refused), warning (or split), info, never. [default: error]",
                 show_default=False),
]  # fmt: skip


def checked_count(count: int | None, asked: int | None = None) -> int:
    """Of -c or of the pod. Raises GputopoError: neither, both and different, or none."""
    if count is None and asked is None:
        raise GputopoError("how many? -c is missing", "", "-c N, or --pod FILE")
    if count is not None and asked is not None and count != asked:
        raise GputopoError(f"-c {count} contradicts the pod, which asks for {asked}")
    number = count if count is not None else asked
    if number is None or number < 1:
        raise GputopoError(f"-c takes 1 or more, not {number}")
    return number


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


def sources_of(
    sources: Sequence[str] | None, timeout: float, quiet: bool, as_format: str | None = None
) -> Sorted:  # fmt: skip
    """The sources: those of the node, of its kubelet and plugin, and Kubernetes objects apart. Raises GputopoError.

    With `--as` every source is of the node.
    """
    from gputopo.commands.allocate_sources import Sorted, sort_out

    if not sources:
        return Sorted(())
    found = pieces(sources, timeout, quiet)
    return sort_out(found) if as_format is None else Sorted(found)


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
    if not found:
        hint = "give what describes it: nvidia-smi topo -m, a folder with sys/"
        raise GputopoError("no node in the sources", "", hint)
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
    node: NodeTopology, units: Sequence[str], available: str | None, in_use: str | None, ordered: str | None = None,
    lost: Collection[str] = (),
) -> tuple[tuple[str, ...], tuple[str, ...] | None]:  # fmt: skip
    """The free units in the node's order, and the order in which they are handed over where one was given.

    lost: unhealthy, or taken as the objects say, whatever the options say.
    """
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
    free -= set(lost)
    if ordered is None:
        return tuple(unit for unit in units if unit in free), None
    order = named(ordered, "--ordered")
    if (available is not None or in_use is not None) and set(order) != free:
        raise GputopoError("--ordered must hold exactly the free ones", "--ordered")
    return tuple(unit for unit in units if unit in order), order
