"""Commands of gputopo that stand in files, and whether this command line knows them."""

from __future__ import annotations

import pytest

from gputopo.cli import VERBS, load

# Promised by the contract; a tree that has no such verb yet cannot say whether its options are right.
PLANNED = {"check", "diff", "fleet"}


def check_parses(words: list[str]) -> None:
    """That verb and options exist and take what they are given. Skips where the verb is still to come."""
    verb, *rest = words
    if verb not in VERBS and verb in PLANNED:
        pytest.skip(f"no verb {verb} in this tree yet")
    assert verb in VERBS, words
    command = load(verb)
    context = command.make_context(verb, list(rest), resilient_parsing=False)
    assert context is not None


def known_rules() -> set[str]:
    from gputopo.rules.codes import MODULES

    return set(MODULES)


def after(words: list[str], names: tuple[str, ...] = ("gputopo", "gputopo.pyz")) -> list[str] | None:
    """What follows the program's name in a command line, up to a pipe or a redirection; None: it is not called."""
    for at, word in enumerate(words):
        if word.rsplit("/", 1)[-1] in names and at + 1 < len(words) and not words[at + 1].startswith("/"):
            rest = words[at + 1 :]
            end = next((n for n, one in enumerate(rest) if one in ("|", ">", ">>", "&&", ";")), len(rest))
            return rest[:end]
    return None
