"""GT140 clocks-throttled

What it says
    The driver lowers a GPU's clocks: it is too hot, its power is short, or the board asks for it.

Why it matters
    A collective is as fast as its slowest member: one hot GPU slows a job on many nodes, and nothing in
    the wiring shows it.

What to do
    `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER` under load; for HW Thermal Slowdown look at fans, inlet
    temperature and seating; for HW Power Brake at the power supplies.

When it is silent
    No reason is active but idle and clocks that a user set. SW Power Cap alone is information: a GPU at full
    load runs at its power limit. The text says what was active at one moment, not how often it was.

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("clocks-throttled", ("GPU3",), "HW Slowdown, HW Thermal Slowdown", "s1", 40)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU3"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', 'the clocks of GPU3 are throttled: HW Slowdown, HW Thermal Slowdown')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import NodeTopology, Observed

CODE = "GT140"
SEVERITY = "warning"

_TROUBLES = ("hw", "thermal", "brake")
_SOURCES = ("nvidia-smi-q", "nvidia-smi-list")


def check(node: NodeTopology) -> Iterator[Finding]:
    alike: dict[str, list[Observed]] = {}
    for seen in observed(node, "clocks-throttled"):
        alike.setdefault(one_line(seen.text), []).append(seen)
    for text, seen_of in alike.items():
        ids = subjects(node, seen_of)
        trouble = any(word in text.lower() for word in _TROUBLES)
        yield Finding(
            CODE,
            SEVERITY if trouble else "info",
            ids,
            f"the clocks of {names(ids)} are throttled: {text}",
            matters="a job is as fast as its slowest GPU"
            if trouble
            else "little where the GPU is under load: it runs at its limit; on an idle GPU it is odd",
            because=_because(text.lower()),
            remedy="nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER under load; compare with a healthy node",
            evidence=evidence(seen_of),
        )


def needs(node: NodeTopology) -> str | None:
    """For those who ask why something is slow; `inspect` does not list it as missing."""
    nvidia = any(gpu.vendor in (None, "nvidia") for gpu in node.gpus)
    if not nvidia or any(source.format in _SOURCES for source in node.sources):
        return None
    return "clocks and what throttles them (nvidia-smi -q)"


def _because(text: str) -> str:
    if "brake" in text:
        return "the board's power brake: a power supply failed or is overloaded"
    if "thermal" in text:
        return "heat: cooling, inlet temperature, or the seating of the card or its heat sink"
    if "hw" in text:
        return "the hardware asks for it: heat or power"
    return "the power limit, or clocks kept alike over several GPUs"
