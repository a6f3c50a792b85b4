"""`allocate koordinator` and `allocate hami` as blocks: who decides, the answer, why, what would be better."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.answer import Answer
from gputopo.allocate.best import Best, Judge, islands
from gputopo.allocate.outcome import Family, Outcome
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, KeyValue, Note, Notes, Table, cell
from gputopo.rules.wording import counted

_SHOWN = 40  # sets
_FEW_FREE = 16


def blocks(
    answer: Answer, state: State, decides: str, best: Best | None = None, *, verbose: bool = False, quiet: bool = False
) -> tuple[Block, ...]:  # fmt: skip
    """decides: the one line that says whose decision this is; best: of the free GPUs, of this size."""
    made: list[Block] = [KeyValue("DECIDES", (cell(decides),)), *_head(answer, state), Blank(), *_answer(answer)]
    if quiet:
        return tuple(made)
    title = "WHY"
    for line in answer.why:
        made.append(KeyValue(title, (cell(line),)))
        title = ""
    made += _cost(answer, state)
    made += _better(answer, state, best)
    if verbose and answer.scores:
        pairs = [f"{one.a}-{one.b} {'?' if one.score is None else one.score}" for one in answer.scores]
        made.append(KeyValue("SCORES", tuple(cell(text) for text in pairs)))
    version = f"{answer.mechanism} {answer.version}"
    notes = [Note(cell(f"{_about(note.subjects, state)}{note.text}")) for note in answer.assumptions]
    made += [Blank(), Notes("ASSUMED", (Note(cell(f"the algorithm of {version}")), *notes))]
    return tuple(made)


def _head(answer: Answer, state: State) -> list[Block]:
    where = f" on {state.node.name}" if state.node.name else ""
    parts = [cell(f"{answer.request.resource}: {answer.request.size}{where}", "strong")]
    if len(state.free) <= _FEW_FREE:
        parts.append(cell(f"free: {' '.join(map(_short, state.free)) or 'none'}"))
    else:
        parts.append(cell(f"free: {len(state.free)} of {len(state.units)}"))
    return [Table("", tuple(parts), (), ())]


def _answer(answer: Answer) -> list[Block]:
    if answer.admitted is False:
        made: list[Block] = [KeyValue("ANSWER", (cell(f"refused: {answer.reason}", "error"),))]
        return made + ([KeyValue("", (cell(answer.message),))] if answer.message else [])
    ways = len(answer.outcomes) or sum(family.ways for family in answer.families)
    if answer.admitted is None and not ways:
        return [KeyValue("ANSWER", (cell("not decided", "warning"),))]
    first = _counted(answer, ways)
    made = [KeyValue("ANSWER", (cell(first),))]
    if len(answer.outcomes) > 1:
        shown = [cell(_set(one)) for one in answer.outcomes[:_SHOWN]]
        more = len(answer.outcomes) - _SHOWN
        made.append(KeyValue("", tuple(shown) + ((cell(f"and {more} more (-o json)"),) if more > 0 else ())))
    elif not answer.outcomes:
        made += [KeyValue("", (cell(_family(one)),)) for one in answer.families[:_SHOWN]]
    if answer.admitted is None and answer.message:
        made.append(KeyValue("", (cell(f"or refused, as what is not known may be: {answer.message}", "warning"),)))
    return made


def _counted(answer: Answer, ways: int) -> str:
    many = f"one of {ways} sets" if ways > 1 else f"only {_set(answer.outcomes[0])}" if answer.outcomes else "one set"
    text = many if answer.outcomes_complete else f"{many}, and others that the evidence leaves open"
    crossing = {one.cross_numa for one in answer.outcomes}
    if answer.outcomes and crossing == {True}:
        text += ", crossing NUMA nodes" if ways == 1 else "; every one crosses NUMA nodes"
    elif True in crossing:
        times = sum(one.cross_numa is True for one in answer.outcomes)
        text += f"; {times} of them cross NUMA nodes"
    return text


def _cost(answer: Answer, state: State) -> list[Block]:
    if not answer.outcomes or answer.request.size < 2:
        return []
    weakest = {None if one.weakest is None else one.weakest.level for one in answer.outcomes}
    if None in weakest:
        text = "the weakest pair is not decided by the evidence"
    else:
        text = f"weakest pair {' or '.join(sorted(str(level) for level in weakest))}"
    broken = {island for one in answer.outcomes for island in islands(state.node, one.gpus)[1]}
    if broken:
        text += f"; may break {counted(len(broken), 'NVLink island')}"
    return [KeyValue("COST", (cell(text),), key="GPU-GPU")]


def _better(answer: Answer, state: State, best: Best | None) -> list[Block]:
    """The best sets of the free GPUs beside what can be given."""
    if best is None or answer.request.size < 2 or not best.sets:
        return []
    name = " or ".join("{" + " ".join(map(_short, one)) + "}" for one in best.sets[:3])
    if answer.admitted is False:
        return [KeyValue("BEST", (cell(f"of the free GPUs it would be {name}"),))]
    judge = Judge(state.node)
    verdicts = {judge.better(best.sets[0], one.gpus) for one in answer.outcomes}
    if not verdicts or verdicts == {None}:
        return [KeyValue("BETTER", (cell("not decided by the evidence"),))]
    if True not in verdicts:
        return [KeyValue("BETTER", (cell("nothing now" if verdicts == {False} else "nothing that is certain"),))]
    worse = sum(judge.better(best.sets[0], one.gpus) is True for one in answer.outcomes)
    of = f"than {worse} of these {len(answer.outcomes)}" if len(answer.outcomes) > 1 else "than this"
    return [KeyValue("BETTER", (cell(f"{name} is free and better {of}"),))]


def _set(one: Outcome) -> str:
    return "{" + " ".join(map(_short, one.devices)) + "}"


def _family(one: Family) -> str:
    forced = f"{{{' '.join(map(_short, one.forced))}}}" if one.forced else ""
    chosen = f"any {one.choose} of {{{' '.join(map(_short, one.of))}}} ({one.ways} sets)" if one.choose else ""
    return " and ".join(part for part in (forced, chosen) if part)


def _short(id: str) -> str:
    number = id.removeprefix("GPU")
    return number if number.isdigit() else id


def _about(subjects: Sequence[str], state: State) -> str:
    """Whom an assumption is about, unless it is all GPUs of the node."""
    if not subjects or set(subjects) >= set(state.units):
        return ""
    return f"{' '.join(subjects)}: "
