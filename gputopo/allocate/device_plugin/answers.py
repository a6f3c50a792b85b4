"""Outcome sets and spreads of the plugin → the `Answer` of the protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import NamedTuple

from gputopo.allocate.answer import Answer, PairScore
from gputopo.allocate.device_plugin.aligned import Aligned, padded, points_of, refuses
from gputopo.allocate.device_plugin.greedy import Spread
from gputopo.allocate.device_plugin.scores import Points
from gputopo.allocate.families import compress
from gputopo.allocate.outcome import LISTED, Family, Outcome, Viewer
from gputopo.allocate.request import Request
from gputopo.allocate.state import State, physical
from gputopo.topology.node import NoteAssumption

_CRASH = "padded"


class Said(NamedTuple):
    """Who says it and to what: the frame of every answer."""

    mechanism: str
    version: str
    unit: str
    request: Request

    def refused(self, reason: str, message: str, *why: str) -> Answer:
        return Answer(*self, admitted=False, reason=reason, message=message, why=why)

    def undecided(self, why: str) -> Answer:
        return Answer(*self, admitted=None, outcomes_complete=False, why=(why,))

    def random(self, free: Sequence[str], required: Sequence[str], why: str) -> Answer:
        """The plugin names nothing, so the kubelet takes any of the free ones."""
        rest = tuple(one for one in free if one not in required)
        family = Family(tuple(required), self.request.size - len(required), rest)
        return Answer(*self, admitted=True, outcomes_complete=False, families=(family,), why=(why,))

    def sets(self, state: State, sets: Sequence[tuple[str, ...]]) -> Answer:
        viewer = Viewer(state.node)
        return Answer(*self, admitted=True, outcomes=tuple(viewer.outcome(one) for one in sets))


def of_aligned(said: Said, state: State, found: Aligned) -> Answer:
    """Every outcome of every variant; a score only where all variants agree on it."""
    free = found.available
    outcomes = sorted(found.outcomes, key=lambda one: [(at is None, at or 0) for at in one])
    named = [one for one in outcomes if not refuses(one)]
    crashes = [one for one in named if padded(one)]
    refused = len(named) < len(outcomes)
    families: tuple[Family, ...] = ()
    if len(named) > LISTED:
        families = compress([[free[at] for at in one if at is not None] for one in named if not padded(one)])
    if refused:
        rest = tuple(one for one in free if one not in said.request.required)
        required = said.request.required
        families = (*families, Family(required, said.request.size - len(required), rest))
    viewer = Viewer(state.node)
    points = pair_points(found)
    listed = named if len(named) <= LISTED else crashes
    choices = len(free) - len(said.request.required), said.request.size - len(said.request.required)
    whole = len(named) - len(crashes) == comb(*choices)  # there is no other set, whatever the evidence leaves open
    return Answer(
        *said,
        admitted=None if crashes and len(crashes) < len(outcomes) else not crashes,
        outcomes=tuple(_outcome(viewer, found, points, one) for one in listed),
        outcomes_complete=(whole or not (found.alike or found.lopsided)) and len(named) <= LISTED and not refused,
        families=families,
        scores=pair_scores(found) if said.request.size > 1 else (),
        reason="UnexpectedAdmissionError" if crashes and len(crashes) == len(outcomes) else None,
        assumptions=_assumptions(found),
    )


def _outcome(
    viewer: Viewer, found: Aligned, points: Mapping[tuple[str, str], tuple[Points, ...]], one: tuple[int | None, ...]
) -> Outcome:  # fmt: skip
    gpus = tuple(found.available[at] for at in one if at is not None)
    low, high = score_range(points, gpus)
    return viewer.outcome(gpus, low if low == high else None, _CRASH if padded(one) else None)


def pair_points(found: Aligned) -> dict[tuple[str, str], tuple[Points, ...]]:
    """Pairs of the available GPUs, in the plugin's order, with every possibility the evidence leaves."""
    options: dict[tuple[str, str], dict[Points, None]] = {}
    for variant in found.variants:
        for pair, points in points_of(found, variant).items():
            options.setdefault(pair, {}).update(dict.fromkeys(points))
    place = {gpu: at for at, gpu in enumerate(found.gpus)}
    ordered = sorted(options, key=lambda pair: (place[pair[0]], place[pair[1]]))
    return {pair: tuple(options[pair]) for pair in ordered}


def score_range(points: Mapping[tuple[str, str], tuple[Points, ...]], gpus: Sequence[str]) -> tuple[int, int]:
    """The least and the highest score of a set, pair by pair."""
    inside = [options for pair, options in points.items() if set(pair) <= set(gpus)]
    scores = [[one.score for one in options] for options in inside]
    return sum(min(some) for some in scores), sum(max(some) for some in scores)


def pair_scores(found: Aligned) -> tuple[PairScore, ...]:
    """Pairs of the available GPUs; without a score where the evidence leaves several."""
    return tuple(
        PairScore(a, b, options[0].score, options[0].terms) if len(options) == 1 else PairScore(a, b, None, ())
        for (a, b), options in pair_points(found).items()
    )


def _assumptions(found: Aligned) -> tuple[NoteAssumption, ...]:
    made = []
    if found.no_nvlinks_assumed and any(variant.tables[0].points for variant in found.variants):
        text = "no source tells the NVLinks: answered as if there were none"
        made.append(NoteAssumption(found.available, text, None))
    if found.alike:
        text = "pairs whose PCIe level is open in the same way are taken to be at the same level"
        made.append(NoteAssumption(found.available, text, None))
    if found.lopsided:
        text = "NVLinks that differ by direction: the sets of orders that mix the directions are not listed"
        made.append(NoteAssumption(found.available, text, None))
    return tuple(made)


def of_spreads(said: Said, state: State, request: Request, spreads: Sequence[Spread]) -> Answer:
    """Shared and MIG devices: families always; the multisets one by one while they are few."""
    required = tuple(physical(one) for one in request.required)
    families = tuple(
        Family(required + _units(spread.forced), spread.choose, spread.of, spread.times) for spread in spreads
    )
    several = sum(family.ways for family in families) > LISTED
    viewer = Viewer(state.node)
    sets: dict[tuple[str, ...], None] = {}
    if not several:
        order = {physical(unit): at for at, unit in enumerate(state.units)}
        for family in families:
            for member in family.members():
                sets[tuple(sorted(member, key=order.__getitem__))] = None
    return Answer(
        *said,
        admitted=True,
        outcomes=tuple(viewer.outcome(one) for one in sets),
        outcomes_complete=not several,
        families=families,
    )


def _units(counts: dict[str, int]) -> tuple[str, ...]:
    return tuple(device for device, count in counts.items() for _ in range(count))
