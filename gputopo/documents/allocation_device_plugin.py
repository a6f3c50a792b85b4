"""A report of the device plugin as `kind: Allocation`, with what only this mechanism has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.device_plugin.why import sentences
from gputopo.documents import allocation
from gputopo.documents.allocation import After
from gputopo.rules.finding import Finding
from gputopo.topology.node import NoteAssumption


def encode(report: Report, notes: Sequence[str] = (), findings: Sequence[Finding] = ()) -> dict[str, Any]:
    answer = report.answer
    assumptions = (*answer.assumptions, *(NoteAssumption((), text, None) for text in _assumed(report, notes)))
    return allocation.encode(
        answer,
        node=report.state.node.name,
        best=report.best,
        better=report.better,
        after=_after(report),
        why=sentences(report),
        assumptions=assumptions,
        findings=findings,
        more={"container": _container(report), "variants": _variants(report), "fmPartitions": _fits(report)},
    )


def _assumed(report: Report, notes: Sequence[str]) -> list[str]:
    own = report.plugin.behaviour
    known = f"device plugin {own.version}"
    made = [known if own.known else f"{known} was not read: answered as the nearest release that was"]
    return made + list(notes)


def _after(report: Report) -> After | None:
    if report.left is None:
        return None
    sets = {frozenset(one.devices) for one in report.answer.outcomes}
    alone = len(sets) == 1 and report.answer.outcomes_complete and report.answer.unit != "replica"
    free = tuple(unit for unit in report.state.free if unit not in next(iter(sets))) if alone else None
    return After(free, report.left)


def _container(report: Report) -> dict[str, Any] | None:
    """Of the first outcome: what the others see differs in the ids only."""
    look = report.visible
    if look is None:
        return None
    return {
        "ids": list(look.ids),
        "env": dict(look.env),
        "mounts": [{"hostPath": host, "containerPath": inside} for host, inside in look.mounts],
        "cdiDevices": list(look.cdi_devices),
        "annotations": dict(look.annotations),
        "devices": list(look.devices),
        "visibleDevicesUnset": look.unset,
    }


def _variants(report: Report) -> list[dict[str, Any]]:
    """What the open evidence decides: the sets of each possibility, where they differ."""
    found = report.found
    if found is None or len(found.variants) < 2:
        return []
    return [
        {
            "possibilities": len(variant.tables),
            "sets": [
                [found.available[at] for at in one if at is not None] for one in sorted(variant.outcomes, key=str)
            ],
        }
        for variant in found.variants
    ]


def _fits(report: Report) -> list[dict[str, Any]] | None:
    """Beside `outcomes`, in their order."""
    if report.fits is None:
        return None
    return [{"partition": fit.partition, "freeAfter": list(fit.free_after)} for fit in report.fits]
