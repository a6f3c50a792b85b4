"""What a rule says: severity, subjects, and the five sentences a person needs."""

from __future__ import annotations

from typing import NamedTuple

SEVERITIES = ("error", "warning", "info")


class Evidence(NamedTuple):
    source: str | None  # a sources[].id
    line: int | None
    text: str


class Finding(NamedTuple):
    rule: str  # "GT112"
    severity: str
    subjects: tuple[str, ...]
    message: str
    matters: str = ""
    because: str = ""
    remedy: str = ""
    evidence: tuple[Evidence, ...] = ()


class NotChecked(NamedTuple):
    rule: str
    needs: str
