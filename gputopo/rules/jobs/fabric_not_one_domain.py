"""GT525 fabric-not-one-domain

What it says
    NCCL's MNNVL lines show a GPU whose NVLink fabric is not completed, or ranks in different NVLink domains.

Why it matters
    Ranks of different domains reach each other over the network only. A domain is the cluster UUID *and* the clique
    id: 32766 (0x7ffe) is a clique id that many racks have.

What to do
    State not 3 (completed): nvidia-fabricmanager or NVLSM in the driver's version. Different domains: place the job's
    pods in one (label nvidia.com/gpu.clique, a ComputeDomain).

When it is silent
    The log has no MNNVL lines. One domain. A zero UUID with state 3 is an HGX board without a rack-wide domain.

Example
    >>> from gputopo.nccl_records import FabricStateRecord, Speaker
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> rows = tuple(FabricStateRecord(None, f"{n}.1", 32766, 3, "0x0", Speaker(f"n{n}", 1), 5 + n) for n in (1, 2))
    >>> [found] = check(diagnosis(said=log(0, 1, fabric=rows)))
    >>> found.severity, found.message
    ('info', 'the ranks are in 2 different NVLink domains (cluster UUID and clique id): clique 32766 is in all of them')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.nccl_records import FabricStateRecord
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis

CODE = "GT525"
SEVERITY = "error"

_COMPLETED = 3


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    rows = diagnosis.job.nccl.fabric if diagnosis.job.nccl else ()
    broken = [one for one in rows if one.state != _COMPLETED]
    if broken:
        buses = [str(one.pci) if one.pci else "a GPU" for one in broken]
        ids = tuple(gpu.id for gpu in diagnosis.node.gpus if gpu.pci in buses)
        yield Finding(
            CODE,
            SEVERITY,
            ids,
            f"the NVLink fabric of {', '.join(dict.fromkeys(buses))} is not completed (MNNVL state {broken[0].state})",
            matters="NVLink between its GPUs is not to be had, although links may show as active",
            because="the fabric manager has not registered the GPU",
            remedy="systemctl status nvidia-fabricmanager (NVLSM), in the driver's version; nvidia-smi -q (Fabric)",
            evidence=tuple(diagnosis.line(one.line, _text(one)) for one in broken[:3]),
        )
    domains = dict.fromkeys((one.uuid, one.clique_id) for one in rows if one.state == _COMPLETED)
    if len(domains) > 1:
        cliques = {clique for _, clique in domains}
        same = f": clique {cliques.pop()} is in all of them" if len(cliques) == 1 else ""
        first = {(one.uuid, one.clique_id): one for one in reversed(rows)}
        yield Finding(
            CODE,
            "info",
            (),
            f"the ranks are in {len(domains)} different NVLink domains (cluster UUID and clique id){same}",
            matters="they reach each other over the network only, not over NVLink",
            because="the nodes are in different racks or partitions; a clique id alone does not name a domain",
            remedy="where it is not meant: pods of one nvidia.com/gpu.clique, or a ComputeDomain",
            evidence=tuple(diagnosis.line(one.line, _text(one)) for one in list(first.values())[:4]),
        )


def _text(one: FabricStateRecord) -> str:
    return f"fabric UUID {one.uuid} cliqueId {one.clique_id:#x} state {one.state}"
