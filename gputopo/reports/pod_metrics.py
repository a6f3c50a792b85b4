"""A PodAudit as metrics. Labels are names of the cluster and codes of rules: as many series as containers hold GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.prometheus import Metric, Sample

Document = Mapping[str, Any]


def metrics(audits: Sequence[Document]) -> tuple[Metric, ...]:
    """Of one or more nodes."""
    return (
        Metric("gputopo_node_gpus_free", "GPUs of the node that nothing holds.", tuple(_free(audits))),
        Metric("gputopo_container_gpus", "GPUs that the container holds.",
               tuple(_each(audits, lambda one: _count(one["gpus"])))),
        Metric("gputopo_container_cross_socket", "1 where its GPUs are on several sockets, 0 where on one.",
               tuple(_each(audits, lambda one: _flag(one["crossPackage"])))),
        Metric("gputopo_container_cross_numa", "1 where its GPUs are on several NUMA nodes, 0 where on one.",
               tuple(_each(audits, lambda one: _flag(one["crossNuma"])))),
        Metric("gputopo_container_better_free", "1 where a better set of its own and the free GPUs exists.",
               tuple(_each(audits, lambda one: float(bool(one["better"])) if one["gpus"] else None))),
        Metric("gputopo_pod_findings", "Findings by rule and severity.", tuple(_findings(audits))),
    )  # fmt: skip


def _free(audits: Sequence[Document]) -> Iterator[Sample]:
    for one in audits:
        if one["free"] is not None:
            yield Sample({"node": one["node"] or ""}, len(one["free"]))


def _each(audits: Sequence[Document], value: Any) -> Iterator[Sample]:
    for audit in audits:
        for one in audit["containers"]:
            found = value(one) if any(device["gpu"] for device in one["devices"]) else None
            if found is not None:
                labels = {"node": audit["node"] or "", "namespace": one["namespace"] or "",
                          "pod": one["pod"] or one["podUID"] or "", "container": one["container"] or ""}  # fmt: skip
                yield Sample(labels, found)


def _findings(audits: Sequence[Document]) -> Iterator[Sample]:
    for audit in audits:
        counts = Counter((one["rule"], one["severity"]) for one in audit["findings"])
        for (rule, severity), count in sorted(counts.items()):
            yield Sample({"node": audit["node"] or "", "rule": rule, "severity": severity}, count)


def _count(gpus: Sequence[str] | None) -> float | None:
    return float(len(gpus)) if gpus is not None else None


def _flag(value: bool | None) -> float | None:
    return None if value is None else float(value)
