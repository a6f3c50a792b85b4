"""What came out: a line a field that is not as wanted, a line a field that nobody knows."""

from __future__ import annotations

from typing import NamedTuple

PASS, FAIL, UNDECIDED, UNREADABLE = "pass", "fail", "undecided", "unreadable"
STATUSES = (PASS, FAIL, UNDECIDED, UNREADABLE)
NOT_AS_WANTED = "GT601"


class Mismatch(NamedTuple):
    """`field` is that of the node's document; `source` and `line`: where the evidence says so, where that is known."""

    field: str
    subjects: tuple[str, ...]
    want: str
    found: str
    code: str = NOT_AS_WANTED
    message: str = ""  # of a finding
    source: str | None = None
    line: int | None = None
    known: bool = False  # reported before (--baseline)


class Open(NamedTuple):
    """A field that the evidence does not decide."""

    field: str
    subjects: tuple[str, ...]
    reason: str
    settled_by: str = ""


class Checked(NamedTuple):
    """One node, or one source that is none."""

    name: str  # of its sources
    node: str | None
    status: str
    mismatches: tuple[Mismatch, ...] = ()
    undecided: tuple[Open, ...] = ()
    reason: str = ""  # of what is unreadable
    hint: str = ""


def status_of(mismatches: tuple[Mismatch, ...], undecided: tuple[Open, ...]) -> str:
    if any(not one.known for one in mismatches):
        return FAIL
    return UNDECIDED if undecided else PASS
