"""What the `allocate` verbs that imitate schedulers read: Kubernetes objects beside a node, and sets of its GPUs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from gputopo.commands import output
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape

if TYPE_CHECKING:
    from gputopo.allocate.answer import Answer
    from gputopo.allocate.best import Best
    from gputopo.allocate.decider import Decision
    from gputopo.allocate.state import State
    from gputopo.evidence.piece import Piece
    from gputopo.topology.node import NodeTopology

_OptionalText = Optional[str]  # noqa: UP045  (Typer reads it at run time)

Count = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("-c", "--count", metavar="N", help="How many GPUs; default: what --pod asks for."),
]
Available = Annotated[_OptionalText, typer.Option("--available", metavar="SET", help="Only these GPUs are free.")]
InUse = Annotated[_OptionalText, typer.Option("--in-use", metavar="SET", help="These GPUs are taken.")]
PodFile = Annotated[_OptionalText, typer.Option("--pod", metavar="FILE", help="The pod (or workload) that asks.")]
NodeFile = Annotated[
    _OptionalText, typer.Option("--node", metavar="FILE|NAME", help="The Node object, or the name of one given.")
]
PodsFile = Annotated[
    _OptionalText, typer.Option("--pods", metavar="FILE", help="Pods of the node: what they hold is taken.")
]
Classes = Annotated[_OptionalText, typer.Option("--classes", metavar="FILE", help="DeviceClass objects.")]
Version = Annotated[_OptionalText, typer.Option("--k8s-version", metavar="V", help="Kubernetes version, e.g. 1.36.")]


class Gathered(NamedTuple):
    """The node that the sources describe (None: they describe none), and the objects among them."""

    node: NodeTopology | None
    objects: tuple[KubeObject, ...]

    def of(self, kind: str) -> tuple[KubeObject, ...]:
        return tuple(one for one in self.objects if one.kind == kind)


class Objects(NamedTuple):
    """The objects that one answer needs."""

    pod: KubeObject | None
    node: KubeObject | None
    pods: tuple[KubeObject, ...]
    classes: tuple[KubeObject, ...]


def gather(
    sources: Sequence[str] | None, *, assume: dict[str, str], timeout: float, quiet: bool, merge: bool = False,
    as_format: str | None = None,
) -> Gathered:  # fmt: skip
    """Reads SOURCEs: objects are set apart, the rest is one node."""
    from gputopo.inspection import nodes

    if not sources:
        return Gathered(None, ())
    rest: list[Piece] = []
    objects: list[KubeObject] = []
    for piece in _pieces(sources, timeout, quiet):
        found = _objects(piece) if as_format is None else None
        if found is None:
            rest.append(piece)
        objects += found or ()
    read = nodes(rest, as_format=as_format, merge=merge, assume=assume) if rest else ()
    if len(read) > 1:
        names = ", ".join(one.name or "?" for one in read)
        what = f"the sources are {len(read)} nodes ({names}); an allocation is on one"
        raise GputopoError(what, "", "give one, or --merge")
    return Gathered(read[0] if read else None, tuple(objects))


def _pieces(specs: Sequence[str], timeout: float, quiet: bool) -> tuple[Piece, ...]:
    import sys

    from gputopo.evidence.open import open_sources
    from gputopo.parsers.recognise import why_unreadable

    return open_sources(
        specs,
        stdin=sys.stdin.fileno() if "-" in specs and sys.stdin is not None else None,
        timeout=timeout,
        warn=(lambda message: None) if quiet else output.say,
        why_not=why_unreadable,
    )


def _objects(piece: Piece) -> tuple[KubeObject, ...] | None:
    """The objects of a piece; None: it holds something else."""
    from gputopo.parsers.kube_objects import looks_like

    text = (piece.data or b"").decode("utf-8", "replace")
    return read_objects(text, piece.name) if piece.data is not None and looks_like(text) else None


def read_objects(text: str, name: str) -> tuple[KubeObject, ...]:
    from gputopo.parsers.kube_objects import read
    from gputopo.parsers.unreadable import Unreadable

    try:
        return tuple(one._replace(where=f"{name}: {one.where}") for one in read(text))
    except Unreadable as error:
        place = f"{name}: line {error.line}" if error.line else name
        raise GputopoError(error.what, place, error.hint) from None


def read_file(path: str, option: str) -> tuple[KubeObject, ...]:
    """Every object of a file given by an option."""
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise GputopoError(f"{option}: {(error.strerror or str(error)).lower()}", path) from None
    if len(data) > _LARGEST:
        raise GputopoError(f"{option}: larger than 64 MiB", path)
    return read_objects(data.decode("utf-8", "replace"), path)


_LARGEST = 64 * 1024 * 1024
WORKLOADS = ("Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")


def objects(
    gathered: Gathered, pod: str | None, node: str | None, pods: str | None, classes: str | None
) -> Objects:  # fmt: skip
    """The options' files, and what the sources hold where an option is not given."""
    asking = None
    if pod is not None:
        candidates = [one for one in read_file(pod, "--pod") if one.kind in WORKLOADS]
        asking = _one(candidates, "--pod", pod, "pod or workload")
    listed = read_file(pods, "--pods") if pods else ()
    bound = (*gathered.of("Pod"), *(one for one in listed if one.kind == "Pod"))
    given = tuple(read_file(classes, "--classes")) if classes else ()
    return Objects(
        asking, _node(gathered, node), bound,
        tuple(one for one in (*gathered.objects, *given) if one.kind == "DeviceClass"),
    )  # fmt: skip


