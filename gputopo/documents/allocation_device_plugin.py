"""A report of the device plugin as `kind: Allocation`, with what only this mechanism has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.device_plugin.beside import after
from gputopo.allocate.device_plugin.report import Report
from gputopo.allocate.device_plugin.why import sentences
from gputopo.allocate.kubelet.otherwise import Otherwise
from gputopo.documents import allocation
from gputopo.rules.finding import Finding


def encode(
    report: Report, decides: Decision | None = None, assumed: Sequence[Assumed] = (), findings: Sequence[Finding] = (),
    others: Sequence[Otherwise] = (),
) -> dict[str, Any]:  # fmt: skip
    return allocation.encode(
        report.answer,
        node=report.state.node.name,
        decides=decides,
        best=report.best,
        better=report.better,
        after=after(report),
        why=sentences(report),
        assumptions=allocation.notes(assumed),
        findings=findings,
        more={
            "otherwise": allocation.other_policies(others), "container": _container(report),
            "variants": _variants(report), "fmPartitions": _fits(report),
        },
    )  # fmt: skip


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
