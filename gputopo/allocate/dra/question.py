"""`allocate dra` on one node: the answers that are possible, joined to the node, and why not.

`ask` with slices as they are; `ask_published` with what the driver would publish, in any order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.dra import changes as remedies
from gputopo.allocate.dra import defects, join, published, why_not
from gputopo.allocate.dra.allocate import Attempt
from gputopo.allocate.dra.asks import prepare
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Selectable, lined_up
from gputopo.allocate.dra.every_order import EverySolution
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.many import groups
from gputopo.allocate.dra.objects import ALL, Claim, Selector, World
from gputopo.allocate.dra.orders import Outcomes, outcomes
from gputopo.allocate.dra.pools import gather
from gputopo.allocate.dra.pruning import leaves_traces, pruning_for
from gputopo.allocate.dra.search import TimedOut
from gputopo.allocate.dra.seen import Seen, seen_on
from gputopo.allocate.dra.selectors import Selectors
from gputopo.allocate.outcome import Family
from gputopo.allocate.request import Request
from gputopo.topology.node import NodeTopology, NoteAssumption

Clock = Callable[[], bool]


class Report(NamedTuple):
    """One node's answer. `fatal`: a failure that ends the attempt for the pod, on whatever node."""

    answer: Answer
    seen: tuple[Seen, ...]  # one an outcome
    why: why_not.WhyNot | None = None
    changes: tuple[remedies.Change, ...] = ()
    timed_out: bool = False
    fatal: bool = False
    node: str | None = None
    free: tuple[str, ...] = ()  # GPUs of the node that no allocated device is on


def ask(
    world: World, selectors: Selectors, how: Behaviour, topology: NodeTopology | None, out_of_time: Clock
) -> Report:
    """Slices as they are: their order is the order of the search."""
    found = outcomes(world, selectors, how, out_of_time)
    together = join.joined(topology, world.slices)
    return _report(world, selectors, how, topology, found, together, out_of_time, None)


def ask_published(
    world: World, selectors: Selectors, how: Behaviour, topology: NodeTopology, line: str, out_of_time: Clock
) -> Report:
    """Slices as the driver would publish them: the order of the devices is any."""
    fine, coarse = (published.published(topology, line, coarse=each) for each in (False, True))
    unread = _read(world, fine.unknown)
    answers = []
    for one in (fine, coarse):
        own = world._replace(slices=one.slices)
        answers.append(_every_order(own, selectors, how, out_of_time))
    own = world._replace(slices=fine.slices)
    together = join.Joined(fine.gpus, {})
    report = _report(own, selectors, how, topology, answers[0], together, out_of_time, fine)
    report = _in_families(_nameless(report, fine, topology), own, selectors, how, fine)
    open_roots = _devices(answers[0]) != _devices(answers[1])
    failure = answers[0].attempts[0].failure
    sure = failure is not None and failure.kind != "cel-runtime"  # whatever the devices have
    if sure or (not unread and not open_roots):
        return report
    why = [f"not in this evidence: {', '.join(unread)} (a selector reads it)"] if unread else []
    if open_roots:
        why.append("whether some GPUs have one PCIe root is not known: nvidia-smi topo -m or sysfs settles it")
    return report._replace(
        answer=report.answer._replace(admitted=None, outcomes=(), outcomes_complete=False, why=tuple(why)),
        seen=(), why=None, changes=(), fatal=False,
    )  # fmt: skip


def _nameless(report: Report, known: published.Published, topology: NodeTopology) -> Report:
    """Without the names that the evidence does not hold: those of the node, and of the devices."""
    why = report.why
    if why is not None and not known.named:
        names = {str(id): gpu for id, gpu in known.gpus.items()}
        renamed = tuple(one._replace(device=names.get(one.device, one.device)) for one in why.verdicts)
        why = why._replace(verdicts=renamed)
    return report._replace(node=topology.name, why=why)


def _in_families(
    report: Report, world: World, selectors: Selectors, how: Behaviour, known: published.Published
) -> Report:
    """More answers than are listed: groups of devices instead, where that says it exactly."""
    if report.answer.outcomes_complete or not report.seen:
        return report
    found = groups(world, selectors, how)
    if found is None:
        return report
    families = tuple(Family((), number, tuple(known.gpus[id] for id in ids)) for number, ids in found)
    answer = report.answer._replace(outcomes=(), families=families, outcomes_complete=True)
    return report._replace(answer=answer, seen=())


def _devices(found: Outcomes) -> set[Any]:
    return {(one.satisfied, frozenset(one.devices)) for one in found.attempts}


def _read(world: World, names: Iterable[str]) -> list[str]:
    """Those of the attributes that a selector or a constraint reads."""
    texts = [
        selector.expression or ""
        for claim in world.claims
        for request in claim.requests
        for ask in (request.first_available or (request.exactly,))
        for selector in (*ask.selectors, *_of_class(world, ask.device_class))
    ]
    constraints = [one for claim in world.claims for one in claim.constraints]
    texts += [one.match_attribute or one.distinct_attribute or "" for one in constraints]
    return [name for name in sorted(names) if any(_is_word(name.rpartition("/")[2], text) for text in texts)]


def _of_class(world: World, name: str) -> Sequence[Selector]:
    found = world.classes.get(name)
    return found.selectors if found is not None else ()


