"""GT141 ecc-errors

What it says
    The memory of a GPU had errors that ECC could not correct, or spare rows are used up or wait for a reset.

Why it matters
    An uncorrectable error ends the job that meets it (Xid 48, 63, 64, 94, 95). Where the replacement of a bad row
    waits for a reset, the next job can meet it again.

What to do
    Row remapping pending: drain the node and reset the GPU. Remapping failed: replace the GPU. Uncorrectable
    errors since the driver was loaded: `dmesg | grep -i xid`, reset the GPU, and watch whether they return.

When it is silent
    All errors were corrected: that is what ECC is for. Uncorrectable ones of the GPU's whole life alone are
    information, since their rows were replaced.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> text = "Volatile DRAM Correctable: 7; Volatile DRAM Uncorrectable: 2"
    >>> seen = Observed("ecc-errors", ("GPU2",), text, "s1", 40)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU2"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('error', 'memory of GPU2 had errors that ECC could not correct: Volatile DRAM Uncorrectable: 2')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import NodeTopology, Observed

CODE = "GT141"
SEVERITY = "error"

_UNCORRECTED = ("uncorrect", "double bit")
_NOW = "volatile"  # since the driver was loaded; the others are of the GPU's whole life


def check(node: NodeTopology) -> Iterator[Finding]:
    alike: dict[tuple[str, str], list[Observed]] = {}
    for seen in observed(node, "ecc-errors"):
        counts = [one for one in _parts(seen.text) if any(word in one.lower() for word in _UNCORRECTED)]
        recent = [one for one in counts if _NOW in one.lower()]
        if counts:
            key = (SEVERITY, "; ".join(recent)) if recent else ("info", "; ".join(counts))
            alike.setdefault(key, []).append(seen)
    for (severity, text), seen_of in alike.items():
        yield _uncorrected(node, severity, text, seen_of)
    yield from _rows(node)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in one_line(text).split(";") if part.strip()]


def _uncorrected(node: NodeTopology, severity: str, text: str, seen: list[Observed]) -> Finding:
    ids = subjects(node, seen)
    recent = severity == SEVERITY
    return Finding(
        CODE,
        severity,
        ids,
        f"memory of {names(ids)} had errors that ECC could not correct: {text}",
        matters="such an error ends the job that meets it"
        if recent
        else "little now: they are of the GPU's whole life, and none is new since the driver was loaded",
        because="bad cells of the GPU's memory or caches",
        remedy="dmesg | grep -i xid; drain the node and reset the GPU; if they return, replace it",
        evidence=evidence(seen),
    )


def _rows(node: NodeTopology) -> Iterator[Finding]:
    """Rows (or pages, before Ampere) that are to be replaced, and replacements that failed."""
    alike: dict[str, list[Observed]] = {}
    for seen in observed(node, "memory-rows-failing"):
        alike.setdefault("; ".join(_parts(seen.text)), []).append(seen)
    for text, seen_of in alike.items():
        ids = subjects(node, seen_of)
        failed = "fail" in text.lower()
        yield Finding(
            CODE,
            SEVERITY if failed else "warning",
            ids,
            f"memory rows of {names(ids)} {'could not be replaced' if failed else 'wait for a reset'}: {text}",
            matters="the next job can meet the bad row again",
            because="no spare row is left" if failed else "a bad row is replaced at the next reset of the GPU",
            remedy="replace the GPU" if failed else "drain the node and reset the GPU (nvidia-smi --gpu-reset)",
            evidence=evidence(seen_of),
        )
