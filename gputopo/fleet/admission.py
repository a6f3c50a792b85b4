"""Would this pod be admitted, and how would it lie, on each shape of node in a fleet: the report as a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.request import Request
from gputopo.fleet.alike import Members
from gputopo.fleet.shape import Outline
from gputopo.fleet.verdict import FINE, REFUSED, SPLIT, UNDECIDED, VERDICTS, Verdict
from gputopo.rules.finding import SEVERITIES

NEVER = "never"
_ORDER = (REFUSED, SPLIT, UNDECIDED, FINE)


class Pod(NamedTuple):
    kind: str
    name: str | None
    namespace: str | None
    where: str


class Unreadable(NamedTuple):
    """A saved thing that no answer is for, and why."""

    source: str
    reason: str


class Judged(NamedTuple):
    """One shape of node. `key`: of the shape and all else that the answer depends on; `fingerprint`: of the shape."""

    key: str
    fingerprint: str
    exact: bool
    outline: Outline | None  # None: only its slices are known
    members: Members
    verdict: Verdict
    units: int | None = None
    free: int | None = None
    sets: tuple[tuple[str, ...], ...] = ()  # possible ones, by the ids of the example; the first of them
    reason: str | None = None  # upstream's own word
    message: str | None = None

    @property
    def severity(self) -> str | None:
        """Of what there is to say against it."""
        if self.verdict.verdict == REFUSED:
            return "error"
        if self.verdict.verdict == SPLIT:
            return "warning"
        return "info" if self.verdict.verdict == FINE and self.verdict.nearer else None


class Count(NamedTuple):
    shapes: int
    nodes: int


class Report(NamedTuple):
    mechanism: str
    version: str | None  # None: nothing was asked
    pod: Pod | None
    request: Request | None
    decides: Decision | None
    shapes: tuple[Judged, ...]
    unreadable: tuple[Unreadable, ...] = ()
    assumptions: tuple[Assumed, ...] = ()

    @property
    def nodes(self) -> int:
        return sum(len(one.members) for one in self.shapes)

    def tally(self, verdict: str) -> Count:
        own = [one for one in self.shapes if one.verdict.verdict == verdict]
        return Count(len(own), sum(len(one.members) for one in own))

    def exit_code(self, fail_on: str) -> int:
        """1: something at or above --fail-on. 3: else, and undecided somewhere. 2: there was nothing to ask."""
        if not self.shapes:
            return 2
        worst = SEVERITIES[: SEVERITIES.index(fail_on) + 1] if fail_on != NEVER else ()
        if any(one.severity in worst for one in self.shapes):
            return 1
        return 3 if self.tally(UNDECIDED).shapes else 0


def in_order(shapes: Iterable[Judged]) -> tuple[Judged, ...]:
    """The worst first, of equals the one with most nodes, then the one that was met first."""

    def place(one: Judged) -> tuple[int, int, int]:
        return _ORDER.index(one.verdict.verdict), -len(one.members), one.members[0].at

    return tuple(sorted(shapes, key=place))


def together(notes: Sequence[tuple[Assumed, ...]]) -> tuple[Assumed, ...]:
    """The assumptions of all answers, each once; of some answers only with how many they are."""
    found: dict[Assumed, int] = {}
    for some in notes:
        for one in dict.fromkeys(note._replace(subjects=()) for note in some):
            found[one] = found.get(one, 0) + 1
    return tuple(
        one if number == len(notes) else one._replace(text=f"{one.text} ({number} of {len(notes)} shapes)")
        for one, number in found.items()
    )


__all__ = ["NEVER", "VERDICTS", "Count", "Judged", "Pod", "Report", "Unreadable", "in_order", "together"]
