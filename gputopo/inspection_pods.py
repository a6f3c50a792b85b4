"""Pieces → who holds what on which node → an audit: the order for `gputopo pods`, as inspection.py for a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece, Tree
from gputopo.holdings import HoldingRecords
from gputopo.pods.join import join
from gputopo.pods.spoken import Spoken
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.repair import plan
from gputopo.topology.node import NodeTopology, Source

_PATIENCE = 10.0  # s, for files of processes that hang


def audits(
    pieces: Sequence[Piece], assume: Mapping[str, str] | None = None, live: NodeTopology | None = None,
    processes: Sequence[tuple[str, HoldingRecords]] = (),
) -> tuple[Audit, ...]:  # fmt: skip
    """One for each node. Raises GputopoError: nothing says who holds what, or it is not clear on which node."""
    spoken, evidence = _read(pieces)
    spoken += [
        Spoken(Source(_id(one, at), name, one.format, "", True), one) for at, (name, one) in enumerate(processes)
    ]
    if not any(_says_who(one.records) for one in spoken):
        names = ", ".join(dict.fromkeys(piece.name for piece in pieces))
        raise GputopoError(
            "nothing in it says who holds what", names,
            "give the kubelet's kubelet_internal_checkpoint, or what its podresources socket answers",
        )  # fmt: skip
    nodes = (live,) if live is not None else _nodes(evidence, assume)
    return tuple(Audit(join(node, own, name), plan) for node, own, name in _by_node(nodes, spoken))


def _read(pieces: Sequence[Piece]) -> tuple[list[Spoken], list[Piece]]:
    """What says who holds what, and what else there is: evidence of the nodes."""
    from gputopo.parsers import recognise_holdings
    from gputopo.parsers.unreadable import Unreadable

    spoken: list[Spoken] = []
    evidence: list[Piece] = []
    taken: dict[str, int] = {}
    for piece in pieces:
        if piece.tree is not None and (found := _running(piece.tree)) is not None:
            spoken.append(Spoken(_source(found, piece, taken), found))
        if piece.data is None or not recognise_holdings.recognise(piece.data):
            evidence.append(piece)
            continue
        try:
            records = recognise_holdings.parse(piece.data)
        except Unreadable as error:
            places = (piece.name, piece.where, f"line {error.line}" if error.line else "")
            raise GputopoError(error.what, ", ".join(one for one in places if one), error.hint) from error
        for one in records:
            spoken.append(Spoken(_source(one, piece, taken), one))
    return spoken, evidence


def _says_who(records: HoldingRecords) -> bool:
    """Not what only tells what names of devices mean."""
    return records._replace(names=(), gaps=(), observations=()) != HoldingRecords(records.format, records.node)


def _source(records: HoldingRecords, piece: Piece, taken: dict[str, int]) -> Source:
    before = taken.get(records.format, 0)
    taken[records.format] = before + 1
    return Source(_id(records, before), piece.name, records.format, piece.where, piece.whole)


def _running(root: Tree) -> HoldingRecords | None:
    """Who has GPUs open in the `proc/` of a captured root folder, or of a live one; None: nobody."""
    from time import monotonic

    from gputopo.evidence.live.processes import ProcTree
    from gputopo.evidence.tree import FolderTree
    from gputopo.parsers.gpu_processes import of_open_devices
    from gputopo.parsers.open_devices import Below

    if not any(name.isdigit() for name in root.names("proc") or ()):
        return None
    if not isinstance(root, FolderTree):
        found = of_open_devices(Below(root, "proc"), root)
    else:  # it may be live, where a process can hold up who reads of it
        proc = ProcTree(f"{root.root}/proc", monotonic() + _PATIENCE)
        try:
            found = of_open_devices(proc, root)
        finally:
            proc.close()
    return found if found.containers else None


def _id(records: HoldingRecords, before: int) -> str:
    """Of a source; `before`: how many of its format there are already."""
    return f"{records.format}-{before + 1}" if before else records.format


def processes(
    folder: str | None, *, live: bool, timeout: float = 10.0, slow: Callable[[], object] = lambda: None
) -> tuple[tuple[str, HoldingRecords], ...]:
    """(the folder, who in it has GPUs): what the driver says of live processes, else who has device files open.

    `folder` None: /proc, of which nothing is said where no driver answers. Raises GputopoError: it is no /proc.
    """
    import os
    from time import monotonic

    from gputopo.evidence.live import processes as running
    from gputopo.evidence.tree import FolderTree
    from gputopo.parsers import gpu_processes

    proc = folder or "/proc"
    above, name = os.path.split(os.path.abspath(proc))
    root = above if name == "proc" else "/"
    if live:
        reading = running.read(proc, root, timeout=timeout, slow=slow)
        try:
            if reading.answer.recording is not None:
                listed = reading.answer.recording.decode("utf-8", "replace")
                return ((proc, gpu_processes.holdings(listed, reading.proc, reading.root)),)
        finally:
            reading.proc.close()
        if folder is None:
            return ()
    tree = running.ProcTree(proc, monotonic() + timeout)
    if not any(one.isdigit() for one in tree.names("") or ()):
        raise GputopoError("no folder of a process in it", proc, "give a /proc, or a copy of one: --proc /host/proc")
    try:
        return ((proc, gpu_processes.of_open_devices(tree, FolderTree(root) if name == "proc" else None)),)
    finally:
        tree.close()


def _nodes(evidence: Sequence[Piece], assume: Mapping[str, str] | None) -> tuple[NodeTopology, ...]:
    if not evidence:
        return ()
    from gputopo.inspection import nodes

    return nodes(evidence, assume=assume)


def _by_node(
    nodes: Sequence[NodeTopology], spoken: Sequence[Spoken]
) -> list[tuple[NodeTopology, list[Spoken], str | None]]:  # fmt: skip
    """Holdings join the node of their name; what names no node joins the only one there is."""
    named = list(dict.fromkeys(one.records.node for one in spoken if one.records.node))
    if len(named) <= 1 and len(nodes) <= 1:
        return [(nodes[0] if nodes else NodeTopology(), list(spoken), named[0] if named else None)]
    if any(not one.records.node for one in spoken):
        raise GputopoError(
            f"which of {max(len(named), len(nodes))} nodes these files are of is not said",
            ", ".join(dict.fromkeys(one.source.name for one in spoken if not one.records.node)),
            "give the files of one node at a time",
        )  # fmt: skip
    by_name = {node.name: node for node in nodes if node.name}
    if any(not node.name for node in nodes):
        raise GputopoError(
            f"which of the nodes {', '.join(named[:3])}{' …' if len(named) > 3 else ''} the evidence is of is not said",
            ", ".join(dict.fromkeys(source.name for node in nodes if not node.name for source in node.sources)),
            "give what one node holds, or evidence that has the node's name: gputopo collect",
        )  # fmt: skip
    return [
        (by_name.get(name, NodeTopology(name=name)), [one for one in spoken if one.records.node == name], name)
        for name in named
    ]
