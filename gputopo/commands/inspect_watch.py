"""`gputopo inspect -w`: looks again after each event of the kernel, and now and then, and prints what changed.

A driver that is reloaded does not answer for a while: that is said once, and what was known stands until it does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gputopo.commands import output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.inspection import Inspection

_DRIVER = "driver-"


def watch(
    first: Inspection, ask: Callable[[], Inspection], write: Callable[[str], bool], form: str,
    wait: Callable[[], object],
) -> None:  # fmt: skip
    """Until it is interrupted or `write` says that nobody reads. `first` was printed already."""
    from gputopo.reports import node_changes

    told = node_changes.events if form == "json" else node_changes.lines
    known, silent = first, _silence(first)
    while True:
        wait()
        try:
            now = ask()
        except GputopoError as error:
            if not silent:
                output.say(f"{error.what}; looking again")
            silent = error.what
            continue
        why = _silence(now)
        if why and not _silence(known):
            if not silent:
                output.say(f"{why}; what was known stands until it answers")
            silent = why
            continue
        silent = why
        text = told(known, now)
        if text and not write(text):
            return
        known = now


def _silence(inspection: Inspection) -> str:
    """Why the driver said nothing of its GPUs."""
    return next((one.text for one in inspection.node.observations if one.kind.startswith(_DRIVER)), "")
