"""Pieces and logs → one diagnosis for each node: the order for `gputopo diagnose`, as inspection.py for a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gputopo.allocate.gpu_set import resolve
from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.job_records import JobLog
from gputopo.jobs.join import Asked, join
from gputopo.jobs.model import Job, SpokenLog
from gputopo.pods.model import Held, Pod
from gputopo.records import NcclElement
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.topology.node import NodeTopology, Source

if TYPE_CHECKING:
    from gputopo.parsers.recognise_job import Reading


class Wanted(NamedTuple):
    """What the person asks, as written on the command line."""

    gpus: str | None = None
    pod: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    measured: float | None = None


class Evidence(NamedTuple):
    """What the sources hold, by what it speaks of."""

    of_nodes: tuple[Piece, ...]
    logs: tuple[SpokenLog, ...]
    of_pods: tuple[Piece, ...]
    silent: tuple[str, ...] = ()  # names of logs in which no line says anything


def sorted_evidence(pieces: Sequence[Piece], logs: Iterable[tuple[str, Iterable[str]]] = ()) -> Evidence:
    """`logs`: (name, lines) of logs that are read line by line, one after the other.

    Raises GputopoError for a piece that is none of the three.
    """
    from gputopo.parsers import recognise_holdings, recognise_job
    from gputopo.parsers.nccl_log.gathered import Room
    from gputopo.parsers.recognise import parse, recognise

    of_nodes: list[Piece] = []
    of_pods: list[Piece] = []
    heard: list[tuple[str, Reading]] = []
    room = Room()

    def hear(name: str, lines: Iterable[str]) -> bool:
        one = recognise_job.Reading(lines, heard[-1][1].end if heard else 1, room)
        if one.formats:
            heard.append((name, one))
        return bool(one.formats)

    for piece in pieces:
        if piece.data is None:
            of_nodes.append(piece)
            continue
        text = piece.data.decode("utf-8", "replace")
        is_log, is_pods = bool(recognise_job.recognise(text)), bool(recognise_holdings.recognise(piece.data))
        if is_log:
            is_log = hear(f"{piece.name}/{piece.where}" if piece.where else piece.name, text.split("\n"))
        if is_pods:
            of_pods.append(piece)
        if recognise(text):
            of_nodes.append(piece)
        elif not is_log and not is_pods:
            parse(piece)  # says what it is and why it is no evidence
    silent = tuple(name for name, lines in logs if not hear(name, lines))
    said = recognise_job.together([one for _, one in heard])
    spoken = tuple(_with_ids([(name, log) for (name, _), log in zip(heard, said)]))
    return Evidence(tuple(of_nodes), spoken, tuple(of_pods), silent)


def _with_ids(heard: Sequence[tuple[str, JobLog]]) -> Iterable[SpokenLog]:
    taken: dict[str, int] = {}
    for name, log in heard:
        form = log.formats[0]
        taken[form] = taken.get(form, 0) + 1
        id = form if taken[form] == 1 else f"{form}-{taken[form]}"
        yield SpokenLog(Source(id, name, form, "", True), log)


def diagnoses(
    evidence: Evidence, wanted: Wanted, assume: Mapping[str, str] | None = None, live: NodeTopology | None = None
) -> tuple[Diagnosis, ...]:  # fmt: skip
    """One for each node the sources speak of. Raises GputopoError: nothing to judge, or what is asked is not there."""
    nodes: tuple[NodeTopology | None, ...]
    if live is not None:
        nodes = (live,)
    elif evidence.of_nodes:
        from gputopo.inspection import nodes as read

        nodes = read(evidence.of_nodes, assume=assume)
    else:
        nodes = (None,)
    if nodes == (None,) and not evidence.logs:
        raise GputopoError(
            "nothing to judge a job by", "", "give a topology (nvidia-smi topo -m), --nccl-log FILE, or both"
        )
    files = _files(evidence.of_nodes) if live is None else ()
    held = _held(evidence.of_pods, nodes) if evidence.of_pods else {}
    nodes = _of_pod(nodes, held, wanted.pod)
    made = [_one(node, evidence, wanted, _on(node, nodes, held), files if len(nodes) == 1 else ()) for node in nodes]
    if len(made) > 1 and any(one.job.communicator is not None for one in made):
        own = [one for one in made if one.job.communicator is not None]
        return tuple(own)  # the log names the node; the others have no part in it
    return tuple(made)


def _on(
    node: NodeTopology | None, nodes: Sequence[NodeTopology | None], held: Mapping[str | None, Held]
) -> Held | None:  # fmt: skip
    """What is held on a node; what names no node, or the only one that is named, is of the only node."""
    if node is None:
        return None
    return held.get(node.name) or (next(iter(held.values())) if len(nodes) == len(held) == 1 else None)


def _of_pod(
    nodes: tuple[NodeTopology | None, ...], held: Mapping[str | None, Held], pod: str | None
) -> tuple[NodeTopology | None, ...]:  # fmt: skip
    """Of several nodes those on which a pod of this name holds something; all where none does, so that it is said."""
    if pod is None or len(nodes) < 2:
        return nodes
    having = [node for node in nodes if (own := _on(node, nodes, held)) is not None and _called(own, pod)]
    return tuple(having) or nodes


def _one(
    node: NodeTopology | None, evidence: Evidence, wanted: Wanted, own: Held | None, files: Sequence[NcclElement]
) -> Diagnosis:
    asked = Asked(
        gpus=_gpus(node, wanted.gpus),
        pod=wanted.pod,
        pod_gpus=_pod_gpus(own, wanted.pod) if wanted.pod else None,
        tensor_parallel=wanted.tensor_parallel,
        measured=wanted.measured,
    )
    job: Job = join(node, evidence.logs, asked)
    return Diagnosis(job, held=own, file=files[0] if len(files) == 1 else None)


def _gpus(node: NodeTopology | None, text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    if node is None:
        raise GputopoError(
            "--gpus names GPUs of a node, and no topology is among the sources", "--gpus", "add nvidia-smi topo -m"
        )
    return resolve(node, text, "--gpus")


def _pod_gpus(held: Held | None, pod: str) -> tuple[str, ...]:
    """`NS/NAME`, or a name that is in one namespace only."""
    if held is None:
        raise GputopoError(
            "nothing among the sources says what pods hold", "--pod",
            "add podresources, kubelet_internal_checkpoint, or kubectl get pods -o json",
        )  # fmt: skip
    found = _called(held, pod)
    name = pod.rpartition("/")[2]
    if len(found) != 1:
        near = ", ".join(one.title for one in (found or held.pods)[:6])
        what = f"{len(found)} pods are called {name}" if found else "no such pod holds a device here"
        raise GputopoError(f"{what}: {pod}", "--pod", f"there are {near}" if near else "")
    if found[0].placed.gpus is None:
        raise GputopoError(
            f"which GPUs {pod} has is not known: its device ids are in no source with the node's GPUs", "--pod",
            "add nvidia-smi -L",
        )  # fmt: skip
    return found[0].placed.gpus


def _called(held: Held, pod: str) -> list[Pod]:
    """The pods that `NS/NAME`, `NAME`, or a UID means: of the kubelet's checkpoint alone no name is known."""
    namespace, slash, name = pod.rpartition("/")
    named = [one for one in held.pods if one.name == name and (not slash or one.namespace == namespace)]
    return named or [one for one in held.pods if one.uid == pod]


def _held(pieces: Sequence[Piece], nodes: Sequence[NodeTopology | None]) -> dict[str | None, Held]:
    from gputopo.inspection_pods import audits_of

    known = [node for node in nodes if node is not None]
    return {audit.node.name: audit.held for audit in audits_of(pieces, known)}


def _files(pieces: Sequence[Piece]) -> tuple[NcclElement, ...]:
    """NCCL's own topology files among the sources: its model reads them, not what the node keeps of them."""
    from gputopo.parsers.recognise import parse

    marked = [piece for piece in pieces if piece.data is not None and b"<system" in piece.data]
    return tuple(one.nccl for piece in marked for one in parse(piece) if one.nccl is not None)
