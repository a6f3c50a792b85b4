"""GT510 peer-level-changed

What it says
    NCCL copies peer-to-peer through a CPU (PHB, NODE, SYS), because NCCL_P2P_LEVEL says so or that version's default
    does; or a setting takes peer-to-peer away from GPUs that could use it.

Why it matters
    Peer-to-peer through a host bridge, and above all across sockets, can be slower than shared memory, which NCCL
    takes there by default today (nccl issues 428, 1817, nccl-tests 74).

What to do
    Unset NCCL_P2P_LEVEL and NCCL_P2P_DISABLE. Where the version's default goes through a CPU: NCCL_P2P_LEVEL=PXB, or
    a newer NCCL.

When it is silent
    The level in effect changes nothing on this set, as NVL on an NVSwitch node, or the pair's path is not known. That
    shared memory is used although NVLink is there is GT511.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(1, 2, via="P2P/direct pointer", env={"NCCL_P2P_LEVEL": "SYS"})))
    >>> found.severity, found.message
    ('warning', 'NCCL_P2P_LEVEL=SYS puts P2P through a CPU: GPU1-GPU2 (SYS)')

Source: NVIDIA/nccl src/graph/paths.cc at the tags 2.4.8 to 2.30.7 (facts: 2.6 SYS; 2.7.3-2.8.4 AMD SYS, Intel PHB;
2.9.6-2.22.3 AMD SYS, others PXB; from 2.23.4 PXB, AMD with at most 2 GPUs SYS).
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.nccl_records import EnvRecord
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import NEAR, Diagnosis, peers_off, shown
from gputopo.rules.wording import listed
from gputopo.topology.node import Pair

CODE = "GT510"
SEVERITY = "warning"

_CPU = ("PHB", "NODE", "SYS", "3", "4", "5")
_SLOWER = "through a CPU it can be slower than shared memory (SHM), above all between NUMA nodes (SYS)"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    level = next(iter(diagnosis.env("NCCL_P2P_LEVEL")), None)
    off = peers_off(diagnosis)
    far = _far(diagnosis)
    if far:
        yield _through_cpu(diagnosis, far, level)
    elif off is not None:
        yield from _taken_away(diagnosis, off)
    elif level is not None and level.value.upper() in _CPU and not diagnosis.job.hops and not _harmless(diagnosis):
        yield _set_only(diagnosis, level)


def _far(diagnosis: Diagnosis) -> list[tuple[Pair, str, int]]:
    """Pairs without NVLink and beyond a switch that are connected by P2P, with the transport and its line."""
    found = []
    for hop in diagnosis.hops("P2P"):
        pair = diagnosis.pair(hop.a, hop.b)
        levels = (pair.pcie,) if pair is not None and pair.pcie is not None else pair.pcie_candidates if pair else ()
        if pair is not None and levels and not set(levels) & set(NEAR) and not pair.nvlinks:
            found.append((pair, hop.transport, hop.line))
    return found


def _through_cpu(diagnosis: Diagnosis, far: list[tuple[Pair, str, int]], level: EnvRecord | None) -> Finding:
    said = listed([f"{pair.a}-{pair.b} ({_level(pair)})" for pair, _, _ in far], 4)
    version = diagnosis.job.nccl.version if diagnosis.job.nccl else None
    by_setting = level is not None and level.value.upper() in _CPU
    if by_setting and level is not None:
        message = f"NCCL_P2P_LEVEL={level.value} puts P2P through a CPU: {said}"
        because, remedy = shown(level), "unset NCCL_P2P_LEVEL: the default (PXB) uses shared memory there"
    else:
        message = f"NCCL {version or '(version not in the log)'} uses P2P through a CPU: {said}"
        because = "no setting in the log says so: it is the default of that version, or of AMD with two GPUs"
        remedy = "try NCCL_P2P_LEVEL=PXB (shared memory for these pairs) and measure, or a newer NCCL"
    evidence = [diagnosis.line(line, f"{pair.a} -> {pair.b} via {text}") for pair, text, line in far[:4]]
    if by_setting and level is not None:
        evidence.append(diagnosis.line(level.line, shown(level)))
    gpus = tuple(dict.fromkeys(id for pair, _, _ in far for id in (pair.a, pair.b)))
    return Finding(CODE, SEVERITY, gpus, message, _SLOWER, because, remedy, tuple(evidence))


def _level(pair: Pair) -> str:
    return pair.level or " or ".join(level.name for level in pair.pcie_candidates)


def _taken_away(diagnosis: Diagnosis, setting: EnvRecord) -> Iterator[Finding]:
    """Of a log without peer lines; with them GT511 shows each pair. Without the wiring the cost is not known."""
    pairs = [pair for pair in diagnosis.pairs if pair.nvlinks or pair.pcie in NEAR]
    if not diagnosis.pairs and not diagnosis.job.hops:
        yield Finding(
            CODE,
            "info",
            diagnosis.job.gpus,
            f"{setting.name}={setting.value} takes peer-to-peer from every pair",
            "NVLinks and switches between the GPUs, where there are any, lie idle: NCCL uses host memory (SHM)",
            shown(setting),
            f"unset {setting.name}; nvidia-smi topo -m shows what it costs",
            (diagnosis.line(setting.line, shown(setting)),),
        )
    if diagnosis.job.hops or not pairs:
        return
    linked = any(pair.nvlinks for pair in pairs)
    yield Finding(
        CODE,
        "error" if linked else SEVERITY,
        diagnosis.job.gpus,
        f"{setting.name}={setting.value} takes P2P from {len(pairs)} pairs that "
        f"{'have NVLink' if linked else 'are below one switch'}",
        "NCCL moves their data through host memory (SHM)",
        shown(setting),
        f"unset {setting.name}",
        (diagnosis.line(setting.line, shown(setting)),),
    )


def _harmless(diagnosis: Diagnosis) -> bool:
    """Whether no pair's transport depends on it."""
    return all(pair.nvlinks or pair.pcie in NEAR for pair in diagnosis.pairs)


def _set_only(diagnosis: Diagnosis, level: EnvRecord) -> Finding:
    return Finding(
        CODE,
        SEVERITY,
        diagnosis.job.gpus,
        f"NCCL_P2P_LEVEL={level.value} lets P2P go through a CPU; no peer line in the log shows whether it did",
        _SLOWER,
        shown(level),
        "unset NCCL_P2P_LEVEL",
        (diagnosis.line(level.line, shown(level)),),
    )
