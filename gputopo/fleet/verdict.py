"""What a mechanism's answer means for a pod: fine, split, refused, or not to be told from the evidence.

*Split*: its GPUs can lie on more sockets (or NUMA nodes), or outside an NVLink island, although a better set
was free; the order of sets is that of allocate/best.py. *Refused*: it is not admitted, or chance can keep it
out. What the evidence leaves open is *undecided*, never fine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from math import prod
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.best import Best
from gputopo.allocate.outcome import Viewer
from gputopo.allocate.state import State
from gputopo.fleet.apart import NEARER, Apart, Ruler
from gputopo.topology.node import NodeTopology

FINE, SPLIT, REFUSED, UNDECIDED = VERDICTS = ("fine", "split", "refused", "undecided")
ALWAYS, SOMETIMES = "always", "sometimes"
MOST_SETS = 20_000  # judged one by one
_SHOWN = 2
_LOST = ("row-missing", "row-cut", "row-not-matching-header")  # observations of a matrix

Set = tuple[str, ...]


class Asked(NamedTuple):
    """One node's answer. `variants`: the sets by what is true of the open evidence; by default one, the outcomes.

    groups: how families are meant: each of them alone is a set ("each"), one of each together ("all"), or
    they are parts of sets that are not listed ("parts").
    """

    answer: Answer
    state: State | None  # None: no evidence says how the node is wired
    variants: tuple[tuple[Set, ...], ...] | None = None
    variants_complete: bool = True
    groups: str = "each"
    chance: bool = True  # with outcomes at hand it is chance, not evidence, that decides whether it is admitted
    open_evidence: bool = False  # the outcomes are those of several readings of the evidence
    reason: tuple[str, ...] = ()  # of a refusal or of what is open, better than the answer's own


class Verdict(NamedTuple):
    """`often`: of split and refused. `why`: a sentence each, the first one sums up. `worse`: of the `sets` judged."""

    verdict: str
    why: tuple[str, ...]
    often: str | None = None
    best: Best | None = None
    nearer: bool | None = None  # whether a better set than one of the possible ones was free
    sets: int | None = None
    worse: int | None = None  # sets that are split
    complete: bool = True


def judge(asked: Asked) -> Verdict:
    answer = asked.answer
    if answer.admitted is False:
        gap = hidden(asked.state.node) if asked.state is not None and _too_few(asked, asked.state) else None
        if gap is not None and asked.state is not None:
            seen = f"{answer.request.size} asked for, {len(asked.state.units)} in this evidence"
            return Verdict(UNDECIDED, (f"{seen}, which may not show every GPU: {gap}",), complete=False)
        return Verdict(REFUSED, _refused(asked), ALWAYS)
    listed = bool(answer.outcomes or answer.families)
    if answer.admitted is None and not (asked.chance and listed):
        return Verdict(UNDECIDED, asked.reason or answer.why or ("the evidence leaves open whether it is admitted",))
    if answer.admitted is None:
        return Verdict(REFUSED, ("by chance it can be refused: " + _refused(asked)[0], *_refused(asked)[1:]), SOMETIMES)
    if asked.state is None:
        return _without_node(asked)
    return _units(asked, asked.state) if answer.unit != "gpu" else _gpus(asked, asked.state)


def hidden(node: NodeTopology) -> str | None:
    """Why the node may have GPUs that the evidence does not show."""
    if node.view == "container":
        return "it is a container's view"
    gpus = {gpu.id for gpu in node.gpus}
    lost = [id for seen in node.observations if seen.kind in _LOST for id in seen.subjects if id not in gpus]
    if any(id.startswith("GPU") for id in lost):
        return "rows of the matrix are missing"
    return None if all(source.whole for source in node.sources) else "a source of it is not whole"


def _too_few(asked: Asked, state: State) -> bool:
    return asked.answer.request.size > len(state.units) and bool(state.units)


def _refused(asked: Asked) -> tuple[str, ...]:
    """Upstream's word and sentence, and ours."""
    answer, state = asked.answer, asked.state
    if asked.reason:
        return asked.reason
    more = [line for line in (answer.message, *answer.why) if line]
    if state is not None and answer.request.size > len(state.free):
        had = f"{len(state.free)} of {len(state.units)} are free"
        if len(state.free) == len(state.units):
            had = f"the node has {len(state.units)}"
        if not state.units and state.node.gpus:
            had = f"none of the node's {len(state.node.gpus)} GPUs is offered"
        return (f"not enough: {answer.request.size} asked for, {had}", *more)
    if answer.why and answer.reason:
        return (f"{answer.reason}: {answer.why[0]}", *(line for line in more if line != answer.why[0]))
    if answer.why and answer.message and answer.reason is None:
        return (f"{answer.why[0]}: {answer.message}", *answer.why[1:])
    first = answer.message or answer.reason or "refused"
    return (first, *(line for line in more if line != first))


