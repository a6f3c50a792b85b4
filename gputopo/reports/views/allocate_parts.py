"""What every answer of `allocate` has: who decides, what is free, the sets, why, what is left, what is assumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.allocate.answer import Answer
from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.device_plugin.explain import Grouping, grouping
from gputopo.allocate.device_plugin.units import label
from gputopo.allocate.outcome import Family, Outcome, Viewer
from gputopo.allocate.state import REPLICA, State
from gputopo.reports.blocks import Block, Cell, KeyValue, Note, Notes, Span, Table, cell
from gputopo.reports.views.words import gibibytes
from gputopo.rules.wording import counted
from gputopo.topology.node import NodeTopology

SHOWN_SETS, SHOWN_FAMILIES, FEW_FREE = 40, 6, 16
RANDOM = "the kubelet hands the free list over in random order"
_SYSTEMS = {
    "device-plugin": "the device plugin", "kubelet": "the kubelet", "dra": "DRA",
    "koordinator": "Koordinator", "hami": "HAMi",
}  # fmt: skip
_NOUNS = {"gpu": "GPU", "mig": "MIG device", "replica": "replica"}


def decides(decision: Decision | None, mechanism: str) -> list[Block]:
    """Whose decision it is; where it is another system's, that this answer is a hypothetical one."""
    if decision is None:
        return []
    settle = cell("" if decision.sure else f"settle it: {decision.settled_by}")
    made: list[Block] = [KeyValue("DECIDES", (cell(decision.line), settle))]
    if decision.is_other(mechanism):
        text = f"hypothetical: what follows is what {_SYSTEMS[mechanism]} would do if it decided"
        made.append(KeyValue("", (cell(text, "warning"),)))
    return made


def head(answer: Answer, state: State) -> Block:
    """`nvidia.com/gpu: 4 on gpu-a17   free: socket 0 -> 1 2 3   socket 1 -> 4 5 7`; the kubelet's by NUMA node."""
    request = answer.request
    where = f" on {state.node.name}" if state.node.name else ""
    title = f"{request.resource}: {request.size}{where} "  # parts stand three blanks apart, a title two
    parts = []
    if request.cpus is not None:
        parts.append(cell(f"{request.cpus} exclusive CPUs"))
    if request.memory_bytes is not None:
        parts.append(cell(f"{gibibytes(request.memory_bytes)} pinned"))
    return Table(title, (*parts, *_free(state, answer.unit, answer.mechanism == "kubelet")), (), ())


def _free(state: State, unit: str, by_numa: bool) -> list[Cell]:
    free = state.free
    if not state.units:
        return []
    if not free:
        return [cell(f"free: none of {len(state.units)}")]
    if unit == "replica":
        return [cell(f"free: {len(free)} of {len(state.units)} replicas")]
    viewer = Viewer(state.node)
    behind = {one: viewer.gpus((one,))[0] for one in free}
    groups = _groups(state.node, tuple(dict.fromkeys(behind.values())), by_numa)
    if groups is None:
        return [cell(f"free: {_listed(state, free)}")]
    parts = []
    for name in in_order(groups.of.values()):
        own = [one for one in free if groups.of[behind[one]] == name]
        parts.append(cell(f"{groups.noun} {name} -> {_listed(state, own)}"))
    return [(Span("free: "), *parts[0]), *parts[1:]]


def _groups(node: NodeTopology, gpus: Sequence[str], by_numa: bool = False) -> Grouping | None:
    known = {gpu.id: gpu.numa_nodes for gpu in node.gpus}
    if not set(gpus) <= set(known):
        return None
    numa = {id: str(nodes[0]) for id in gpus if (nodes := known[id]) is not None and len(nodes) == 1}
    return Grouping("NUMA node", numa) if by_numa and len(numa) == len(gpus) else grouping(node, gpus)


