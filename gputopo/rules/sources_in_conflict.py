"""GT006 sources-in-conflict

What it says
    Two sources say different things about the same device or pair, or sysfs gives a device a NUMA node
    and CPUs that do not fit each other.

Why it matters
    One of them is wrong, old, or looks from another place (a container, a virtual machine). The
    value that is used is named, and everything computed from it stands or falls with it.

What to do
    Take both sources again at one time and from one place, and compare.

When it is silent
    Sources agree, or differ only in how much they say: a cut or cpuset-narrowed CPU list agrees with
    the whole one, and "unknown" contradicts nothing. What one matrix says against itself is GT004,
    GT005 and GT110.

Example
    >>> from gputopo.topology.node import Conflict, NodeTopology, Value
    >>> conflict = Conflict(("GPU0",), "numaNodes", [0], (Value([0], "s1"), Value([1], "s2")))
    >>> [finding] = check(NodeTopology(conflicts=(conflict,)))
    >>> finding.message
    'sources disagree on numaNodes of GPU0: 0 (s1), 1 (s2); used: 0'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.witness import MOST_EVIDENCE, evidence, in_node_order, observed, subjects
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import Conflict, NodeTopology

CODE = "GT006"
SEVERITY = "warning"

_WITHIN_ONE_MATRIX = ("matrix-not-symmetric", "matrix-contradicts-itself", "one-sided-nvlink")


def check(node: NodeTopology) -> Iterator[Finding]:
    told = {frozenset(o.subjects[:2]) for o in observed(node, *_WITHIN_ONE_MATRIX)}
    by_attribute: dict[str, list[Conflict]] = {}
    for conflict in node.conflicts:
        if len(_sources(conflict)) > 1 or _pair(conflict) not in told:
            by_attribute.setdefault(conflict.attribute, []).append(conflict)
    for attribute in sorted(by_attribute):
        yield _finding(node, attribute, by_attribute[attribute])
    within_sysfs = observed(node, "pci-numa-conflict")
    if within_sysfs:
        ids = subjects(node, within_sysfs)
        yield Finding(
            CODE,
            SEVERITY,
            ids,
            f"sysfs disagrees with itself on the NUMA node of {names(ids)}: {one_line(within_sysfs[0].text)}",
            matters="which CPUs are near the device is doubtful; the NUMA node is left unknown",
            because="the firmware gives a NUMA node and CPUs that do not fit, or somebody wrote numa_node",
            remedy="cat /sys/bus/pci/devices/ADDRESS/{numa_node,local_cpulist}",
            evidence=evidence(within_sysfs),
        )


def _finding(node: NodeTopology, attribute: str, conflicts: list[Conflict]) -> Finding:
    ids = in_node_order(node, (id for c in conflicts for id in c.subjects))
    first = conflicts[0]
    formats = {s.id: s.format for s in node.sources}
    distinct = len({formats.get(v.source, v.source) for v in first.values}) == len(first.values)
    called = formats if distinct else {}
    said = ", ".join(f"{_text(v.value)} ({called.get(v.source, v.source)})" for v in first.values)
    several = any(len(_sources(c)) > 1 for c in conflicts)
    whose = "sources disagree" if several else "one source disagrees with itself"
    more = f"{'-'.join(first.subjects)}: " if len(conflicts) > 1 else ""
    used = "none" if first.used is None else _text(first.used)
    of = f" of {names(ids)}" if ids else ""
    return Finding(
        CODE,
        SEVERITY,
        ids,
        f"{whose} on {attribute}{of}: {more}{said}; used: {used}",
        matters="one source is wrong, old or sees less; what is computed from this value depends on it",
        because="the sources were taken at different times, from different places, or one was edited",
        remedy="take both again at one time and place; compare them with: gputopo diff A B",
        evidence=_evidence(conflicts),
    )


def _evidence(conflicts: list[Conflict]) -> tuple[Evidence, ...]:
    found = [
        Evidence(v.source, None, f"{', '.join(c.subjects)} {c.attribute}: {_text(v.value)}".lstrip())
        for c in conflicts
        for v in c.values
    ]
    rest = len(found) - MOST_EVIDENCE
    more = [Evidence(None, None, f"and {rest} more of this kind")] if rest > 0 else []
    return (*found[:MOST_EVIDENCE], *more)


def _sources(conflict: Conflict) -> set[str]:
    return {v.source for v in conflict.values}


def _pair(conflict: Conflict) -> frozenset[str]:
    """The two ends, whether the conflict names the pair by one id or by two."""
    if len(conflict.subjects) == 1:
        return frozenset(conflict.subjects[0].split("-"))
    return frozenset(conflict.subjects)


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(_text(v) for v in value) or "none"
    if isinstance(value, dict):
        return " ".join(f"{key}={_text(value[key])}" for key in value)
    return one_line(str(value)) or "empty"