def _without_node(asked: Asked) -> Verdict:
    """Only slices: what they say of NUMA nodes is all that is known."""
    answer = asked.answer
    if answer.request.size < 2:
        return Verdict(FINE, ("one device",), sets=len(answer.outcomes))
    if answer.outcomes_complete and answer.outcomes and all(one.cross_numa is False for one in answer.outcomes):
        return Verdict(FINE, ("in one NUMA node, as the slices say",), sets=len(answer.outcomes))
    missing = "how these devices are wired is not in the slices: save the node's topology, too"
    return Verdict(UNDECIDED, asked.reason or (missing,), complete=False)


def _gpus(asked: Asked, state: State) -> Verdict:
    """By reading of the evidence; where they differ, the evidence decides."""
    made = [_of_sets(asked, state, sets, whole) for sets, whole in _readings(asked)]
    kinds = {(one.verdict, one.often) for one in made}
    if len(kinds) == 1:
        return made[0]
    if {one.verdict for one in made} == {SPLIT}:
        return next(one for one in made if one.often == SOMETIMES)
    found = " or ".join(verdict for verdict in VERDICTS if any(one.verdict == verdict for one in made))
    open_one = next((one for one in made if one.verdict == UNDECIDED), None)
    why = open_one.why if open_one is not None else (f"{found}, by what the evidence leaves open{_settle(state)}",)
    return made[0]._replace(verdict=UNDECIDED, often=None, why=why, complete=False)


def _readings(asked: Asked) -> Iterator[tuple[list[Set], bool]]:
    if asked.variants is not None:
        for one in asked.variants:
            yield list(one[:MOST_SETS]), len(one) <= MOST_SETS and asked.variants_complete
        return
    yield _sets(asked)


def _sets(asked: Asked) -> tuple[list[Set], bool]:
    """The possible sets, and whether they are all."""
    answer = asked.answer
    found = [one.gpus for one in answer.outcomes if one.defect is None]
    if answer.outcomes_complete and answer.outcomes:
        return found, True
    if asked.groups == "parts" or not answer.families:
        return found, False
    if asked.groups == "all":
        number = prod(family.ways for family in answer.families)
        combined = product(*(family.members() for family in answer.families))
        members: Iterable[Set] = (tuple(one for part in parts for one in part) for parts in combined)
    else:
        number = sum(family.ways for family in answer.families)
        members = (one for family in answer.families for one in family.members())
    return [*found, *islice(members, MOST_SETS)], number <= MOST_SETS


def _of_sets(asked: Asked, state: State, sets: Sequence[Set], whole: bool) -> Verdict:
    sets = list(dict.fromkeys(sets))
    if all(len(one) < 2 for one in sets) and (sets or whole):
        return Verdict(FINE, ("one GPU" if any(sets) else "no GPUs are asked for",), sets=len(sets), complete=whole)
    ruler = Ruler(state.node, state.free)
    apart = [ruler.apart(one) for one in sets]
    best = ruler.best(len(sets[0])) if sets else None
    worse = [(one, far) for one, far in zip(sets, apart) if far is not None and far.ways]
    open_sets = [one for one, far in zip(sets, apart) if far is None]
    nearer = True if any(far is not None and far.better for far in apart) else None if open_sets else False
    made = Verdict(FINE, (), None, best, nearer, len(sets), len(worse), whole)
    if worse and (not asked.open_evidence or (len(worse) == len(sets) and whole)):
        often = ALWAYS if len(worse) == len(sets) and whole else SOMETIMES
        return made._replace(verdict=SPLIT, often=often, why=_split(worse, sets, whole, ruler))
    if worse:
        why = (f"fine or split, by what the evidence leaves open{_settle(state)}",)
        return made._replace(verdict=UNDECIDED, why=why)
    if open_sets:
        than = ruler.name(open_sets[0])
        why = (f"the evidence leaves open whether a better set than {than} was free{_settle(state)}",)
        return made._replace(verdict=UNDECIDED, why=why)
    if not whole:
        more = (f"sets other than the {len(sets):,} judged are possible, too",)
        return made._replace(verdict=UNDECIDED, why=asked.reason or asked.answer.why or more)
    return made._replace(why=_fine(sets, [far for far in apart if far is not None], ruler))


