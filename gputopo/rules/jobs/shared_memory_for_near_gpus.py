"""GT511 shared-memory-for-near-gpus

What it says
    NCCL moves data between GPUs through the host's shared memory (SHM), although they have NVLinks or are below one
    PCIe switch.

Why it matters
    NVLink lies idle; the job runs at the pace of the host's memory, a tenth or less.

What to do
    Unset NCCL_P2P_DISABLE or NCCL_P2P_LEVEL where the log shows them. Otherwise: are the GPUs visible in one container
    (IPC namespace, /dev/shm), does `nvidia-smi topo -p2p r` say OK, ACS (GT101)?

When it is silent
    The path is PHB, NODE or SYS, where shared memory is NCCL's default; the driver refuses copies (GT104), the cards
    are GeForce (GT504), or in MIG mode (GT507).

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> said = log(1, 2, via="SHM/direct/direct", env={"NCCL_P2P_DISABLE": "1"})
    >>> [found] = check(diagnosis(node(18), said))
    >>> found.severity, found.message
    ('error', '1 of 1 connected pairs uses SHM where NVLink exists: NCCL_P2P_DISABLE=1')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.jobs.model import Hop
from gputopo.nccl_records import EnvRecord
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import NEAR, Diagnosis, shown
from gputopo.rules.jobs.geforce import is_geforce
from gputopo.terms.path_level import PathLevel
from gputopo.terms.peer_status import refusal
from gputopo.topology.node import Pair

CODE = "GT511"
SEVERITY = "error"

# NCCL_P2P_LEVEL by name and by old number (src/graph/paths.cc: 0-5 = LOC, PIX, PXB, PHB, SYS, SYS), nearest first.
_NVLINK, _PIX, _PXB, _CPU = 1, 2, 3, 4
_LEVELS = {
    "LOC": 0, "0": 0, "NVL": _NVLINK, "PIX": _PIX, "1": _PIX, "PXB": _PXB, "2": _PXB,
    "PHB": _CPU, "3": _CPU, "SYS": _CPU, "4": _CPU, "5": _CPU,
}  # fmt: skip


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    odd = [(hop, pair) for hop in diagnosis.hops("SHM") if (pair := _could(diagnosis, hop)) is not None]
    for linked in (True, False):
        some = [(hop, pair) for hop, pair in odd if bool(pair.nvlinks) is linked]
        if some:
            yield _finding(diagnosis, some, linked)


def _could(diagnosis: Diagnosis, hop: Hop) -> Pair | None:
    """The pair, where nothing in the hardware explains that it uses shared memory."""
    pair = diagnosis.pair(hop.a, hop.b)
    gpus = [diagnosis.gpu(hop.a), diagnosis.gpu(hop.b)]
    if pair is None or not (pair.nvlinks or pair.pcie in NEAR) or refusal(pair.p2p) is not None:
        return None
    if any(gpu is None or gpu.mig or is_geforce(diagnosis.node, gpu) for gpu in gpus):
        return None
    return pair


def _setting(diagnosis: Diagnosis, pairs: list[Pair]) -> EnvRecord | None:
    """The one that denies one of these pairs; a level that allows them all explains nothing."""
    off = [one for one in diagnosis.env("NCCL_P2P_DISABLE") if one.value not in ("", "0")]
    levels = [one for one in diagnosis.env("NCCL_P2P_LEVEL") if any(_denies(one.value, pair) for pair in pairs)]
    return next(iter((*off, *levels)), None)


def _denies(level: str, pair: Pair) -> bool:
    """Whether that NCCL_P2P_LEVEL, a name or an old number, lies below what the pair needs."""
    allowed = _LEVELS.get(level.upper())
    needed = _NVLINK if pair.nvlinks else _PXB if pair.pcie is PathLevel.PXB else _PIX
    return allowed is not None and allowed < needed


def _finding(diagnosis: Diagnosis, some: list[tuple[Hop, Pair]], linked: bool) -> Finding:
    setting = _setting(diagnosis, [pair for _, pair in some])
    total = len({frozenset((hop.a, hop.b)) for hop in diagnosis.job.hops})
    count = len({frozenset((hop.a, hop.b)) for hop, _ in some})
    where = "where NVLink exists" if linked else "below one PCIe switch"
    cause = f": {setting.name}={setting.value}" if setting is not None else ""
    verb = "uses" if count == 1 else "use"
    evidence = [diagnosis.line(hop.line, f"{hop.a} -> {hop.b} via {hop.transport}; {pair.level}") for hop, pair in some]
    if setting is not None:
        evidence.insert(1, diagnosis.line(setting.line, shown(setting)))
    return Finding(
        CODE,
        SEVERITY if linked or setting is None else "warning",
        tuple(dict.fromkeys(id for hop, _ in some for id in (hop.a, hop.b))),
        f"{count} of {total} connected pairs {verb} SHM {where}{cause}",
        matters="NCCL moves their data through host memory although "
        + ("NVLink is there" if linked else "their switch could turn it round"),
        because=shown(setting) if setting is not None else "no setting in the log explains it",
        remedy=f"unset {setting.name}, start again and expect `via P2P` in the log"
        if setting is not None
        else "nvidia-smi topo -p2p r; ACS (GT101); one container with all GPUs of the job and its own /dev/shm",
        evidence=tuple(evidence[:5]),
    )