def _listed(state: State, units: Sequence[str]) -> str:
    if len(units) > FEW_FREE:
        return f"{len(units)} of {len(state.units)}"
    return " ".join(short(label(state.node, one)) for one in units)


def in_order(names: Iterable[str]) -> list[str]:
    """Names that end in numbers, by number; each once."""
    return sorted(set(names), key=lambda one: (len(one), one))


def short(id: str) -> str:
    """`3` of GPU3 and of its replicas, which are all alike; other names as they are."""
    number = id.removeprefix("GPU").partition(REPLICA)[0]
    return number if id.startswith("GPU") and number.isdigit() else id


def set_name(node: NodeTopology, units: Iterable[str]) -> str:
    """`{0,1,5}`."""
    return "{" + ",".join(short(label(node, one)) for one in units) + "}"


def sets(answer: Answer, node: NodeTopology, *, chance: str = "", verbose: bool = False) -> list[Block]:
    """ANSWER: what can be given. `chance`: why it cannot be predicted which of several it is."""
    if answer.admitted is False:
        return refusal(answer)
    outcomes = answer.outcomes
    if not outcomes and not answer.families:
        return [KeyValue("ANSWER", (cell("not decided by the evidence, see WHY", "warning"),))]
    if len(outcomes) == 1 and answer.outcomes_complete:
        return [KeyValue("ANSWER", (_set(node, outcomes[0]), *_facts(outcomes[0]), *_crossing(outcomes[0])))]
    made: list[Block] = [KeyValue("ANSWER", (cell(_how_many(answer, node)),))]
    if outcomes and (answer.outcomes_complete or not answer.families):
        made += _list(answer, node, verbose=verbose)
    else:
        shown = answer.families if verbose else answer.families[:SHOWN_FAMILIES]
        made += [KeyValue("", (cell(_family(node, one)),)) for one in shown]
        if len(shown) < len(answer.families):
            made.append(KeyValue("", (cell(f"and {counted(len(answer.families) - len(shown), 'more group')} (-v)"),)))
    if chance:
        made.append(KeyValue("", (cell(chance),)))
    return made


def _list(answer: Answer, node: NodeTopology, *, verbose: bool) -> list[Block]:
    outcomes = answer.outcomes
    shown = outcomes if verbose else outcomes[:SHOWN_SETS]
    alike = len({(one.cpus, one.memory_nodes) for one in outcomes}) == 1
    names = [_set(node, one) if alike else (*_set(node, one), Span(_after_set(one))) for one in shown]
    if not alike:
        made: list[Block] = [KeyValue("", (one,)) for one in names]
    else:
        made = [KeyValue("", tuple(dict.fromkeys(names)))]
        made += [KeyValue("", facts) for facts in [_facts(outcomes[0])] if facts]
    if len(shown) < len(outcomes):
        made.append(KeyValue("", (cell(f"and {len(outcomes) - len(shown)} more (-v)"),)))
    return made


def _set(node: NodeTopology, one: Outcome) -> Cell:
    name = set_name(node, one.devices)
    return cell(f"{name} then dies", "error") if one.defect else cell(name, "strong")


def _facts(one: Outcome) -> tuple[Cell, ...]:
    found = []
    if one.cpus:
        found.append(cell(f"CPUs {one.cpus}"))
    if one.memory_nodes is not None:
        found.append(cell(f"memory of NUMA {','.join(map(str, one.memory_nodes))}"))
    return tuple(found)


def _after_set(one: Outcome) -> str:
    said = "   ".join("".join(span.text for span in fact) for fact in _facts(one))
    return f"   {said}" if said else ""


def _crossing(one: Outcome) -> tuple[Cell, ...]:
    if one.cross_package:
        return (cell("crosses sockets"),)
    return (cell("crosses NUMA nodes"),) if one.cross_numa else ()


