"""Reading on behind a syntax error: what a selector means where its marks are those of another language.

Kubernetes names the first faults only. A lint says all: the tree of the repaired text has what stands behind them,
at the places of the text as it was written.
"""

from __future__ import annotations

from gputopo.cel.checker import check
from gputopo.cel.environment import MOST_BYTES, Environment
from gputopo.cel.mapped import Mapped
from gputopo.cel.parser import parse
from gputopo.cel.repair import repaired
from gputopo.cel.syntax import Fault, Node, fault_at
from gputopo.terms.edits import Edit

_MOST_SAID = 20


def readable(text: str, macros: frozenset[str], escapes: bool = False) -> tuple[Node, Mapped]:
    """The tree of a text; where it cannot be read, that of the repaired text if more of that can be.

    >>> node, mapped = readable("a = b && c", frozenset())
    >>> mapped.text
    'a == b && c'
    """
    node, faults = parse(text, macros, escapes)
    if faults and len(text) <= MOST_BYTES:
        mapped = repaired(text)
        other, left = parse(mapped.text, macros, escapes)
        if len(left) < len(faults):
            return other, mapped
    return node, Mapped.of(text)


def faults_behind(text: str, env: Environment, faults: list[Fault]) -> list[Fault]:
    """The syntax faults of a text, those that they hide, and faults of types, in text order."""
    node, mapped = readable(text, env.macros, env.escapes)
    found = list(faults)
    for offset, message in check(node, env):
        found.append(fault_at(text, mapped.back(offset) if offset >= 0 else offset, message))
    if mapped.text != text:
        found += _unsaid(text, mapped.edits(), faults, env)
    return sorted(found, key=lambda fault: fault[:2])


def _unsaid(text: str, edits: tuple[Edit, ...], faults: list[Fault], env: Environment) -> list[Fault]:
    """A fault for each repair that has none: in the words that it gets once those before it are mended."""
    starts = _line_starts(text)
    said = [starts[fault.line - 1] + fault.column - 1 for fault in faults if fault.line > 0]
    found: list[Fault] = []
    for place, edit in enumerate(edits):
        if edit.text == ")" or any(edit.start - 1 <= offset <= edit.end + 1 for offset in said):
            continue
        _, left = parse(Mapped.of(text).replaced(edits[:place]).text, env.macros, env.escapes)
        if left and len(found) < _MOST_SAID:
            found.append(fault_at(text, edit.start, left[0].message))
    return found


def _line_starts(text: str) -> list[int]:
    return [0, *(place + 1 for place, character in enumerate(text) if character == "\n")]
