"""The bus bandwidth of an all-reduce that no measurement of a set exceeds, by the wires alone.

Derivation: docs/bandwidth.md. With A the data reduced a second, busbw = A × 2(n−1)/n. Without reduction in a switch
every GPU and every island takes in A at least, and all together 2(n−1) A; a ring goes through each of them once. In an
NVSwitch that reduces (NVLS) every GPU sends and receives A once. What else limits (a shared uplink, host memory) only
lowers it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from gputopo.nccl.chips import capability
from gputopo.nccl.path_types import Version
from gputopo.nccl.set_wiring import SetWiring, wiring_of
from gputopo.nccl.versions import VERIFIED
from gputopo.nccl.wire import nvlink_wire, pcie_wire
from gputopo.topology.node import NodeTopology

_HOPPER, _FIRST_NVLS = 90, (2, 17, 1)


class Ceiling(NamedTuple):
    """GB/s bus bandwidth; `basis` names the widest algorithm and what a ring ends at, or why nothing is known."""

    gbps: float | None
    basis: str


def ceiling(
    node: NodeTopology, gpus: Sequence[str], version: Version = VERIFIED, algorithms: Collection[str] | None = None
) -> Ceiling:  # fmt: skip
    """`algorithms`: of Ring, Tree and NVLS, those that NCCL may use here; `None` all that the set allows."""
    wiring = wiring_of(node, gpus)
    if len(gpus) < 2:
        return Ceiling(None, "one GPU has nobody to send to")
    if wiring.unknown:
        return Ceiling(None, f"not known: {wiring.unknown}")
    return _of(wiring, version, algorithms)


def _of(wiring: SetWiring, version: Version, algorithms: Collection[str] | None) -> Ceiling:
    n = len(wiring.gpus)
    rates = [nvlink_wire(gpu) if links else 0.0 for gpu, links in zip(wiring.gpus, wiring.links)]
    slow = [gpu.id for gpu, rate in zip(wiring.gpus, rates) if rate is None]
    if slow:
        return Ceiling(None, f"not known: the rate of an NVLink{_whose(slow, n)} is not in the evidence")
    nvlink = [links * (rate or 0.0) for links, rate in zip(wiring.links, rates)]
    if len(wiring.islands) == 1:  # NCCL goes by NVLink alone then
        what = _nvlink_words(wiring, nvlink)
        ways = {"Ring": min(nvlink), "Tree": _reduced_by_gpus(n, nvlink, [])}
        if wiring.by_switch and version >= _FIRST_NVLS and (algorithms is None or "NVLS" in algorithms):
            chips = [capability(gpu) for gpu in wiring.gpus]
            if None in chips:
                return Ceiling(None, "not known: no compute capability, and NVSwitches from Hopper on reduce (NVLS)")
            if all(chip is not None and chip.sm >= _HOPPER for chip in chips):
                ways["NVLS"] = min(nvlink) * 2 * (n - 1) / n
        return _widest(ways, what, algorithms)
    if any(gpu.c2c for gpu in wiring.gpus):
        return Ceiling(None, "not known: which of C2C and PCIe carries what leaves the NVLink island")
    pcie = [pcie_wire(gpu) for gpu in wiring.gpus]
    dark = [gpu.id for gpu, rate in zip(wiring.gpus, pcie) if rate is None]
    if dark:
        return Ceiling(None, f"not known: PCIe generation and lanes{_whose(dark, n)} are not in the evidence")
    alone = [of_links + (slot or 0.0) for of_links, slot in zip(nvlink, pcie)]
    out = [sum(pcie[place] or 0.0 for place in island) for island in wiring.islands]
    ways = {"Ring": min(*alone, *out), "Tree": _reduced_by_gpus(n, alone, out)}
    return _widest(ways, _pcie_words(wiring, out), algorithms)


def _whose(ids: Sequence[str], n: int) -> str:
    """Nothing where it is all of the set."""
    return "" if len(ids) == n else f" of {', '.join(ids[:4])}{' ...' if len(ids) > 4 else ''}"


def _reduced_by_gpus(n: int, alone: Sequence[float], islands: Sequence[float]) -> float:
    """Any algorithm that reduces in GPUs: what each place takes in, and what all of them do."""
    limits = [min(alone), sum(alone) / (2 * (n - 1))]
    if islands:
        limits += [min(islands), sum(islands) / (2 * (len(islands) - 1))]
    return min(limits) * 2 * (n - 1) / n


def _widest(ways: dict[str, float], what: str, algorithms: Collection[str] | None) -> Ceiling:
    ring = ways["Ring"]
    allowed = {name: gbps for name, gbps in ways.items() if algorithms is None or name in algorithms}
    if not allowed:
        return Ceiling(None, f"not known: this set has none of {', '.join(sorted(algorithms or ()))}")
    name = max(allowed, key=lambda one: round(allowed[one], 6))  # the first of equals is the ring
    words = {
        "Ring": f"a ring: {what}",
        "Tree": f"any algorithm that reduces in GPUs (Tree): {what}; a ring ends at {ring:.1f}",
        "NVLS": f"NVLS, each GPU sends and receives once: 2(n-1)/n of {what}; a ring ends at {ring:.1f}",
    }
    return Ceiling(round(allowed[name], 3), f"wire rate of {words[name]}")


def _nvlink_words(wiring: SetWiring, nvlink: Sequence[float]) -> str:
    place = min(range(len(nvlink)), key=lambda one: nvlink[one])
    links = wiring.links[place]
    where = "into the NVSwitches" if wiring.by_switch else "inside the set"
    return f"{links} NVLinks x {nvlink[place] / links:g} GB/s = {nvlink[place]:g} {where} ({wiring.gpus[place].id})"


def _pcie_words(wiring: SetWiring, out: Sequence[float]) -> str:
    place = min(range(len(out)), key=lambda one: out[one])
    island = [wiring.gpus[member] for member in wiring.islands[place]]
    link = island[0].pcie
    assert link is not None
    generation, lanes = link.max_generation or link.generation, link.width or link.max_width
    many = f"{len(island)} of " if len(island) > 1 else ""
    return f"{many}PCIe gen{generation} x{lanes} = {out[place]:g} GB/s out of {'-'.join(gpu.id for gpu in island)}"
