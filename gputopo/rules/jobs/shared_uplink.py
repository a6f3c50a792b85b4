"""GT503 shared-uplink

What it says
    Several GPUs of the set are below one PCIe switch and cannot copy to each other directly: all their traffic shares
    the switch's uplink.

Why it matters
    A ring passes the uplink twice for each GPU, so each of k GPUs gets a k-th of it: GPUs below one switch can be
    slower together than GPUs below two (nccl issue 1086).

What to do
    Without peer-to-peer (GeForce) prefer a set over several switches. With GPUs that could copy directly, find what
    is against it: GT101 (ACS), GT103 (IOMMU), NCCL_P2P_DISABLE.

When it is silent
    Peer-to-peer works, or nothing says that it does not: then the switch turns the traffic round. NVLink pairs.

Example
    >>> from gputopo.jobs.join import Asked
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(0, 1, via="SHM/direct/direct")))
    >>> found.severity, found.message
    ('info', 'GPU0 and GPU1 share the uplink of one PCIe switch, and each byte passes it twice')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Evidence, Finding
from gputopo.rules.jobs.diagnosis import NEAR, Diagnosis
from gputopo.rules.wording import names
from gputopo.terms.peer_status import REFUSALS, refusal
from gputopo.topology.node import Pair

CODE = "GT503"
SEVERITY = "info"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    shared = [pair for pair in diagnosis.pairs if pair.pcie in NEAR and not pair.nvlinks and _why(diagnosis, pair)]
    groups: list[set[str]] = []
    for pair in shared:
        joined = {pair.a, pair.b}
        touching = [one for one in groups if one & joined]
        groups = [one for one in groups if one not in touching] + [joined.union(*touching)]
    for group in groups:
        gpus = tuple(gpu for gpu in diagnosis.job.gpus if gpu in group)
        why = [(pair, _why(diagnosis, pair)) for pair in shared if pair.a in group]
        yield Finding(
            CODE,
            SEVERITY,
            gpus,
            f"{names(gpus)} share the uplink of one PCIe switch, and each byte passes it twice",
            matters=f"without P2P each of the {len(gpus)} gets about 1/{len(gpus)} of the uplink; "
            "two switches would be faster than one",
            because=why[0][1],
            remedy="a set over several switches, where peer-to-peer is not to be had",
            evidence=tuple(Evidence(None, None, f"{pair.a}-{pair.b} {pair.level}: {text}") for pair, text in why[:4]),
        )


def _why(diagnosis: Diagnosis, pair: Pair) -> str:
    """What says that the pair has no peer-to-peer; empty: nothing does."""
    status = refusal(pair.p2p)
    if status is not None:
        return f"no P2P (peer-to-peer): topo -p2p says {status}, {REFUSALS[status]}"
    hop = next((hop for hop in diagnosis.hops("SHM") if {hop.a, hop.b} == {pair.a, pair.b}), None)
    return f"NCCL uses {hop.transport}, shared memory of the host" if hop is not None else ""
