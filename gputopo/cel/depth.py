"""Expressions that nest deeper than cel-go parses: the API server takes no object with one.

>>> nests_too_deep("(" * 300 + "true" + ")" * 300)
'expression recursion limit exceeded: 250'
>>> nests_too_deep("((device.driver == 'x'))") is None
True
"""

from __future__ import annotations

from gputopo.cel.environment import DEFAULT_RELEASE, environment

_FEW = 60  # brackets and operators with which nothing can be too deep


def nests_too_deep(text: str, release: str = DEFAULT_RELEASE) -> str | None:
    """cel-go's words, or None."""
    if sum(map(text.count, "([{?!-")) < _FEW:
        return None
    from gputopo.cel.parser import parse
    from gputopo.cel.program import deep_recursion

    env = environment(release)
    with deep_recursion():
        _, faults = parse(text, env.macros, env.escapes)
    return next((one.message for one in faults if one.line < 0 and "recursion limit" in one.message), None)
