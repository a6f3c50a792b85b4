"""NCCL's graph file (`NCCL_GRAPH_DUMP_FILE`): the rings and trees that its search found.

    >>> text = '''<graphs version="1">
    ...   <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="20" speedinter="20"
    ...          latencyinter="0" typeintra="NVL" typeinter="PIX" samechannels="1">
    ...     <channel><net dev="0"/><gpu dev="0"/><gpu dev="1"/><net dev="1"/></channel>
    ...   </graph>
    ... </graphs>'''
    >>> [node] = parse(text)
    >>> print(node.observations[0].text)
    graph 0: ring, 1 channel, 20 GB/s inside the node, 20 GB/s between nodes, paths NVL inside, PIX to NICs
    >>> print(node.observations[1].text)
    graph 0, channel 0: net 0, gpu 0, gpu 1, net 1

A `dev` of this file is a number of NCCL's at the time of the search, without an address: which GPU it
is, and how GPUs are wired, is not in it, so no device comes of it. Patterns: NCCL src/include/graph.h.
"""

from __future__ import annotations

from gputopo.parsers.unreadable import Unreadable
from gputopo.parsers.xml_guard import Element, documents
from gputopo.records import Gap, NodeRecords, Observation

_HEAD = 64 << 10
_PATTERNS = {
    "1": "balanced tree",
    "2": "split tree",
    "3": "tree",
    "4": "ring",
    "5": "NVLS",
    "6": "CollNet direct",
}
_WHY = "a graph file (the rings and trees NCCL found) numbers its GPUs and describes no machine"


def sniff(text: str) -> bool:
    """Whether the root of a graph file is in the first 64 KiB."""
    at = text.find("<graphs", 0, _HEAD)
    return at >= 0 and any(word in text[at + 7 : at + _HEAD] for word in ("<graph", "version="))


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` without devices a file. Raises `Unreadable`."""
    return tuple(_node(root) for root in documents(text, ("graphs",)))


def _node(root: Element) -> NodeRecords:
    seen = [observation for graph in root.named("graph") for observation in _graph(graph)]
    if not seen:
        raise Unreadable("a graph file without a <graph>", root.line, "NCCL_GRAPH_DUMP_FILE of a run that got so far")
    return NodeRecords(
        "nccl-graph",
        line=root.line,
        gaps=(Gap((), "gpus", _WHY, "NCCL_TOPO_DUMP_FILE", root.line),),
        observations=tuple(seen),
    )


def _graph(graph: Element) -> list[Observation]:
    name = f"graph {graph.get('id') or '?'}"
    channels = graph.named("channel")
    found = [Observation("nccl-graph", (), f"{name}: {_summary(graph, len(channels))}", graph.line)]
    for number, channel in enumerate(channels):
        steps = [f"{step.tag} {step.get('dev')}" for step in channel.named("net", "gpu") if step.get("dev")]
        found.append(Observation("nccl-graph", (), f"{name}, channel {number}: {', '.join(steps)}", channel.line))
    return found


def _summary(graph: Element, channels: int) -> str:
    pattern = graph.get("pattern") or ""
    parts = [_PATTERNS.get(pattern, f"pattern {pattern or 'not given'}")]
    parts.append(f"{channels} channel" if channels == 1 else f"{channels} channels")
    said = graph.get("nchannels")
    if said is not None and said != str(channels):
        parts.append(f"of {said} announced")
    for name, where in (("speedintra", "inside the node"), ("speedinter", "between nodes")):
        if graph.get(name):
            parts.append(f"{graph.get(name)} GB/s {where}")
    if graph.get("typeintra"):
        parts.append(f"paths {graph.get('typeintra')} inside")
    if graph.get("typeinter"):
        parts.append(f"{graph.get('typeinter')} to NICs")
    return ", ".join(parts)