def _split(worse: Sequence[tuple[Set, Apart]], sets: Sequence[Set], whole: bool, ruler: Ruler) -> tuple[str, ...]:
    kinds = Counter(far.ways for _, far in worse)
    ways = kinds.most_common(1)[0][0]
    one, far = next((one, far) for one, far in worse if far.ways == ways)
    ways_said = " and ".join(ways)
    number = "always" if len(worse) == len(sets) and whole else f"{len(worse):,} of {len(sets):,} possible sets"
    shape = ruler.shape(one)
    said = f"{ruler.name(one)} {ways_said}{shape}; {ruler.name(far.than)} is free and better ({number})"
    joined = ruler.joined(one)
    return (said, joined) if joined else (said,)


def _fine(sets: Sequence[Set], apart: Sequence[Apart], ruler: Ruler) -> tuple[str, ...]:
    what = ruler.name(sets[0]) if len(sets) == 1 else f"one of {len(sets):,} sets"
    where = {ruler.where(one) for one in sets}
    said = f"{what}, {where.pop()}" if len(where) == 1 else f"{what}, none worse than it must be"
    far = next((far for far in apart if far.better), None)
    if far is None:
        return (said,)
    one = sets[list(apart).index(far)]
    return (f"{said}; {NEARER.format(ruler.name(far.than), ruler.level(far.than), ruler.name(one), ruler.level(one))}",)


def _units(asked: Asked, state: State) -> Verdict:
    """Replicas and MIG devices: whether they lie on more sockets (or NUMA nodes) than they must."""
    answer = asked.answer
    outcomes = answer.outcomes
    made = Verdict(FINE, (), sets=len(outcomes), complete=answer.outcomes_complete)
    if answer.request.size < 2:
        return made._replace(why=(f"one {answer.unit}",))
    viewer = Viewer(state.node)
    gpus = {gpu.id: gpu for gpu in state.node.gpus}
    for noun, attribute in (("sockets", "packages"), ("NUMA nodes", "numa_nodes")):
        homes = [getattr(gpus[viewer.gpus((unit,))[0].split(":")[0]], attribute) for unit in state.free]
        used = [getattr(one, attribute) for one in outcomes]
        if not outcomes or any(home is None or len(home) != 1 for home in homes) or None in used:
            continue
        least = _least(Counter(home[0] for home in homes), answer.request.size)
        worse = sum(len(one) > least for one in used)
        if worse:
            often = ALWAYS if worse == len(outcomes) and answer.outcomes_complete else SOMETIMES
            why = f"{worse:,} of {len(outcomes):,} possible sets cross {noun}, though {least} would do"
            return made._replace(verdict=SPLIT, often=often, why=(why,), worse=worse, nearer=True)
        if not answer.outcomes_complete:
            break
        return made._replace(why=(f"on no more {noun} than it must be",), worse=0, nearer=False)
    return made._replace(verdict=UNDECIDED, why=(f"where the {answer.unit}s lie is not decided by the evidence",))


def _least(free: Counter[object], size: int) -> int:
    """The fewest places that hold so many units."""
    number = 0
    for _, amount in free.most_common():
        if size <= 0:
            break
        size -= amount
        number += 1
    return number


def _settle(state: State) -> str:
    """What the node itself says would tell more of where its GPUs are, and of their pairs."""
    of_pairs, of_gpus = ("pcie", "nvlinks", "level", "viaSwitch"), ("packages", "numaNodes", "nvlinks")
    gpus = {gpu.id for gpu in state.node.gpus}
    found = dict.fromkeys(
        note.settled_by for note in state.node.unknown
        if note.attribute in (of_gpus if gpus & set(note.subjects) else of_pairs) and note.settled_by
    )  # fmt: skip
    return f" (to settle: {'; '.join(list(found)[:_SHOWN])})" if found else ""
