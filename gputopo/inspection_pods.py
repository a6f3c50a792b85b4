"""Pieces → who holds what on which node → an audit: the order for `gputopo pods`, as inspection.py for a node."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece, Tree
from gputopo.holdings import HoldingRecords
from gputopo.pods.asks import gpus_asked
from gputopo.pods.join import join
from gputopo.pods.model import Held
from gputopo.pods.selection import Selection, narrowed
from gputopo.pods.spoken import Spoken
from gputopo.rules.pods.audit import Audit
from gputopo.rules.pods.repair import plan
from gputopo.rules.pods.replayed import given, refused
from gputopo.topology.node import Gpu, NodeTopology, NoteAssumption, Source

if TYPE_CHECKING:
    from gputopo.parsers.unreadable import Unreadable

EVERYTHING = Selection()
_SHOWN = 8

_PATIENCE = 10.0  # s, for files of processes that hang


def audits(
    pieces: Sequence[Piece],
    assume: Mapping[str, str] | None = None,
    live: NodeTopology | None = None,
    *,
    select: Selection = EVERYTHING,
    only: str | None = None,
    every_pod: bool = False,
    processes: Sequence[tuple[str, HoldingRecords]] = (),
) -> tuple[Audit, ...]:
    """One for each node. Raises GputopoError: nothing says who holds what, or it is not clear on which node.

    `select`: the pods to judge; `only`: the node; `every_pod`: API objects among the pieces are all pods of their
    nodes; `processes`: what is read of a /proc, with its name. Where there are several nodes, one without GPUs of
    which there is nothing to say is left out.
    """
    spoken, evidence = _read(pieces, every_pod, processes)
    if not any(_says_who(one.records) for one in spoken):
        names = ", ".join(dict.fromkeys(piece.name for piece in pieces))
        raise GputopoError(
            "nothing in it says who holds what", names,
            "give the kubelet's kubelet_internal_checkpoint, or what its podresources socket answers",
        )  # fmt: skip
    nodes = (live,) if live is not None else _nodes(evidence, assume)
    return _audits(nodes, spoken, select, only)


def audits_of(pieces: Sequence[Piece], nodes: Sequence[NodeTopology]) -> tuple[Audit, ...]:
    """The same of nodes that are known already. Raises GputopoError."""
    return _audits(nodes, _read(pieces, False)[0], EVERYTHING, None)


def _audits(
    nodes: Sequence[NodeTopology], spoken: list[Spoken], select: Selection, only: str | None
) -> tuple[Audit, ...]:  # fmt: skip
    found = [narrowed(join(node, own, name), select) for node, own, name in _by_node(nodes, _only(spoken, only), only)]
    worth = [one for one in found if _says_something(one)]
    return tuple(Audit(held, plan, given, refused) for held in worth or found[:1])


def _says_something(held: Held) -> bool:
    return bool(
        held.containers or held.node.gpus or held.free or held.rejected or held.fake or held.unknown
        or held.observations or gpus_asked(held.capacity or ())
    )  # fmt: skip


def _only(spoken: list[Spoken], node: str | None) -> list[Spoken]:
    if node is None:
        return spoken
    named = list(dict.fromkeys(one.records.node for one in spoken if one.records.node))
    if named and node not in named:
        shown = ", ".join(named[:_SHOWN]) + (" …" if len(named) > _SHOWN else "")
        raise GputopoError(f"nothing is said of node {node}", "", f"the sources name {shown}")
    return [one for one in spoken if one.records.node in (node, "")]


def _read(
    pieces: Sequence[Piece], every_pod: bool, processes: Sequence[tuple[str, HoldingRecords]] = ()
) -> tuple[list[Spoken], list[Piece]]:  # fmt: skip
    """What says who holds what, and what else there is: evidence of the nodes."""
    from gputopo.parsers import recognise_holdings
    from gputopo.parsers.unreadable import Unreadable

    evidence: list[Piece] = []
    said: list[tuple[Piece, Sequence[HoldingRecords]]] = []
    objects: list[Piece] = []
    for piece in pieces:
        if piece.tree is not None and (found := _running(piece.tree)) is not None:
            said.append((piece, (found,)))
        formats = recognise_holdings.recognise(piece.data, piece.where) if piece.data is not None else ()
        if piece.data is None or not formats:
            evidence.append(piece)
        elif formats == (recognise_holdings.OBJECTS,):
            objects.append(piece)
        else:
            try:
                said.append((piece, recognise_holdings.parse(piece.data, piece.where)))
            except Unreadable as error:
                raise _unreadable(error, piece) from error
    if objects:
        said += zip(objects, _objects(objects, every_pod))
    said += [(Piece(name), (records,)) for name, records in processes]
    return _numbered(said), evidence


def _objects(pieces: Sequence[Piece], every_pod: bool) -> Sequence[Sequence[HoldingRecords]]:
    """Those of a cluster are read together: a claim in one file is placed by the pods in another."""
    from gputopo.parsers.object_holdings import parse_together
    from gputopo.parsers.unreadable import Unreadable

    at = pieces[0]

    def texts() -> Iterator[str]:
        nonlocal at
        for at in pieces:
            yield (at.data or b"").decode("utf-8", "replace")

    try:
        return parse_together(texts(), every_pod=every_pod)
    except Unreadable as error:
        raise _unreadable(error, at) from error


def _unreadable(error: Unreadable, piece: Piece) -> GputopoError:
    places = (piece.name, piece.where, f"line {error.line}" if error.line else "")
    return GputopoError(error.what, ", ".join(one for one in places if one), error.hint)


def _numbered(said: Sequence[tuple[Piece, Sequence[HoldingRecords]]]) -> list[Spoken]:
    """Each with its id, which no other of the same node has."""
    taken: dict[tuple[str, str], int] = {}
    spoken: list[Spoken] = []
    for piece, records in said:
        for one in records:
            before = max(taken.get((one.format, node), 0) for node in ("", one.node))
            taken[one.format, one.node] = before + 1
            id = one.format if not before else f"{one.format}-{before + 1}"
            spoken.append(Spoken(Source(id, piece.name, one.format, piece.where, piece.whole), one))
    return spoken


def _says_who(records: HoldingRecords) -> bool:
    """Not what only tells what names of devices mean."""
    return records._replace(names=(), gaps=(), observations=()) != HoldingRecords(records.format, records.node)


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
    nodes: Sequence[NodeTopology], spoken: Sequence[Spoken], only: str | None
) -> list[tuple[NodeTopology, list[Spoken], str | None]]:  # fmt: skip
    """Holdings join the node of their name; what names no node joins the only one there is. A node whose GPUs are
    made up has no other topology than what objects say of it."""
    spoken = _with_a_node(spoken)
    named = list(dict.fromkeys(one.records.node for one in spoken if one.records.node))
    if only is not None:
        nodes = [node for node in nodes if node.name in (only, None)] if len(nodes) > 1 else nodes
    if len(named) <= 1 and len(nodes) <= 1:
        name = named[0] if named else None
        return [(_topology(nodes[0] if nodes else None, spoken, name), list(spoken), name)]
    if any(not one.records.node for one in spoken):
        raise GputopoError(
            f"which of {max(len(named), len(nodes))} nodes these files are of is not said",
            ", ".join(dict.fromkeys(one.source.name for one in spoken if not one.records.node)),
            "give the files of one node at a time, or --node NAME",
        )  # fmt: skip
    if any(node.name is None for node in nodes):
        raise GputopoError(
            f"which of {len(named)} nodes a topology among the sources is of is not said",
            ", ".join(dict.fromkeys(one.name for node in nodes if node.name is None for one in node.sources)),
            "--node NAME",
        )
    by_name = {node.name: node for node in nodes}
    own: dict[str, list[Spoken]] = {name: [] for name in dict.fromkeys((*named, *(n.name or "" for n in nodes)))}
    for one in spoken:
        own[one.records.node].append(one)
    return [
        (_topology(by_name.get(name), said, name), said, name) for name, said in own.items()
    ]  # fmt: skip


def _topology(node: NodeTopology | None, spoken: Sequence[Spoken], name: str | None) -> NodeTopology:
    """Evidence of a machine is not of a fake node, whose GPUs only its ConfigMap names."""
    if any(one.records.fake for one in spoken):
        ids = [each.id for one in spoken for each in one.records.allocatable or () if each.space == "uuid"]
        gpus = tuple(Gpu(f"GPU{at}", nvml_index=at, uuid=id) for at, id in enumerate(dict.fromkeys(ids)))
        text = "the GPUs of a fake node are numbered in the order of its ConfigMap"
        return NodeTopology(name=name, gpus=gpus, assumptions=(NoteAssumption((), text, None),) if gpus else ())
    return node if node is not None else NodeTopology(name=name)


def _with_a_node(spoken: Sequence[Spoken]) -> list[Spoken]:
    """Objects that concern no node say only what is not known (pods that wait for one): that goes to the first."""
    bare = [one for one in spoken if not one.records.node and one.source.format == "kube-objects"
            and not (one.records.claims or one.records.containers)]  # fmt: skip
    taken = set(map(id, bare))
    rest = [one for one in spoken if id(one) not in taken]
    first = next((one.records.node for one in rest if one.records.node), "")
    return [*rest, *(one._replace(records=one.records._replace(node=first)) for one in bare)]