def _how_many(answer: Answer, node: NodeTopology) -> str:
    outcomes = answer.outcomes
    if answer.outcomes_complete:
        return f"one of {len({one.devices for one in outcomes})} sets{_every(answer, node)}"
    if not answer.families:
        return f"one of {counted(len(outcomes), 'set')}, and others that the evidence leaves open"
    ways = sum(one.ways for one in answer.families)
    return f"one of {'up to ' if len(answer.families) > 1 else ''}{ways} sets:"


def _every(answer: Answer, node: NodeTopology) -> str:
    """`, and every one crosses sockets (3+1)`; `, 16 of them cross sockets`."""
    outcomes = answer.outcomes
    for attribute, noun in (("cross_package", "sockets"), ("cross_numa", "NUMA nodes")):
        flags = [getattr(one, attribute) for one in outcomes if len(one.gpus) > 1]
        if not flags or any(flag is None for flag in flags):
            continue
        if sum(flags) == len(outcomes):
            return f", and every one crosses {noun}{_shapes(outcomes, node)}"
        return f", {sum(flags)} of them cross {noun}" if any(flags) else f", none crosses {noun}"
    return ""


def _shapes(outcomes: Sequence[Outcome], node: NodeTopology) -> str:
    found = {shape(one.gpus, node) for one in outcomes}
    return f" ({'+'.join(map(str, found.pop() or ()))})" if len(found) == 1 and None not in found else ""


def shape(gpus: Sequence[str], node: NodeTopology) -> tuple[int, ...] | None:
    """How many of a set lie in each socket (or NUMA node), most first."""
    groups = _groups(node, gpus)
    if groups is None:
        return None
    own = list(groups.of.values())
    return tuple(sorted((own.count(name) for name in set(own)), reverse=True))


def _family(node: NodeTopology, family: Family) -> str:
    forced, of = set_name(node, family.forced), set_name(node, family.of)
    if not family.choose:
        return forced
    times = f", {family.times} units of each" if family.times > 1 else ""
    first = f"{forced} and " if family.forced else ""
    return f"{first}any {family.choose} of {of}{times}   ({counted(family.ways, 'set')})"


def refusal(answer: Answer) -> list[Block]:
    """What, in upstream's words."""
    what = f"refused: {answer.reason}" if answer.reason else "refused"
    made: list[Block] = [KeyValue("ANSWER", (cell(what, "error"),))]
    return [*made, KeyValue("", (cell(answer.message or ""),))]


def why(lines: Iterable[str]) -> list[Block]:
    return under("WHY", lines)


def under(title: str, lines: Iterable[str]) -> list[Block]:
    """Lines of one section: its title stands beside the first."""
    return [KeyValue(title if at == 0 else "", (cell(line),)) for at, line in enumerate(lines)]


def left(left: int | None, largest: int | None, unit: str) -> list[Block]:
    """AFTER an answer."""
    if left is None:
        return []
    said = f"{counted(left, _NOUNS[unit])} left" if left else f"no {_NOUNS[unit]} left"
    if largest is None or not left:
        return [KeyValue("AFTER", (cell(said),))]
    if largest == left:
        return [KeyValue("AFTER", (cell(f"{said}: the largest request that fits"),))]
    return [KeyValue("AFTER", (cell(f"{said}; the largest request that is then admitted: {largest or 'none'}"),))]


def largest_now(largest: int | None) -> list[Block]:
    """Under a refusal."""
    if largest is None:
        return []
    text = f"largest admitted now: {largest}" if largest else "no request for this resource is admitted now"
    return [KeyValue("", (cell(text),))]


def notes(assumed: Iterable[Assumed], state: State) -> list[Block]:
    """ASSUMED: each with what would settle it, and whom it is about where that is not every GPU."""
    made = []
    for one in assumed:
        about = set(one.subjects)
        whom = f"{' '.join(one.subjects)}: " if about and not about >= set(state.units) and "node" not in about else ""
        made.append(Note(cell(f"{whom}{one.text}"), one.settle))
    return [Notes("ASSUMED", tuple(made))] if made else []
