"""The first lines: which node, what is in it, which sources say so and whether they agree."""

from __future__ import annotations

from collections import Counter

from gputopo.reports.blocks import Block, Cell, KeyValue, Span, cell
from gputopo.reports.views.words import cut, devices, file_name, named, numbers
from gputopo.rules.wording import counted
from gputopo.topology.node import NodeTopology, Source


def head(node: NodeTopology, *, verbose: bool) -> tuple[Block, ...]:
    title = cut(named(node) or "node", 32)
    parts = [
        cell(_gpus(node), "strong"),
        cell(_places(node)),
        cell("NICs unknown" if node.nics is None else counted(len(node.nics), "NIC") if node.nics else "no NICs"),
    ]
    if node.system is not None and node.system.driver:
        parts.append(cell(f"driver {node.system.driver}"))
    if node.virtual:
        parts.append(cell("virtual machine"))
    if node.view == "container":
        parts.append(cell("seen from a container"))
    return (KeyValue(title, tuple(parts)), *_sources(node, verbose))


def _gpus(node: NodeTopology) -> str:
    """`8x NVIDIA H100 80GB HBM3`; models are counted apart, unknown ones are GPUs."""
    if not node.gpus:
        return "no GPUs in this evidence"
    models = Counter(gpu.name for gpu in node.gpus)
    if set(models) == {None}:
        return counted(len(node.gpus), "GPU")
    parts = []
    for model, count in models.items():
        if model is None:
            parts.append(f"{counted(count, 'GPU')} of unknown model")
        else:
            parts.append(f"{count}x {cut(model, 60)}")
    return " + ".join(parts)


def _places(node: NodeTopology) -> str:
    sockets = "sockets unknown" if node.packages is None else counted(len(node.packages), "socket")
    if node.numa_nodes is not None:
        memory = sum(numa.kind in ("gpu-memory", "memory") for numa in node.numa_nodes)
        numa = counted(len(node.numa_nodes) - memory, "NUMA node")
        if memory:
            numa += f" + {memory} without CPUs"
        return f"{sockets}, {numa}"
    seen = {number for device in devices(node) for number in device.numa_nodes or ()}
    if seen:
        return f"{sockets}, NUMA {numbers(seen)} seen"
    return "sockets and NUMA unknown" if node.packages is None else f"{sockets}, NUMA unknown"


def _sources(node: NodeTopology, verbose: bool) -> tuple[Block, ...]:
    if not node.sources:
        return ()
    parts: list[Cell] = [(Span(" + ".join(_by_name(node.sources))), Span(_agree(node)))]
    if node.conflicts:
        parts.append(cell(counted(len(node.conflicts), "conflict"), "warning"))
    places = {source.where for source in node.sources if source.where}
    if len(places) == 1:
        parts.append(cell(places.pop()))
    silent = {seen.source for seen in node.observations if seen.kind.startswith("driver-")}
    if any(source.id in silent for source in node.sources):
        parts.append(cell("without the NVIDIA driver", "warning"))
    cut_short = [file_name(source.name) for source in node.sources if not source.whole and source.id not in silent]
    if cut_short:
        which = "" if len(node.sources) == 1 else f": {', '.join(dict.fromkeys(cut_short))}"
        parts.append(cell(f"cut short{which}", "warning"))
    if node.taken_at:
        parts.append(cell(f"taken {node.taken_at}"))
    title = "source" if len(node.sources) == 1 else "sources"
    blocks: list[Block] = [KeyValue(title, tuple(parts), role="dim")]
    if verbose and len(node.sources) > 1:
        for source in node.sources:
            told = (cell(source.id), cell(source.format), cell(source.name), cell(source.where))
            blocks.append(KeyValue("", told))
    return tuple(blocks)


def _by_name(sources: tuple[Source, ...]) -> list[str]:
    """`a17.txt (nvidia-smi-topo)`; a file that holds several formats is named once."""
    formats: dict[str, list[str]] = {}
    for source in sources:
        formats.setdefault(source.name, []).append(source.format)
    if len(sources) == 1:
        return [f"{'stdin' if name == '-' else name} ({kinds[0]})" for name, kinds in formats.items()]
    return [f"{file_name(name)} ({', '.join(dict.fromkeys(kinds))})" for name, kinds in formats.items()]


def _agree(node: NodeTopology) -> str:
    return " agree" if len(node.sources) > 1 and not node.conflicts else ""
