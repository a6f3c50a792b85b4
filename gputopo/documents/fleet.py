"""`kind: FleetReport`: the shapes of many nodes, which node is odd and by which field, what was found and held.

    summary         nodes, groups, shapes, odd, twice, unreadable: how many
    groups[]        product groups: machine, GPU models (or `gpus`, their number, where no model is said), nodes, shapes
    shapes[]        the most frequent first: fingerprint, exact, nodes, product, evidence, what, example, members
    odd[]           field (`gpus[0-3].numaNodes`), attribute, devices, expected and found (by device), agree of `of`
                    nodes, product, nodes
    split[]         fields without a majority: field, product, values
    distribution[]  findings over the nodes: rule, severity, nodes, example
    crossing[]      owners whose pods cross sockets: pods, avoidable (a better set is free), nodes, example
    fragmentation   nodes that say what is free, GPUs free and lost, the nodes where they are lost
    duplicates[]    nodes that were read several times: by what they are known again; the first counts
    unreadable[]    source, reason
    findings        of the fleet itself: GT6xx
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gputopo.documents import shape
from gputopo.documents.admission import NODE_OUTLINE, SAVED_NODE, SavedNode
from gputopo.documents.forms import Field, Schema, choice, document_schema, flag, many, nullable, record, text, whole
from gputopo.fleet.admission import Unreadable
from gputopo.fleet.odd import Odd, Product, Split
from gputopo.fleet.part import Node
from gputopo.fleet.report import Apart, Owner, Report, Shape, Tally, at, where
from gputopo.fleet.shape import Outline
from gputopo.fleet.twice import Twice
from gputopo.rules.finding import SEVERITIES
from gputopo.topology.node import NoteAssumption

KIND = "FleetReport"
Document = dict[str, Any]
_text, _whole = nullable(text), nullable(whole)


class _Summary(NamedTuple):
    nodes: int
    groups: int
    shapes: int
    odd: int
    twice: int
    unreadable: int


class _Group(NamedTuple):
    product: Product
    nodes: int
    shapes: int


class _Shape(NamedTuple):
    fingerprint: str
    exact: bool
    nodes: int
    product: Product
    evidence: str
    what: Outline
    example: SavedNode
    members: tuple[SavedNode, ...]


class _Odd(NamedTuple):
    field: str
    attribute: str
    devices: tuple[str, ...]
    expected: tuple[str, ...]
    found: tuple[str, ...]
    agree: int
    of: int
    product: Product
    nodes: tuple[SavedNode, ...]


class _Value(NamedTuple):
    value: str
    nodes: int


class _Split(NamedTuple):
    field: str
    product: Product
    values: tuple[_Value, ...]


class _Tally(NamedTuple):
    rule: str
    severity: str
    nodes: int
    example: SavedNode


class _Owner(NamedTuple):
    owner: str
    pods: int
    avoidable: int
    nodes: int
    example: SavedNode


class _Apart(NamedTuple):
    nodes: int
    free: int
    lost: int
    where: tuple[SavedNode, ...]


class _Twice(NamedTuple):
    by: str
    nodes: tuple[SavedNode, ...]


_summary = record(_Summary, "FleetSummary", *(Field(name, whole) for name in _Summary._fields))
_product = record(
    Product, "ProductGroup", Field("product", _text), Field("models", many(text)), Field("gpus", _whole)
)
_group = record(_Group, "FleetGroup", Field("product", _product), Field("nodes", whole), Field("shapes", whole))
_shape = record(
    _Shape, "FleetShape",
    Field("fingerprint", text), Field("exact", flag), Field("nodes", whole), Field("product", _product),
    Field("evidence", text), Field("what", NODE_OUTLINE), Field("example", SAVED_NODE),
    Field("members", many(SAVED_NODE)),
)  # fmt: skip
_odd = record(
    _Odd, "OddNodes",
    Field("field", text), Field("attribute", text), Field("devices", many(text)), Field("expected", many(text)),
    Field("found", many(text)), Field("agree", whole), Field("of", whole), Field("product", _product),
    Field("nodes", many(SAVED_NODE)),
)  # fmt: skip
_value = record(_Value, "ValueCount", Field("value", text), Field("nodes", whole))
_split = record(
    _Split, "SplitField", Field("field", text), Field("product", _product), Field("values", many(_value))
)
_tally = record(
    _Tally, "FindingCount",
    Field("rule", text), Field("severity", choice(*SEVERITIES)), Field("nodes", whole), Field("example", SAVED_NODE),
)  # fmt: skip
_owner = record(
    _Owner, "CrossingOwner",
    Field("owner", text), Field("pods", whole), Field("avoidable", whole), Field("nodes", whole),
    Field("example", SAVED_NODE),
)  # fmt: skip
_apart = record(
    _Apart, "Fragmentation",
    Field("nodes", whole), Field("free", whole), Field("lost", whole), Field("where", many(SAVED_NODE)),
)  # fmt: skip
_twice = record(_Twice, "NodeTwice", Field("by", text), Field("nodes", many(SAVED_NODE)))
_unreadable = record(Unreadable, "UnreadableSource", Field("source", text), Field("reason", text))
_FIELDS = (
    ("summary", _summary), ("groups", many(_group)), ("shapes", many(_shape)), ("odd", many(_odd)),
    ("split", many(_split)), ("distribution", many(_tally)), ("crossing", many(_owner)), ("fragmentation", _apart),
    ("duplicates", many(_twice)), ("unreadable", many(_unreadable)), ("assumptions", shape.assumptions),
    ("findings", shape.findings),
)  # fmt: skip


def encode(report: Report) -> Document:
    found = report.compared
    values: dict[str, Any] = {
        "summary": _Summary(
            report.nodes, len(report.groups), len(report.shapes), report.odd_nodes,
            sum(len(one.nodes) - 1 for one in report.twice), len(report.lost),
        ),
        "groups": [
            _Group(one.product, one.size, sum(each.product == one.product for each in report.shapes))
            for one in report.groups
        ],
        "shapes": [_of_shape(one) for one in report.shapes], "odd": [_of_odd(one) for one in found.odd],
        "split": [_of_split(one) for one in found.split], "distribution": [_of_tally(one) for one in report.tallies],
        "crossing": [_of_owner(one) for one in report.owners], "fragmentation": _of_apart(report.apart),
        "duplicates": [_of_twice(one) for one in report.twice],
        "unreadable": [Unreadable(one.source, one.reason) for one in report.lost],
        "assumptions": [NoteAssumption((), said, None) for said in report.assumptions], "findings": report.findings,
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a FleetReport and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)


def _saved(node: Node) -> SavedNode:
    return SavedNode(node.source, node.name)


def _all(nodes: Sequence[Node]) -> tuple[SavedNode, ...]:
    return tuple(map(_saved, nodes))


def _of_shape(one: Shape) -> _Shape:
    return _Shape(
        one.fingerprint, one.exact, len(one.members), one.product, one.evidence, one.outline, _saved(one.members[0]),
        _all(one.members),
    )  # fmt: skip


def _of_odd(one: Odd) -> _Odd:
    return _Odd(
        where(one), one.field, tuple(key for key in one.keys if key), one.expected, one.found, one.agree, one.of,
        one.product, _all(one.nodes),
    )  # fmt: skip


def _of_split(one: Split) -> _Split:
    return _Split(at(one.field, (one.key,)), one.product, tuple(_Value(*each) for each in one.values))


def _of_tally(one: Tally) -> _Tally:
    return _Tally(one.rule, one.severity, one.nodes, _saved(one.example))


def _of_owner(one: Owner) -> _Owner:
    return _Owner(one.owner, one.pods, one.avoidable, one.nodes, _saved(one.example))


def _of_apart(one: Apart) -> _Apart:
    return _Apart(one.of, one.free, one.lost, _all(one.nodes))


def _of_twice(one: Twice) -> _Twice:
    return _Twice(one.by, _all(one.nodes))
