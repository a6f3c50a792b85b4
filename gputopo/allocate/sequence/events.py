"""What happens on the node, in order: a pod starts and asks for GPUs, or it ends.

    >>> parse_events("1,1,4,-2")
    (Start(owner='pod-1', size=1), Start(owner='pod-2', size=1), Start(owner='pod-3', size=4), End(owner='pod-2'))
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gputopo.errors import GputopoError

_HINT = "--request 1,1,2,4 starts four pods; -2 in it ends the second"


class Start(NamedTuple):
    owner: str
    size: int  # units of the resource


class End(NamedTuple):
    owner: str


Event = Start | End


def parse_events(text: str) -> tuple[Event, ...]:
    """`N` starts a pod of N units, `-K` ends the K-th one. Raises GputopoError."""
    events: list[Event] = []
    running: list[str | None] = []
    for word in text.split(","):
        word = word.strip()
        if not word.lstrip("-").isdigit() or word.startswith("--"):
            raise GputopoError(f"--request takes numbers, not {word!r}", hint=_HINT)
        number = int(word)
        if number > 0:
            running.append(f"pod-{len(running) + 1}")
            events.append(Start(f"pod-{len(running)}", number))
            continue
        owner = running[-number - 1] if 0 < -number <= len(running) else None
        if number == 0:
            raise GputopoError("--request: a pod of 0 GPUs asks for nothing", hint=_HINT)
        if owner is None:
            raise GputopoError(f"--request: no pod {-number} runs when {word} is to end it", hint=_HINT)
        running[-number - 1] = None
        events.append(End(owner))
    return tuple(events)


def starts(events: Iterable[Event]) -> tuple[Start, ...]:
    return tuple(event for event in events if isinstance(event, Start))
