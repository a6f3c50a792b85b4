"""A fleet as a report: the shapes, who is odd and by which field, what was found, held, read twice or not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gputopo.fleet.features import Features
from gputopo.fleet.odd import Compared, Group, Odd, Product, compare
from gputopo.fleet.part import Lost, Node, Part
from gputopo.fleet.shape import Outline
from gputopo.fleet.twice import Twice, twice
from gputopo.rules.finding import SEVERITIES, Finding
from gputopo.rules.fleet.run import run
from gputopo.rules.fleet.seen import FleetSeen, LostSeen, OddSeen, SplitSeen, TwiceSeen

NEVER = "never"
_NAMELESS = "nodes whose evidence names neither machine nor GPU model are compared by their number of GPUs"


class Shape(NamedTuple):
    fingerprint: str
    exact: bool
    outline: Outline
    product: Product
    evidence: str
    members: tuple[Node, ...]  # in the order of reading; the first is the example


class Tally(NamedTuple):
    """A rule over the nodes of the fleet."""

    rule: str
    severity: str
    nodes: int
    example: Node


class Owner(NamedTuple):
    owner: str
    pods: int
    avoidable: int
    nodes: int
    example: Node


class Apart(NamedTuple):
    """`of`: nodes that say what is free. `nodes`: those on which GPUs are lost."""

    of: int
    free: int
    lost: int
    nodes: tuple[Node, ...]


class Report(NamedTuple):
    groups: tuple[Group, ...]
    shapes: tuple[Shape, ...]
    compared: Compared
    tallies: tuple[Tally, ...]
    owners: tuple[Owner, ...]
    apart: Apart
    twice: tuple[Twice, ...]
    lost: tuple[Lost, ...]
    findings: tuple[Finding, ...]  # of the fleet: GT6xx
    assumptions: tuple[str, ...] = ()

    @property
    def nodes(self) -> int:
        return sum(group.size for group in self.groups)

    @property
    def odd_nodes(self) -> int:
        return len({node.at for odd in self.compared.odd for node in odd.nodes})

    def exit_code(self, fail_on: str) -> int:
        """2: no node was read. 1: a finding at or above `fail_on`, of a node or of the fleet."""
        if not self.nodes:
            return 2
        worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != NEVER else ()
        severities = {*(one.severity for one in self.findings), *(one.severity for one in self.tallies)}
        return int(not severities.isdisjoint(worst))


def report(part: Part, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Report:
    again = twice(node for own in part.nodes.values() for node in own)
    gone = {node.at for one in again for node in one.nodes[1:]}
    kept = {features: tuple(one for one in own if one.at not in gone) for features, own in part.nodes.items()}
    once = {features: own for features, own in kept.items() if own}
    compared = compare(once)
    every = sorted((node for own in once.values() for node in own), key=lambda node: node.at)
    nameless = any(not (features.product or features.models) for features in once)
    return Report(
        compared.groups, _shapes(compared.groups), compared, _tallies(every), _owners(every), _apart(every), again,
        part.lost, run(_seen(compared, again, part.lost), select, ignore), (_NAMELESS,) if nameless else (),
    )  # fmt: skip


def where(odd: Odd) -> str:
    """The field with the devices it is of.

    >>> from gputopo.fleet.odd import Product
    >>> where(Odd(Product(None, (), 8), "gpus[].numaNodes", ("0", "1", "2", "5"), (), (), 0, 0, ()))
    'gpus[0-2,5].numaNodes'
    """
    return at(odd.field, odd.keys)


def at(field: str, keys: Sequence[str]) -> str:
    if not any(keys):
        return field
    return field.replace("[]", f"[{_ranges(keys)}]")


def said(values: Sequence[str]) -> str:
    """
    >>> said(("0", "0", "0")), said(("mlx5_1 PIX", "mlx5_0 PIX"))
    ('0', 'mlx5_1 PIX, mlx5_0 PIX')
    """
    alike = dict.fromkeys(values)
    return next(iter(alike)) if len(alike) == 1 else ", ".join(values)


def named(node: Node) -> str:
    return node.name or node.source


def _ranges(keys: Sequence[str]) -> str:
    if not all(key.isdigit() for key in keys):
        return ",".join(keys)
    runs: list[list[int]] = []
    for number in sorted(map(int, keys)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _shapes(groups: Sequence[Group]) -> tuple[Shape, ...]:
    """One a form; what the evidence leaves open belongs to the form."""
    found: dict[tuple[Product, str], list[tuple[Features, Sequence[Node]]]] = {}
    for group in groups:
        for features, own in group.nodes.items():
            found.setdefault((group.product, features.form), []).append((features, own))
    made = []
    for (product, _), same in found.items():
        first = same[0][0]
        members = sorted((node for _, own in same for node in own), key=lambda node: node.at)
        evidence = " | ".join(sorted({features.evidence for features, _ in same}))
        made.append(Shape(first.fingerprint, first.exact, first.outline, product, evidence, tuple(members)))
    return tuple(sorted(made, key=lambda shape: (-len(shape.members), shape.members[0].at)))


def _tallies(every: Sequence[Node]) -> tuple[Tally, ...]:
    counts = Counter(found for node in every for found in node.findings)
    example = {found: node for node in reversed(every) for found in node.findings}
    made = (Tally(*found, nodes, example[found]) for found, nodes in counts.items())
    return tuple(sorted(made, key=lambda one: (SEVERITIES.index(one.severity), -one.nodes, one.rule)))


def _owners(every: Sequence[Node]) -> tuple[Owner, ...]:
    found: dict[str, Owner] = {}
    for node in every:
        for one in node.held.crossing if node.held is not None else ():
            had = found.get(one.owner) or Owner(one.owner, 0, 0, 0, node)
            found[one.owner] = had._replace(
                pods=had.pods + one.pods, avoidable=had.avoidable + one.avoidable, nodes=had.nodes + 1
            )
    return tuple(sorted(found.values(), key=lambda one: (-one.pods, one.owner)))


def _apart(every: Sequence[Node]) -> Apart:
    told = [(node, node.held) for node in every if node.held is not None and node.held.free is not None]
    lost = tuple(node for node, held in told if held.lost)
    return Apart(len(told), sum(held.free or 0 for _, held in told), sum(held.lost or 0 for _, held in told), lost)


def _seen(compared: Compared, again: Sequence[Twice], lost: Sequence[Lost]) -> FleetSeen:
    reasons: dict[str, list[str]] = {}
    for one in lost:
        reasons.setdefault(one.reason, []).append(one.source)
    return FleetSeen(
        tuple(
            OddSeen(where(odd), said(odd.found), said(odd.expected), odd.agree, odd.of, odd.product.title,
                    tuple(map(named, odd.nodes)))
            for odd in compared.odd
        ),
        tuple(LostSeen(reason, tuple(sources)) for reason, sources in reasons.items()),
        tuple(TwiceSeen(one.by, tuple(node.source for node in one.nodes)) for one in again),
        tuple(SplitSeen(at(one.field, (one.key,)), one.product.title, one.values) for one in compared.split),
    )  # fmt: skip
