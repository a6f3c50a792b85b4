"""Why a claim cannot be had on a node, in a few sentences: the request that stops, what is short, what would do."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.allocate.dra.question import Report
from gputopo.allocate.dra.why_not import WhyNot
from gputopo.rules.wording import counted

_CHANGES = 2


def sentences(report: Report) -> tuple[str, ...]:
    """The first one sums up."""
    answer, why = report.answer, report.why
    if why is None:
        return tuple(line for line in ((answer.message or "refused").splitlines()[0], *answer.why) if line)
    short = f"{why.fitting} would do alone" if why.fitting else "no device would do"
    what = f"request {why.request} of claim {why.claim}: {counted(why.number, 'device')} asked for, {short}"
    groups = _groups(why)
    head = f"{what}; {groups[0]}" if groups else what
    reasons = dict.fromkeys(one.says for one in why.verdicts if one.test != "fits")
    changes = [f"possible: {one.says}" for one in report.changes[:_CHANGES]]
    if not groups and not why.fitting and reasons:
        head = f"{what}: {next(iter(reasons))}"
    return (head, *groups[1:], *why.pools, *changes, *(reason for reason in reasons if reason not in head))


def _groups(why: WhyNot) -> Sequence[str]:
    """Of each matchAttribute that stops it: how many devices share a value."""
    found = []
    for attribute in dict.fromkeys(name for name, _, _ in why.groups):
        most = max(number for name, _, number in why.groups if name == attribute)
        if most < why.number:
            each = "each has its own" if most == 1 else f"at most {most} share one"
            found.append(f"matchAttribute {attribute.rpartition('/')[2]}: {each}")
    return found
