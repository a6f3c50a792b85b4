"""A PodAudit as metrics: `metrics` with the names of containers, `totals` in numbers only.

Labels of `metrics` are names of the cluster and codes of rules: as many series as containers hold GPUs. `totals` has no
more series for a thousand pods than for one, so it may be kept for years.
"""

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


def totals(audit: Document) -> tuple[Metric, ...]:
    """Of one node; what is undecided of a container is counted in `gputopo_containers_undecided`."""
    holding = [one for one in audit["containers"] if one["devices"] and _holds_gpus(one)]
    crossing = [one["crossPackage"] if one["crossPackage"] is not None else one["crossNuma"] for one in holding]
    findings = Counter((one["rule"], one["severity"]) for one in audit["findings"])
    return (
        _one("gputopo_gpus_free", "GPUs that nothing holds.", None if audit["free"] is None else len(audit["free"])),
        _one("gputopo_containers_holding_gpus", "Containers that hold GPUs.", len(holding)),
        _one("gputopo_containers_cross_socket", "Of these: their GPUs are on several sockets.",
             sum(one["crossPackage"] is True for one in holding)),
        _one("gputopo_containers_cross_numa", "Of these: their GPUs are on several NUMA nodes.",
             sum(one["crossNuma"] is True for one in holding)),
        _one("gputopo_containers_better_free", "Of these: a better set of their own and the free GPUs exists.",
             sum(bool(one["better"]) for one in holding)),
        _one("gputopo_containers_undecided", "Of these: whether they cross is not known.", crossing.count(None)),
        Metric("gputopo_pods_findings", "What rules found of pods, by rule and severity.", tuple(
            Sample({"rule": rule, "severity": severity}, count)
            for (rule, severity), count in sorted(findings.items()))),
    )  # fmt: skip


def _holds_gpus(container: Document) -> bool:
    """Also where no source resolves its ids to GPUs: `gpus` is null then."""
    return container["gpus"] is None or any(device["gpu"] for device in container["devices"])


def _one(name: str, help: str, value: float | None) -> Metric:
    return Metric(name, help, () if value is None else (Sample({}, value),))


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
