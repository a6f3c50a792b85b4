"""`gputopo pods -w`: asks again and again, and prints what changed: a line each, or NDJSON.

The kubelet has no watch, so it is asked every few seconds. It may restart meanwhile: that is said once on stderr, and
what was known stands until it answers again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gputopo.commands import output
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.rules.finding import Finding
    from gputopo.rules.pods.audit import Audit

Audited = Sequence["tuple[Audit, tuple[Finding, ...]]"]


def watch(
    ask: Callable[[], Audited], write: Callable[[str], bool], form: str, interval: float,
    sleep: Callable[[float], object] = time.sleep, first: Audited | None = None,
) -> None:  # fmt: skip
    """Until it is interrupted or `write` says that nobody reads.

    `first`: what was printed already, so that only changes follow.
    """
    from gputopo.reports import pod_changes

    told = pod_changes.events if form == "json" else pod_changes.lines
    known: dict[str, tuple[Audit, tuple[Finding, ...]]] = {_node(one): (one, found) for one, found in first or ()}
    silent = False
    while True:
        try:
            now = {_node(one): (one, found) for one, found in ask()}
        except GputopoError as error:
            if not silent:
                output.say(f"{error.what}; asking again every {interval:g} s")
            silent = True
        else:
            silent = False
            for node in dict.fromkeys((*known, *now)):
                text = told(known.get(node), now.get(node))
                if text and not write(text):
                    return
            known = now
        sleep(interval)


def _node(audit: Audit) -> str:
    return audit.held.name or ""
