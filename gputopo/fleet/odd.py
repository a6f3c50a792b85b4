"""Which nodes are not like the others of their product, and the field that says so.

*Product group*: nodes of one machine model with the same GPU models; where the evidence names neither, of the same
number of GPUs. A group of one or two nodes is folded into the one that has the same machine model, if there is
exactly one. *Expected* is what more than half of the nodes say that say anything, of at least three; where
there is no such value, nobody is odd and the field is listed as split. Values that depend on how the node was read
(what a shape looks like, which NICs are listed) are compared only with nodes that were read from the same formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gputopo.fleet.features import KINDS, Features, Values
from gputopo.fleet.part import Node

FEWEST = 3  # that tell a field, before one of them can be odd
Nodes = Mapping[Features, Sequence[Node]]


class Product(NamedTuple):
    product: str | None
    models: tuple[str, ...]
    gpus: int | None  # where there is no model: how many

    @property
    def title(self) -> str:
        """`HGX H100 8-GPU (H100 80GB HBM3)`."""
        models = " + ".join(model.removeprefix("NVIDIA ") for model in self.models)
        models = models or (f"{self.gpus}x GPU" if self.gpus is not None else "")
        return f"{self.product} ({models})" if self.product and models else self.product or models


class Group(NamedTuple):
    product: Product
    nodes: Nodes

    @property
    def size(self) -> int:
        return sum(map(len, self.nodes.values()))


class Odd(NamedTuple):
    """`nodes` say `found` where `agree` of `of` nodes say `expected`; `keys`: of which devices, "" the node itself."""

    product: Product
    field: str
    keys: tuple[str, ...]
    expected: tuple[str, ...]  # by key
    found: tuple[str, ...]
    agree: int
    of: int
    nodes: tuple[Node, ...]


class Split(NamedTuple):
    """No value of this field has more than half; `values` with the most nodes first."""

    product: Product
    field: str
    key: str
    values: tuple[tuple[str, int], ...]


class Compared(NamedTuple):
    groups: tuple[Group, ...]
    odd: tuple[Odd, ...]
    split: tuple[Split, ...]


class _Usual(NamedTuple):
    value: str | None  # None: no value has more than half
    agree: int
    of: int
    values: tuple[tuple[str, int], ...]


_Table = dict[tuple[str, str, str], _Usual]  # (field, evidence or "", key)


def compare(nodes: Nodes) -> Compared:
    groups = _groups(nodes)
    odd: list[Odd] = []
    split: list[Split] = []
    for group in groups:
        usual = _usual(group)
        odd += _odd(group, usual)
        for (field, _, key), one in usual.items():
            if one.value is None and one.of >= FEWEST:
                split.append(Split(group.product, field, key, one.values))
    return Compared(groups, tuple(odd), _worth(split, groups))


def _groups(nodes: Nodes) -> tuple[Group, ...]:
    by: dict[Product, dict[Features, Sequence[Node]]] = {}
    for features, own in nodes.items():
        count = None if features.models else features.outline.gpus
        by.setdefault(Product(features.product, features.models, count), {})[features] = own
    sizes = {product: sum(map(len, own.values())) for product, own in by.items()}
    for product in [one for one in by if sizes[one] < FEWEST and one.product]:
        alike = [one for one in by if one.product == product.product and sizes[one] >= FEWEST]
        if len(alike) == 1:
            by[alike[0]].update(by.pop(product))
    made = (Group(product, own) for product, own in by.items())
    return tuple(sorted(made, key=lambda group: (-group.size, min(own[0].at for own in group.nodes.values()))))


def _scope(field: str, features: Features) -> str:
    return "" if KINDS[field].any_evidence else features.evidence


def _usual(group: Group) -> _Table:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for features, own in group.nodes.items():
        for field, values in features.fields:
            scope = _scope(field, features)
            for key, value in values:
                counts.setdefault((field, scope, key), Counter())[value] += len(own)
    return {place: _most(found) for place, found in counts.items()}


def _most(found: Counter[str]) -> _Usual:
    values = tuple(sorted(found.items(), key=lambda each: (-each[1], each[0])))
    of = sum(found.values())
    value, agree = values[0]
    decided = of >= FEWEST and 2 * agree > of
    return _Usual(value if decided else None, agree, of, values)


def _odd(group: Group, usual: _Table) -> Iterator[Odd]:
    found: dict[Odd, list[Node]] = {}
    for features, own in group.nodes.items():
        told_oddly = ((field, _strange(field, values, features, usual)) for field, values in features.fields)
        strange = {field: told for field, told in told_oddly if told}
        for field, told in strange.items():
            kind = KINDS[field]
            if kind.of in strange or any(other in strange for other in kind.implied_by):
                continue
            said = dict(told)
            places = [usual[field, _scope(field, features), key] for key in said]
            expected = tuple(place.value or "" for place in places)
            agree, of = min((place.agree, place.of) for place in places)
            one = Odd(group.product, field, tuple(said), expected, tuple(said.values()), agree, of, ())
            found.setdefault(one, []).extend(own)
    for one, nodes in found.items():
        yield one._replace(nodes=tuple(sorted(nodes, key=lambda node: node.at)))


def _strange(field: str, values: Values, features: Features, usual: _Table) -> Values:
    scope = _scope(field, features)
    return tuple(
        (key, value) for key, value in values
        if (one := usual[field, scope, key]).value is not None and one.value != value
    )  # fmt: skip


def _worth(split: Iterable[Split], groups: Sequence[Group]) -> tuple[Split, ...]:
    """Not what another split field implies already; of several devices that are split alike, the first."""
    found: dict[tuple[object, ...], Split] = {}
    for one in split:
        found.setdefault((one.product, one.field, one.values), one)
    fields = {(one.product, one.field) for one in found.values()}
    return tuple(
        one for one in found.values()
        if not any((one.product, other) in fields for other in (KINDS[one.field].of, *KINDS[one.field].implied_by))
    )  # fmt: skip
