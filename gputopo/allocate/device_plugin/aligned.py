"""Whole GPUs: what alignedAlloc can return for a node, whatever the evidence leaves open.

Upstream: NVIDIA/k8s-device-plugin v0.20.0 internal/rm/nvml_manager.go. For each consistent table of scores
(assignments.py) the outcome set of BestEffort; `Variant`s with different sets are kept apart, so that a
reader sees what the open evidence decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

from gputopo.allocate.device_plugin.assignments import Table, Where, tables
from gputopo.allocate.device_plugin.every_order import MOST_DEVICES, REFUSAL, best_effort_outcomes
from gputopo.allocate.device_plugin.one_order import best_effort
from gputopo.allocate.device_plugin.scores import NVLINK_POINTS, OneSided, Points, listed_links, pair_table, seen_gpus
from gputopo.topology.node import NodeTopology, Pair

Device = Optional[int]  # noqa: UP045  (an alias, evaluated)
Sets = frozenset[tuple[Device, ...]]


class Variant(NamedTuple):
    """Tables of scores that lead to the same outcome set. `scores`: of the first of them."""

    outcomes: Sets  # positions in `Aligned.available`
    tables: tuple[Table, ...]  # by positions in `Aligned.gpus`
    scores: list[list[int]]  # by positions in `available`


class Aligned(NamedTuple):
    gpus: tuple[str, ...]  # all that the plugin sees, in its order
    available: tuple[str, ...]
    variants: tuple[Variant, ...]
    undecided: tuple[Where, ...]  # pairs of `gpus` with several possibilities, both of them available
    alike: bool  # too many tables: pairs with the same candidates were taken to be alike
    no_nvlinks_assumed: bool  # the evidence does not say whether there are NVLinks
    lopsided: bool = False  # links that differ by direction: the sets of mixed orders are not looked at

    @property
    def outcomes(self) -> Sets:
        return frozenset(one for variant in self.variants for one in variant.outcomes)


def too_many(available: Sequence[str]) -> bool:
    """More GPUs than outcome sets are computed for; upstream itself would take hours."""
    return len(available) > MOST_DEVICES


def aligned(
    node: NodeTopology, available: Sequence[str], required: Sequence[str], size: int, limit: int,
    ordered: Sequence[str] | None = None,
) -> Aligned:  # fmt: skip
    """ordered: the available GPUs in the order in which the plugin is handed them; `None`: any order."""
    gpus = tuple(gpu.id for gpu in seen_gpus(node))
    place = {gpu: at for at, gpu in enumerate(gpus)}
    free = tuple(ordered) if ordered is not None else tuple(sorted(available, key=place.__getitem__))
    listed = listed_links(node, limit)
    pairs, assumed = _with_nvlinks(pair_table(node, gpus), listed)
    wanted = [place[one] for one in required]
    found = _tables(pairs, limit, listed) if size > 1 else ((Table({}),), False, ())
    made, alike, undecided = found
    at = [place[one] for one in free]
    lopsided = [pair for pair in listed.values() if pair.forward != pair.backward and {pair.a, pair.b} <= set(free)]
    by_scores: dict[tuple[tuple[int, ...], ...], list[Table]] = {}
    for table in made:
        whole = table.scores(len(gpus))
        for scored in _both_ways(whole, place, lopsided, in_order=ordered is not None):
            by_scores.setdefault(tuple(tuple(scored[a][b] for b in at) for a in at), []).append(table)
    positions = range(len(free))
    must = [at.index(one) for one in wanted]
    variants: dict[Sets, list[Table]] = {}
    scores_of: dict[Sets, list[list[int]]] = {}
    for key, some in by_scores.items():
        scores = [list(row) for row in key]
        if ordered is not None:
            outcomes: Sets = frozenset([tuple(best_effort(scores, positions, must, size))])
        else:
            outcomes = frozenset(best_effort_outcomes(scores, positions, must, size))
        variants.setdefault(outcomes, []).extend(some)
        scores_of.setdefault(outcomes, scores)
    free_places = set(at)
    return Aligned(
        gpus, free,
        tuple(Variant(outcomes, tuple(some), scores_of[outcomes]) for outcomes, some in variants.items()),
        tuple(where for where in undecided if set(where) <= free_places), alike, assumed,
        bool(lopsided) and ordered is None and size > 1,
    )  # fmt: skip


def _both_ways(
    scores: list[list[int]], place: Mapping[str, int], lopsided: Sequence[OneSided], *, in_order: bool
) -> list[list[list[int]]]:  # fmt: skip
    """Scores of pairs whose links differ by direction: upstream takes the list of the one that comes first.

    For one order that is exact; for all orders two tables stand for them, each with one direction.
    """
    if not lopsided:
        return [scores]
    made = []
    for backwards in (False,) if in_order else (False, True):
        own = [list(row) for row in scores]
        for pair in lopsided:
            a, b = place[pair.a], place[pair.b]
            extra = NVLINK_POINTS * (pair.backward - pair.forward)
            own[b][a] += extra if in_order or backwards else 0
            own[a][b] += extra if backwards else 0
        made.append(own)
    return made


def _tables(
    pairs: Mapping[Where, Pair], limit: int, listed: Mapping[frozenset[str], OneSided]
) -> tuple[tuple[Table, ...], bool, tuple[Where, ...]]:
    found = tables(pairs, limit, listed)
    return found.tables, found.alike, found.undecided


def _with_nvlinks(
    pairs: dict[Where, Pair], listed: Mapping[frozenset[str], OneSided]
) -> tuple[dict[Where, Pair], bool]:  # fmt: skip
    """Pairs of which no source tells the NVLinks are taken to have none: named as an assumption."""
    unknown = [
        where
        for where, pair in pairs.items()
        if pair.nvlinks is None and pair.via_switch is not True and frozenset((pair.a, pair.b)) not in listed
    ]
    for where in unknown:
        pairs[where] = pairs[where]._replace(nvlinks=0)
    return pairs, bool(unknown)


def refuses(outcome: tuple[Device, ...]) -> bool:
    return outcome == REFUSAL


def padded(outcome: tuple[Device, ...]) -> bool:
    """Whether upstream's padding was returned, on which the plugin dies."""
    return None in outcome


def points_of(aligned: Aligned, variant: Variant) -> dict[tuple[str, str], tuple[Points, ...]]:
    """Pairs of available GPUs → the points that the variant's tables give them."""
    free = set(aligned.available)
    found: dict[tuple[str, str], dict[Points, None]] = {}
    for table in variant.tables:
        for (a, b), points in table.points.items():
            pair = (aligned.gpus[a], aligned.gpus[b])
            if free >= set(pair):
                found.setdefault(pair, {})[points] = None
    return {pair: tuple(points) for pair, points in found.items()}