def _is_word(word: str, text: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None


def _every_order(world: World, selectors: Selectors, how: Behaviour, out_of_time: Clock) -> Outcomes:
    try:
        pools = gather(world.slices, world.node, how)
        prepared = prepare(world, pools, Selectable(world.node, world.claims, selectors, how), how)
        selectable = Selectable(world.node, world.claims, selectors, how)
        search = EverySolution(world, lined_up(pools), prepared, selectable, how, out_of_time)
        pruning = pruning_for(search, out_of_time)
        if pruning is not None and pruning.unsatisfiable:
            return Outcomes((Attempt(False),), True)
        if pruning is not None and not leaves_traces(search):
            search.pruning = pruning
        complete = search.everything()
    except Failure as failure:
        return Outcomes((Attempt(False, failure=failure),), True)
    except TimedOut:
        return Outcomes((Attempt(None),), False)
    attempts = tuple(Attempt(True, one) for one in search.found.values())
    return Outcomes(attempts or (Attempt(False),), complete)


def _report(
    world: World, selectors: Selectors, how: Behaviour, topology: NodeTopology | None, found: Outcomes,
    together: join.Joined, out_of_time: Clock, derived: published.Published | None,
) -> Report:  # fmt: skip
    good = [one for one in found.attempts if one.satisfied]
    failures = [one.failure for one in found.attempts if one.failure is not None]
    timed_out = any(one.satisfied is None for one in found.attempts)
    admitted = True if good and len(good) == len(found.attempts) else None if good or timed_out else False
    named = derived is None or derived.named
    pool_named = derived is None or (topology is not None and topology.name is not None)
    seen = tuple(seen_on(one, world, topology, together, named, pool_named) for one in good)
    why = changed = None
    if not good and not failures and not timed_out:
        why = why_not.why_not(world, selectors, how, out_of_time)
        changed = remedies.changes(world, selectors, how, out_of_time)
    answer = Answer(
        mechanism="dra",
        version=how.version,
        unit="gpu",
        request=Request(_number(world.claims), resource=", ".join(_classes(world.claims)) or "none"),
        admitted=admitted,
        outcomes=tuple(one.outcome for one in seen),
        outcomes_complete=found.complete and not timed_out,
        reason=failures[0].kind if failures else None if admitted is not False else "unsatisfiable",
        message=str(failures[0]) if failures else "cannot allocate all claims" if admitted is False else None,
        why=tuple(_lines(failures, timed_out, found, how, world)),
        assumptions=tuple(_assumptions(world, how, topology, derived)),
    )
    held = {together.gpus[id] for id in world.allocated.devices if id in together.gpus}
    free = tuple(gpu.id for gpu in topology.gpus if gpu.id not in held) if topology is not None else ()
    return Report(
        answer, seen, why, changed or (), timed_out,
        any(not failure.node_only for failure in failures), world.node.name or None, free,
    )  # fmt: skip


def _number(claims: Sequence[Claim]) -> int:
    """Devices that are asked for: of a list the first choice, of All none."""
    asks = [(one.first_available or (one.exactly,))[0] for claim in claims for one in claim.requests]
    return sum(0 if one.mode == ALL else one.number for one in asks)


def _classes(claims: Sequence[Claim]) -> list[str]:
    asks = [ask for claim in claims for one in claim.requests for ask in (one.first_available or (one.exactly,))]
    return list(dict.fromkeys(ask.device_class for ask in asks if ask.device_class))


def _lines(
    failures: Sequence[Failure], timed_out: bool, found: Outcomes, how: Behaviour, world: World
) -> list[str]:
    lines = []
    for failure in failures[:1]:
        lines.append(
            "an error of this node: the scheduler goes on with others" if failure.node_only
            else "a hard error: the scheduler gives the pod up, whatever other nodes have"
        )
        lines += _hints(failure, world)
    if timed_out:
        lines.append("not decided: --timeout ended the search; the scheduler's own filter ends by a timeout, too")
    lines += defects.lines(world, how)
    if len(found.attempts) > 1 and not how.sorted_pools and found.orders > 1:
        many = len(found.attempts)
        lines.append(f"Kubernetes {how.version} takes pools in random order: {many} answers are possible")
    return lines


def _hints(failure: Failure, world: World) -> list[str]:
    key = re.search(r"no such key: (\S+)", failure.detail)
    if not failure.kind.startswith("cel-") or key is None:
        return []
    for own in world.slices:
        for device in own.devices:
            near = why_not.near_miss(failure.detail, device, own.driver)
            return [f"{own.id_of(device)} has no attribute {key[1]}{near}"]
    return []


def _assumptions(
    world: World, how: Behaviour, topology: NodeTopology | None, derived: published.Published | None
) -> list[NoteAssumption]:
    reads_roots = bool(_read(world, [published.ROOT]))
    made = [NoteAssumption((), text, None) for text in defects.taken_for_granted(world, how)]
    if not how.was_run:
        text = f"Kubernetes {how.version} ({how.channel} allocator): its code was read, no answers of it were recorded"
        made.append(NoteAssumption((), text, None))
    if derived is not None:
        told = [
            Assumed(f"the slice is what NVIDIA's DRA driver {derived.line} would publish",
                    "--driver-version or --slices"),
            Assumed("its devices come in an order that is random at each start of the driver: every one is answered",
                    "--slices"),
        ]  # fmt: skip
        if not derived.named:
            told.append(Assumed("no minor numbers in the evidence: the devices' names are not known", "nvidia-smi -q"))
        if derived.roots == "pairs" and reads_roots:
            text = "pcieRoot: which GPUs share one is told by PIX, PXB and PHB pairs; the roots' names are not known"
            told.append(Assumed(text, "a folder with sys/"))
        made += [one.note for one in told]
    if topology is not None and topology.virtual and reads_roots:
        text = "a virtual machine: pcieRoot is the guest's tree, no evidence of locality on the host"
        made.append(NoteAssumption((), text, None))
    return made
