"""What a mechanism says to a request: every outcome it can have, and why."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.outcome import Family, Outcome
from gputopo.allocate.request import Request
from gputopo.topology.node import NoteAssumption


class PairScore(NamedTuple):
    """What an allocator adds up for a pair; `terms` sum to `score`. `None`: undecided."""

    a: str
    b: str
    score: int | None
    terms: tuple[tuple[str, int], ...]  # ("NODE", 20), ("NVLink x4", 400)


class Answer(NamedTuple):
    """`admitted` False: the real system refuses; None: it depends on what the evidence leaves open."""

    mechanism: str
    version: str
    unit: str  # "gpu" | "mig" | "replica"
    request: Request
    admitted: bool | None
    outcomes: tuple[Outcome, ...] = ()
    outcomes_complete: bool = True  # False: more can happen than is listed (families may hold the rest)
    families: tuple[Family, ...] = ()
    scores: tuple[PairScore, ...] = ()
    reason: str | None = None  # upstream's own word, e.g. "UnexpectedAdmissionError"
    message: str | None = None  # upstream's own sentence
    why: tuple[str, ...] = ()  # ours, a line each
    assumptions: tuple[NoteAssumption, ...] = ()
