"""Every error that Kubernetes' parser finds in a text with a syntax error, in the order in which it finds them.

>>> from gputopo.cel.environment import environment
>>> for fault in parse_faults("a == 80Gi && 99999999999999999999", environment("1.36").macros):
...     print(fault.column, fault.message)
8 Syntax error: mismatched input 'Gi' expecting <EOF>
>>> [fault.message for fault in parse_faults("[1 2", frozenset())]
["Syntax error: mismatched input '2' expecting {']', ','}"]
"""

from __future__ import annotations

from gputopo.cel.antlr_parser import AntlrParser
from gputopo.cel.antlr_prediction import TooMuchWork
from gputopo.cel.antlr_recovery import Stopped
from gputopo.cel.antlr_visitor import Visitor
from gputopo.cel.syntax import NOWHERE, Fault, fault_at


def parse_faults(text: str, macro_names: frozenset[str], escapes: bool = False) -> list[Fault]:
    """None at all where there is no error, or too much would have to be looked at.

    `escapes`: fields may be written in backquotes."""
    found: list[Fault] = []

    def report(at: int, message: str) -> None:
        found.append(fault_at(text, at, message))

    try:
        tree = AntlrParser(text, lambda at, message: report(at, f"Syntax error: {message}")).read()
        Visitor(macro_names, escapes, report).visit(tree.get("e"))
    except Stopped as error:
        if error.said:
            report(NOWHERE, error.said)
    except TooMuchWork:
        return []
    return found