def _node(gathered: Gathered, said: str | None) -> KubeObject | None:
    import os.path

    if said is not None and os.path.exists(said):
        candidates = [one for one in read_file(said, "--node") if one.kind == "Node"]
        return _one(candidates, "--node", said, "Node")
    known = gathered.of("Node")
    if said is not None:
        known = tuple(one for one in known if one.name == said)
        if not known:
            raise GputopoError("--node: no such file, and no Node object of that name was given", said)
    if len(known) > 1:
        names = ", ".join(one.name for one in known)
        raise GputopoError(f"several Node objects: {names}", "", f"say which: --node {known[0].name}")
    return known[0] if known else None


def _one(candidates: Sequence[KubeObject], option: str, path: str, what: str) -> KubeObject:
    if not candidates:
        raise GputopoError(f"{option}: no {what} in it", path)
    if len(candidates) > 1:
        names = ", ".join(one.name or "?" for one in candidates)
        raise GputopoError(f"{option}: {len(candidates)} objects ({names}), not one {what}", path)
    return candidates[0]


def live(timeout: float, quiet: bool, root: str | None, driver_root: str | None) -> NodeTopology:
    """This node."""
    from gputopo.evidence.live.node import read
    from gputopo.inspection import nodes

    def slow() -> None:
        if not quiet:
            output.say("waiting for the NVIDIA driver (without persistence mode it takes seconds a GPU to start)")

    reading = read(root or "/", driver_root, timeout, ask=True, slow=slow)
    found = nodes(reading.pieces, merge=True)
    reading.tree.close()
    return found[0]


def free_units(
    node: NodeTopology, available: str | None, in_use: str | None, lost: Collection[str]
) -> tuple[str, ...]:  # fmt: skip
    """The GPUs that are free. lost: unhealthy, or taken as the objects say."""
    if available is not None and in_use is not None:
        raise GputopoError("--available and --in-use exclude one another")
    from gputopo.allocate.gpu_set import resolve

    units = tuple(gpu.id for gpu in node.gpus)
    only = resolve(node, available, "--available", units) if available is not None else units
    taken = resolve(node, in_use, "--in-use", units) if in_use is not None else ()
    return tuple(one for one in units if one not in lost and one not in taken and one in only)


def checked_count(count: int | None, asked: int | None) -> int:
    if count is None and asked is None:
        raise GputopoError("how many GPUs?", "", "-c N, or --pod FILE")
    if count is not None and asked is not None and count != asked:
        raise GputopoError(f"-c {count} contradicts --pod, which asks for {asked}")
    number = count if count is not None else asked
    assert number is not None
    if number < 1:
        raise GputopoError(f"-c takes a number of GPUs from 1 on, not {number}")
    return number


def version_of(text: str | None) -> tuple[int, int] | None:
    """`1.36`, `v1.36.2`."""
    if text is None:
        return None
    parts = text.removeprefix("v").split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() for part in parts):
        raise GputopoError(f"--k8s-version takes a version like 1.36, not {text}")
    return int(parts[0]), int(parts[1])


def shaped(error: WrongShape, where: str) -> GputopoError:
    """A field of the wrong type as one line."""
    return GputopoError(str(error), where)


def printed(
    answer: Answer, state: State, decision: Decision, form: str, output_file: str | None, color: str,
    verbose: bool, quiet: bool = False,
) -> None:  # fmt: skip
    """The answer, who decides first of all, the best possible set beside it."""
    from gputopo.allocate.best import best

    sets = best(state.node, state.free, answer.request.size)
    if form == "text":
        from gputopo.reports.style import Style
        from gputopo.reports.text import render
        from gputopo.reports.views.allocate_scheduler import blocks

        style = Style(*output.place(color, output_file))
        text = render(blocks(answer, state, decision.line, sets, verbose=verbose, quiet=quiet), style)
    else:
        from gputopo.documents.allocation import encode

        decides = {"who": decision.who, "reason": decision.reason, "sure": decision.sure,
                   "settledBy": decision.settled_by or None, "simulated": decision.simulated}  # fmt: skip
        document = encode(
            answer, node=state.node.name, best=sets, better=_is_better(answer, state, sets), more={"decides": decides}
        )
        if form == "json":
            from gputopo.reports.json import render as written
        else:
            from gputopo.reports.yaml import render as written
        text = written(document)
    output.write(text, output_file)


def _is_better(answer: Answer, state: State, sets: Best | None) -> bool | None:
    """Whether the best set is better than every outcome; None: not decided, or there is no outcome."""
    if sets is None or not sets.sets or not answer.outcomes:
        return None
    from gputopo.allocate.best import Judge

    judge = Judge(state.node)
    verdicts = {judge.better(sets.sets[0], one.gpus) for one in answer.outcomes}
    return False if False in verdicts else None if None in verdicts else True


def exit_code(answer: Answer) -> int:
    """0 admitted, 1 the real system refuses, 3 it depends on what is not known (CONTRACT §2)."""
    return 0 if answer.admitted else 3 if answer.admitted is None else 1
