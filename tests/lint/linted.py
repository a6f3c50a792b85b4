"""Lints a text as the verb does: every manifest of it is known to every rule."""

from __future__ import annotations

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run
from gputopo.terms.manifest import Place


def lint(*texts: str, context: Context | None = None) -> list[Problem]:
    """Of the first text; the others are files of the same run."""
    own = read(texts[0])
    others = [one for text in texts[1:] for one in read(text)]
    return list(run(own, (context or Context())._replace(together=(*own, *others))))


def said(*texts: str, context: Context | None = None) -> list[tuple[str, str]]:
    """Rule and severity."""
    return [(one.rule, one.severity) for one in lint(*texts, context=context)]


def place_of(text: str, there: str) -> Place:
    """Where the first occurrence of a part stands."""
    before = text[: text.index(there)]
    return Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
