"""What every comparison of `smi-sisters` needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gputopo.records import NodeRecords
from gputopo.terms.unknown import Unknown

Expected = dict[str, Any]


class Answer(NamedTuple):
    formats: tuple[str, ...]  # as recognised
    nodes: tuple[NodeRecords, ...]
    error: str  # why there is no node
    text: str


class Wrong:
    """The differences found, one sentence each."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def unless_equal(self, what: str, expected: object, got: object) -> None:
        if expected != got:
            self.lines.append(f"{what}: expected {expected!r}, got {got!r}")


Comparison = Callable[[Expected, Answer, Wrong], None]


def known(value: Any) -> Any:
    """The value, or `None` where the source does not know."""
    return None if isinstance(value, Unknown) else value


def system(key: str, field: str) -> Comparison:
    """A key of the row against a field of the system."""
    return lambda expected, got, wrong: wrong.unless_equal(
        key, expected[key], known(getattr(got.nodes[0].system, field))
    )
