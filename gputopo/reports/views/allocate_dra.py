"""`allocate dra` as blocks: the devices of each request, where they lie, or why there are none and what would do."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.best import Best
from gputopo.allocate.decider import Decision
from gputopo.allocate.dra.question import Report
from gputopo.allocate.dra.seen import Seen
from gputopo.allocate.dra.why_not import Verdict, WhyNot
from gputopo.allocate.outcome import Outcome
from gputopo.reports.blocks import Blank, Block, Cell, KeyValue, Note, Notes, Table, cell
from gputopo.reports.views.allocate_parts import decides
from gputopo.rules.wording import counted

_SHOWN = 20  # sets
_VALUES = 3  # of one test, before they are told in one line
_VERDICTS = 40  # devices


def blocks(
    report: Report, decision: Decision | None = None, best: Best | None = None, better: bool | None = None, *,
    verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    """best: of the free GPUs of the node; better: than every outcome."""
    answer = report.answer
    where = f" on {report.node}" if report.node else ""
    asked = f"{answer.request.resource}: {answer.request.size}{where}"
    made = decides(decision, answer.mechanism)
    made.append(Table(asked + " ", (cell(f"Kubernetes {answer.version}"),), (), ()))
    made += [Blank(), *_answer(report)]
    if quiet:
        return tuple(made)
    title = "WHY"
    for line in answer.why:
        made.append(KeyValue(title, (cell(line),)))
        title = ""
    if report.why is not None:
        made += _why_not(report.why, title, verbose)
    made += _changes(report)
    made += _best(report, best, better)
    if answer.assumptions:
        made += [Blank(), Notes("ASSUMED", tuple(Note(cell(one.text)) for one in answer.assumptions))]
    return tuple(made)


def _answer(report: Report) -> list[Block]:
    answer = report.answer
    if answer.admitted is False:
        return [KeyValue("ANSWER", (cell(f"refused: {(answer.message or '').splitlines()[0]}", "error"),))]
    if answer.families:
        sets = [
            cell(f"any {one.choose} of {{{' '.join(one.of)}}} ({counted(one.ways, 'set')})") for one in answer.families
        ]
        return [KeyValue("ANSWER" if not at else "", (one,)) for at, one in enumerate(sets)]
    if answer.admitted is None and not report.seen:
        return [KeyValue("ANSWER", (cell("not decided", "warning"),))]
    if len(report.seen) == 1:
        return _one(report.seen[0], "ANSWER")
    many = f"one of {len(report.seen)} answers"
    if not answer.outcomes_complete:
        many = f"more than {len(report.seen)} answers are possible, among them"
    made: list[Block] = [KeyValue("ANSWER", (cell(many + _crossing(report.seen)),))]
    made += [KeyValue("", (cell(_set(one)),)) for one in report.seen[:_SHOWN]]
    if len(report.seen) > _SHOWN:
        made.append(KeyValue("", (cell(f"and {len(report.seen) - _SHOWN} more (-o json)"),)))
    return made


def _crossing(seen: Sequence[Seen]) -> str:
    crossing = sum(one.outcome.cross_package is True for one in seen)
    return f"; {crossing} of them cross sockets" if crossing else ""


def _one(one: Seen, title: str) -> list[Block]:
    made: list[Block] = []
    requests: dict[str, list[str]] = {}
    several = len({(given["driver"], given["pool"]) for given in one.claims}) > 1
    for given in one.claims:
        known = given["gpu"] or given["nic"]
        name = str(given["device"] or known)
        if several and given["device"]:
            name = f"{given['driver']}/{given['pool']}/{name}"
        requests.setdefault(f"{given['claim']} {given['request']}", []).append(
            f"{name} ({known})" if known and given["device"] else name
        )
    for request, devices in requests.items():
        made.append(KeyValue(title, (cell(f"{request}:"), *(cell(device, "strong") for device in devices))))
        title = ""
    if not requests:
        made.append(KeyValue(title, (cell("nothing is asked for, so nothing is allocated"),)))
    made += _lies(one.outcome, len(one.claims))
    if one.pairs:
        pairs = tuple(cell(f"{gpu}-{nic} {level or '?'}") for gpu, nic, level in one.pairs)
        made.append(KeyValue("", pairs, key="GPU-NIC"))
    return made


def _lies(one: Outcome, number: int) -> list[Block]:
    """Sockets and NUMA nodes; what no evidence says is said to be unknown."""
    if number == 0:
        return []
    if one.packages is not None:
        sockets = cell(f"sockets {' '.join(one.packages)}")
    else:
        sockets = cell("sockets not in these slices" if not one.gpus else "sockets not in this evidence")
    parts: list[Cell] = [sockets]
    if one.numa_nodes is not None:
        parts.append(cell(f"NUMA {' '.join(map(str, one.numa_nodes))}"))
    if one.weakest is not None:
        parts.append(cell(f"weakest pair {one.weakest.a}-{one.weakest.b} {one.weakest.level}"))
    made: list[Block] = [KeyValue("", tuple(parts))]
    if one.cross_package and number > 1:
        text = "the devices are on different sockets: first fit takes them in the order of the slice, not by distance"
        made.append(KeyValue("", (cell(text, "warning"),)))
    return made


def _set(one: Seen) -> str:
    return "{" + " ".join(one.outcome.devices) + "}"


def _why_not(why: WhyNot, title: str, verbose: bool) -> list[Block]:
    fits = why.fitting
    head = f"request {why.request} of claim {why.claim} stops: it asks for {counted(why.number, 'device')}"
    head += f", {fits} would do alone" if fits else ", no device would do"
    made: list[Block] = [KeyValue(title, (cell(head),))]
    made += [KeyValue("", (cell(line),)) for line in why.pools]
    attributes = dict.fromkeys(attribute for attribute, _, _ in why.groups)
    for attribute in attributes:
        groups = [(value, number) for name, value, number in why.groups if name == attribute]
        if len(groups) > 1 and max(number for _, number in groups) < why.number:
            most = max(number for _, number in groups)
            each = "each has its own" if most == 1 else f"at most {most} share one"
            text = f"matchAttribute {attribute}: {counted(sum(number for _, number in groups), 'device')}, {each}"
            made.append(KeyValue("", (cell(text),)))
            if attribute.endswith("/pcieRoot") and most == 1:
                advice = "every GPU has its own PCIe root; one GPU and one NIC per constraint would do"
                made.append(KeyValue("", (cell(advice),)))
    for short in why.counters:
        text = f"counter {short.counter} of {short.counter_set} in pool {short.pool}: {short.left} left,"
        text += f" enough for {short.most} of these {counted(short.devices, 'device')}"
        made.append(KeyValue("", (cell(text),)))
    if fits >= why.number and len(made) == 1:
        text = "together they will not do: constraints, counters or the requests after it leave too few at a time"
        made.append(KeyValue("", (cell(text),)))
    made += _verdicts(why.verdicts, verbose)
    return made


def _verdicts(verdicts: Sequence[Verdict], verbose: bool) -> list[Block]:
    """A line for each reason, with the devices it keeps out."""
    by_reason: dict[str, list[str]] = {}
    for one in verdicts:
        if one.test != "fits":
            by_reason.setdefault(one.says, []).append(one.device)
    lines = list(by_reason.items())
    if not verbose:
        lines = _alike_together(lines)
    made: list[Block] = []
    for reason, devices in lines[: len(lines) if verbose else _VERDICTS]:
        names = devices if verbose or len(devices) <= 4 else [*devices[:3], f"and {len(devices) - 3} more"]
        made.append(KeyValue("", (cell(f"{', '.join(names)}: {reason}"),)))
    if len(made) < len(lines):
        made.append(KeyValue("", (cell(f"and {len(lines) - len(made)} more reasons (-v)"),)))
    return made


def _alike_together(lines: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """One test that fails with many values is one line with the first of them."""
    tests: dict[str, list[tuple[str, list[str]]]] = {}
    for reason, devices in lines:
        tests.setdefault(reason.partition(": ")[0], []).append((reason, devices))
    made = []
    for test, own in tests.items():
        if len(own) <= _VALUES:
            made += own
            continue
        values = [reason.partition(": ")[2] for reason, _ in own[:_VALUES]]
        text = f"{test}: {' | '.join(values)} | {len(own) - _VALUES} more values (-v)"
        made.append((text, [device for _, devices in own for device in devices]))
    return made


def _changes(report: Report) -> list[Block]:
    if not report.changes:
        if report.why is None:
            return []
        none = "no constraint to drop, lower count or freed device makes it possible, nor any two of them"
        return [KeyValue("CHANGE", (cell(none),))]
    made: list[Block] = []
    title = "CHANGE"
    for one in report.changes[:_SHOWN]:
        made.append(KeyValue(title, (cell(f"{one.says}: possible (tried)"),)))
        title = ""
    return made


def _best(report: Report, best: Best | None, better: bool | None) -> list[Block]:
    if best is None or not best.sets or len(best.sets[0]) < 2:
        return []
    name = " or ".join("{" + " ".join(one) + "}" for one in best.sets[:3])
    if report.answer.admitted is False:
        return [KeyValue("BEST", (cell(f"of the free GPUs it would be {name}"),))]
    says = {True: f"{name} is free and better", False: "nothing now", None: "not decided by the evidence"}
    return [KeyValue("BETTER", (cell(says[better]),))]
