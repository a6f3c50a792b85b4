"""`kind: Forecast`: what a sequence of pods leaves behind.

    events[]:  event start|end, owner, count, refused and split never|sometimes|always|null, reason, sets and
               splitSets (each stands for those that differ from it only in GPUs wired alike),
               after[]: what is free, by NUMA node, and which NVLink islands are whole, in every state that
               can be; of states that differ only in GPUs wired alike, one
    firstTrouble: index into events; orders: those tried and those without trouble; placement: a good set
    for each pod; repair: {state, target, delete, start: [{owner, sets}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.allocate.decider import Decision
from gputopo.allocate.sequence.events import End, Start
from gputopo.allocate.sequence.forecast import ALWAYS, NEVER, SOMETIMES, Forecast, Told
from gputopo.allocate.sequence.leftover import Leftover, leftover
from gputopo.allocate.sequence.orders import Order
from gputopo.allocate.sequence.repair import Restarted
from gputopo.documents import allocation, shape
from gputopo.documents.forms import (
    Field,
    Schema,
    choice,
    document_schema,
    flag,
    many,
    mapping,
    nullable,
    record,
    text,
    whole,
)
from gputopo.topology.node import NoteAssumption

KIND, LIST_KIND = "Forecast", "ForecastList"
Document = dict[str, Any]


class _Event(NamedTuple):
    event: str
    owner: str
    size: int | None
    refused: str | None
    split: str | None
    reason: str | None
    sets: tuple[tuple[str, ...], ...]
    split_sets: tuple[tuple[str, ...], ...]
    after: tuple[Leftover, ...]
    complete: bool


class _Order(NamedTuple):
    order: tuple[str, ...]
    refused: int
    split: int
    complete: bool


class _Orders(NamedTuple):
    tried: int
    complete: bool
    clean: int
    best: _Order | None
    items: tuple[_Order, ...]


class _Held(NamedTuple):
    owner: str
    devices: tuple[str, ...]


class _Repair(NamedTuple):
    state: tuple[_Held, ...]
    target: str
    delete: tuple[str, ...] | None
    start: tuple[Restarted, ...] | None
    certain: bool | None


_often = nullable(choice(NEVER, SOMETIMES, ALWAYS))
_sets = many(many(text))
_leftover = record(
    Leftover, "Leftover",
    Field("free", many(text)), Field("byNumaNode", nullable(mapping(many(text))), "by_numa"),
    Field("wholeIslands", _sets, "whole_islands"),
)  # fmt: skip
_event = record(
    _Event, "ForecastEvent",
    Field("event", choice("start", "end")), Field("owner", text), Field("count", nullable(whole), "size"),
    Field("refused", _often), Field("split", _often), Field("reason", nullable(text)), Field("sets", _sets),
    Field("splitSets", _sets, "split_sets"), Field("after", many(_leftover)), Field("complete", flag),
)  # fmt: skip
_order = record(
    _Order, "ForecastOrder",
    Field("order", many(text)), Field("refused", whole), Field("split", whole), Field("complete", flag),
)  # fmt: skip
_orders = record(
    _Orders, "ForecastOrders",
    Field("tried", whole), Field("complete", flag), Field("clean", whole), Field("best", nullable(_order)),
    Field("items", many(_order)),
)  # fmt: skip
_held = record(_Held, "Holding", Field("owner", text), Field("devices", many(text)))
_restarted = record(Restarted, "Restarted", Field("owner", text), Field("sets", _sets))
_repair = nullable(record(
    _Repair, "ForecastRepair",
    Field("state", many(_held)), Field("target", text), Field("delete", nullable(many(text))),
    Field("start", nullable(many(_restarted))), Field("certain", nullable(flag)),
))  # fmt: skip
_assumption = record(
    NoteAssumption, "Assumption", Field("subjects", many(text)), Field("text", text), Field("source", nullable(text))
)
_FIELDS = (
    ("decides", allocation.decides_form),
    ("mechanism", text), ("version", text), ("node", nullable(text)), ("resource", text), ("units", many(text)),
    ("events", many(_event)), ("firstTrouble", nullable(whole)), ("orders", _orders),
    ("placement", nullable(mapping(many(text)))), ("repair", _repair), ("assumptions", many(_assumption)),
)  # fmt: skip


def encode(
    forecast: Forecast, decides: Decision | None = None, *, node: str | None, resource: str,
    assumptions: Sequence[NoteAssumption] = (),
) -> Document:  # fmt: skip
    orders = tuple(_ordered(one) for one in forecast.orders)
    values: dict[str, Any] = {
        "decides": None if decides is None else allocation.decided(decides, forecast.mechanism),
        "mechanism": forecast.mechanism, "version": forecast.version, "node": node, "resource": resource,
        "units": forecast.start.free, "events": [_said(told) for told in forecast.told],
        "firstTrouble": None if forecast.first is None else forecast.told.index(forecast.first),
        "orders": _Orders(
            len(orders), forecast.orders_complete, len(forecast.clean_orders),
            _ordered(forecast.best_order) if orders else None, orders,
        ),
        "placement": forecast.placement, "repair": _repaired(forecast), "assumptions": assumptions,
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def encode_list(items: Sequence[Document]) -> Document:
    return {"apiVersion": shape.API_VERSION, "kind": LIST_KIND, "items": list(items)}


def _said(told: Told) -> _Event:
    event = told.event
    return _Event(
        "end" if isinstance(event, End) else "start", event.owner,
        event.size if isinstance(event, Start) else None,
        told.refused, told.split, told.reason, told.sets, told.split_sets,
        tuple(map(leftover, told.states)), told.complete,
    )  # fmt: skip


def _ordered(order: Order) -> _Order:
    return _Order(tuple(one.owner for one in order.starts), order.refused, order.split, order.complete)


def _repaired(forecast: Forecast) -> _Repair | None:
    repair = forecast.repair
    if repair is None:
        return None
    held = tuple(_Held(one.owner, one.devices) for one in repair.before.held)
    plan = repair.plan
    if plan is None:
        return _Repair(held, repair.target, None, None, None)
    return _Repair(held, repair.target, plan.delete, plan.start, plan.certain)


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a Forecast and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
