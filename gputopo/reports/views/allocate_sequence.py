"""`allocate sequence` as blocks: a line an event, then the first that goes wrong and what would avoid it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.device_plugin.explain import Grouping, grouping
from gputopo.allocate.sequence.events import End, Start
from gputopo.allocate.sequence.forecast import ALWAYS, SOMETIMES, Forecast, Told
from gputopo.allocate.sequence.leftover import leftover
from gputopo.allocate.sequence.orders import Order
from gputopo.allocate.state import State
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Row, Table, cell
from gputopo.reports.views import allocate_parts as parts
from gputopo.rules.wording import counted

_SHOWN_SETS, _SHOWN_FREE, _SHOWN_ORDERS = 2, 2, 4


def blocks(
    forecast: Forecast, decision: Decision | None = None, *, node: str | None, resource: str,
    assumed: Sequence[Assumed] = (), verbose: bool = False, quiet: bool = False,
) -> tuple[Block, ...]:  # fmt: skip
    groups = grouping(forecast.start.node, forecast.start.units)
    where = f" on {node}" if node else ""
    head = (
        cell(f"{resource}, {counted(len(forecast.start.free), 'unit')} free{where}", "strong"),
        cell(f"{forecast.mechanism} {forecast.version}"),
    )
    made: list[Block] = [*parts.decides(decision, forecast.mechanism), Table("", head, (), ()), Blank()]
    made += [_table(forecast, groups, verbose=verbose), Blank()]
    made += _first(forecast)
    made += _orders(forecast, verbose=verbose)
    made += _placement(forecast)
    made += _repair(forecast)
    if not quiet:
        made += [Blank(), *parts.notes(assumed, forecast.start)]
        made.append(KeyValue("more", (cell("-v (all sets) | -o json | gputopo allocate device-plugin -c N", "dim"),),
                             role="dim"))  # fmt: skip
    return tuple(made)


def _table(forecast: Forecast, groups: Grouping | None, *, verbose: bool) -> Table:
    free_by = f"FREE BY {groups.noun.upper()}" if groups is not None else "FREE"
    several = any(_islands(told) for told in forecast.told)
    heads = ("EVENT", "VERDICT", "CAN GET (E.G.)", free_by, "WHOLE ISLANDS" if several else "")
    rows = [Row(tuple(cell(word, "dim") for word in heads))]
    for told in forecast.told:
        can_get, free = _can_get(forecast, told, verbose), _free(told, groups)
        rows.append(Row((cell(_event(told)), _verdict(told), cell(can_get), cell(free), cell(_islands(told)))))
    return Table("", (), (Column(), Column(), Column(fold=True), Column(), Column()), tuple(rows), 0)


def _event(told: Told) -> str:
    event = told.event
    return f"{event.owner} ends" if isinstance(event, End) else f"{event.owner} asks for {event.size}"


def _verdict(told: Told) -> Cell:
    if isinstance(told.event, End):
        return ()
    if told.refused == ALWAYS:
        return cell("refused", "error")
    if told.split == ALWAYS:
        return cell("split", "warning")
    if told.refused == SOMETIMES:
        return cell("can be refused", "error")
    if told.split == SOMETIMES:
        return cell("can be split", "warning")
    if not told.decided:
        return cell("not decided", "warning")
    return cell("ok" if told.complete else "ok so far")


def _can_get(forecast: Forecast, told: Told, verbose: bool) -> str:
    """Those that are split first: they are what one looks for."""
    sets = list(dict.fromkeys((*told.split_sets, *told.sets)))
    most = len(sets) if verbose else _SHOWN_SETS
    shown = [_named(forecast.start, one) for one in sets[:most]]
    if len(sets) > most:
        shown.append("...")  # not counted: of sets that differ in GPUs wired alike, not all are followed
    return " ".join(shown)


def _named(state: State, devices: Iterable[str]) -> str:
    return parts.set_name(state.node, devices)


def _free(told: Told, groups: Grouping | None) -> str:
    """`3+4 or 4+3`: how many are free in each group, in every state that can be."""
    found = dict.fromkeys(_counts(state, groups) for state in told.states)
    shown = list(found)[:_SHOWN_FREE]
    more = len(found) - len(shown)
    return " or ".join(shown) + (f" or {more} more" if more else "")


def _islands(told: Told) -> str:
    """`2-3 of 4`: NVLink islands that are free as a whole; "" where there are not several."""
    islands = len(told.states[0].node.islands.nvlink) if told.states else 0
    if islands < 2:
        return ""
    whole = sorted({len(leftover(state).whole_islands) for state in told.states})
    return f"{whole[0]} of {islands}" if len(whole) == 1 else f"{whole[0]}-{whole[-1]} of {islands}"


def _counts(state: State, groups: Grouping | None) -> str:
    if groups is None:
        return str(len(state.free))
    names = sorted(set(groups.of.values()), key=lambda one: (len(one), one))
    own = [groups.of.get(one, "") for one in state.free]
    return "+".join(str(own.count(name)) for name in names)


def _first(forecast: Forecast) -> list[Block]:
    first = forecast.first
    if first is None:
        unsure = next((told.event.owner for told in forecast.told if not told.decided), None)
        if unsure is not None:
            how = f"not decided from {unsure} on: the evidence leaves open what it gets, or how good that is"
            settle = f"settle it: gputopo allocate {forecast.mechanism} -c N says what is missing"
            return [KeyValue("FIRST", (cell(how, "warning"), cell(settle)))]
        whole = all(told.complete for told in forecast.told)
        text = "nothing goes wrong, whatever is picked" if whole else "nothing found, but not all states were followed"
        return [KeyValue("FIRST", (cell(text),))]
    what = []
    if first.refused in (SOMETIMES, ALWAYS):
        reason = f" ({first.reason})" if first.reason else ""
        what.append(("is refused" if first.refused == ALWAYS else "can be refused") + reason)
    if first.split in (SOMETIMES, ALWAYS):
        how = "gets" if first.split == ALWAYS else "can get"
        what.append(f"{how} a set that is worse than the best on an empty node")
    made: list[Block] = [KeyValue("FIRST", (cell(f"{first.event.owner} {' or '.join(what)}"),))]
    if first.split_sets:
        made.append(KeyValue("", (cell(f"as {_named(forecast.start, first.split_sets[0])}"),)))
    return made


def _orders(forecast: Forecast, *, verbose: bool) -> list[Block]:
    if len(forecast.orders) < 2:
        return []
    clean = forecast.clean_orders
    tried = counted(len(forecast.orders), "order")
    tried += "" if forecast.orders_complete else " tried (--all-orders tries more)"
    if clean:
        most = len(clean) if verbose else _SHOWN_ORDERS
        shown = "   ".join(_order(one) for one in clean[:most])
        more = f"   and {len(clean) - most} more (-v)" if len(clean) > most else ""
        text = f"{len(clean)} of {tried} never go wrong: {shown}{more}"
        return [KeyValue("ORDER", (cell(text),))]
    best = forecast.best_order
    trouble = [f"{best.refused} may be refused"] if best.refused else []
    trouble += [f"{best.split} may be split"] if best.split else []
    trouble = trouble or ["not followed to its end"]
    return [KeyValue("ORDER", (cell(f"none of {tried} is safe; best: {_order(best)} ({', '.join(trouble)})"),))]


def _order(order: Order) -> str:
    return ",".join(str(one.size) for one in order.starts)


def _placement(forecast: Forecast) -> list[Block]:
    if forecast.first is None:
        return []
    if forecast.placement is None:
        asked = sum(told.event.size for told in forecast.told if isinstance(told.event, Start))
        free = len(forecast.start.free)
        if asked > free:
            return [KeyValue("PLACE", (cell(f"none: {asked} are asked for, {free} are free"),))]
        return [KeyValue("PLACE", (cell("no placement gives every pod a best set"),))]
    order = {told.event.owner: at for at, told in enumerate(forecast.told)}
    parts = sorted(forecast.placement.items(), key=lambda item: order.get(item[0], 0))
    said = tuple(cell(f"{owner} {_named(forecast.start, devices)}") for owner, devices in parts)
    return [KeyValue("PLACE", (cell("all would fit well so:"), *said))]


def _repair(forecast: Forecast) -> list[Block]:
    repair = forecast.repair
    if repair is None:
        return []
    start = forecast.start
    held = "   ".join(f"{one.owner} {_named(start, one.devices)}" for one in repair.before.held)
    made: list[Block] = [KeyValue("REPAIR", (cell(f"if it came to {held}:"),))]
    plan = repair.plan
    if plan is None:
        made.append(KeyValue("", (cell(f"no restart of up to 5 pods gives {repair.target} a best set for certain"),)))
        return made
    first, *others = plan.start
    delete = " and ".join(plan.delete)
    text = f"delete {delete}; start {first.owner} first: {_answers(start, first.sets)}"
    made.append(KeyValue("", (cell(text),)))
    made += [KeyValue("", (cell(f"then {one.owner}: {_answers(start, one.sets)}"),)) for one in others]
    made.append(KeyValue("", (cell("checked by asking the mechanism again in every state on the way", "dim"),)))
    return made


def _answers(state: State, sets: Sequence[tuple[str, ...]]) -> str:
    if len(sets) == 1:
        return f"{_named(state, sets[0])} is then the only answer"
    shown = " ".join(_named(state, one) for one in sets[:_SHOWN_SETS])
    return f"one of {shown}" + (f" ... {len(sets)} in all" if len(sets) > _SHOWN_SETS else "")
