"""Where the words of a sample stand, counted apart from the parser."""

from __future__ import annotations

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run

Said = tuple[str, str, tuple[int, int]]


def lint_together(text: str, context: Context | None = None, only: str = "") -> list[Problem]:
    """Of a file whose objects see each other."""
    manifests = read(text)
    found = run(manifests, (context or Context())._replace(together=manifests))
    return [one for one in found if one.rule.startswith(only)]


def said(text: str, context: Context | None = None, only: str = "") -> list[Said]:
    return [(one.rule, one.severity, tuple(one.place)) for one in lint_together(text, context, only)]


def at(text: str, mark: str) -> tuple[int, int]:
    """Line and column of the first character of `mark`, where it comes first."""
    start = text.index(mark)
    before = text[:start]
    return before.count("\n") + 1, start - before.rfind("\n")
