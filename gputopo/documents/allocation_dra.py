"""A report of dynamic resource allocation as `kind: Allocation`, with what only this mechanism has."""

from __future__ import annotations

from typing import Any

from gputopo.allocate.best import Best
from gputopo.allocate.decider import Decision
from gputopo.allocate.dra.question import Report
from gputopo.documents import allocation


def encode(
    report: Report, decision: Decision | None = None, best: Best | None = None, better: bool | None = None
) -> dict[str, Any]:
    """`claims` and `nodeSelector` are those of the only outcome; of several, each is in `alternatives`."""
    alone = report.seen[0] if len(report.seen) == 1 and report.answer.outcomes_complete else None
    return allocation.encode(
        report.answer,
        node=report.node,
        decides=decision,
        best=best,
        better=better,
        claims=alone.claims if alone is not None else (),
        node_selector=alone.node_selector if alone is not None else None,
        more={
            "alternatives": [] if alone is not None else [list(one.claims) for one in report.seen],
            "gpuNicPairs": [
                {"gpu": gpu, "nic": nic, "level": level} for gpu, nic, level in (alone.pairs if alone else ())
            ],
            "whyNot": _why_not(report),
            "changes": [{"kind": one.kind, "says": one.says} for one in report.changes],
        },
    )


def _why_not(report: Report) -> dict[str, Any] | None:
    why = report.why
    if why is None:
        return None
    return {
        "claim": why.claim,
        "request": why.request,
        "count": why.number,
        "devices": [{"device": one.device, "test": one.test, "says": one.says} for one in why.verdicts],
        "groups": [{"attribute": name, "value": value, "devices": number} for name, value, number in why.groups],
        "pools": list(why.pools),
        "counters": [
            {
                "pool": one.pool,
                "counterSet": one.counter_set,
                "counter": one.counter,
                "left": one.left,
                "devices": one.devices,
                "most": one.most,
            }
            for one in why.counters
        ],
    }
