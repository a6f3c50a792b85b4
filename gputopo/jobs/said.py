"""What a job's NCCL log says in a word: which transport, which network, GPUDirect RDMA or not.

    >>> inside = PeerRecord(0, 1, "P2P", "P2P/CUMEM/read", line=9)
    >>> job = NcclJob((CommunicatorRecord(peers=(inside, PeerRecord(7, 8, "NET", "NET/IB/0", "send", gdr=True))),))
    >>> transport(job), inter_node(job), network(job), gdr(job)
    ('P2P/CUMEM/read', 'NET/IB/0', 'IB', True)

`None` means that the log does not tell.
"""

from __future__ import annotations

from gputopo.nccl_records import (
    CommunicatorRecord,
    CountsRecord,
    GdrDistanceRecord,
    NcclJob,
    PeerRecord,
    SearchRecord,
)
from gputopo.terms.nccl_path_types import Numbering, of_limit, of_version

RING = 4


def peers(job: NcclJob) -> tuple[PeerRecord, ...]:
    """All connections, in order of appearance."""
    return tuple(sorted((peer for one in job.communicators for peer in one.peers), key=lambda peer: peer.line))


def transport(job: NcclJob) -> str | None:
    """The first connection inside a node: `SHM`, or `P2P/…` as printed; a name that is cut if there is no other."""
    inside = [peer for peer in peers(job) if peer.kind in ("P2P", "SHM")]
    first = next((peer for peer in inside if peer.whole), inside[0] if inside else None)
    if first is None:
        return None
    return "SHM" if first.kind == "SHM" else first.transport


def inter_node(job: NcclJob) -> str | None:
    """The first connection over a network, with its number: `NET/Socket/0`."""
    return next((peer.transport for peer in peers(job) if peer.kind == "NET"), None)


def network(job: NcclJob) -> str | None:
    """What NCCL says it uses, else what connections go over: `IB`, `Socket`, `Libfabric` …"""
    over = inter_node(job)
    return job.network or (over.split("/")[1] if over else None)


def gdr(job: NcclJob) -> bool | None:
    """GPUDirect RDMA: in use by a connection, or else refused to a NIC, for its capability or its distance."""
    if any(peer.gdr for peer in peers(job)):
        return True
    able = [one.gdr for one in job.net_devices if one.gdr is not None] + [one.enabled for one in job.gdr_distances]
    return all(able) if able else None


def numbering(job: NcclJob, record: GdrDistanceRecord) -> Numbering | None:
    """What the numbers of a distance line mean: by the version, else the one in which its limit is the default."""
    return of_version(job.version) if job.version else of_limit(record.limit, record.distance)


def ring_search(job: NcclJob) -> SearchRecord | None:
    """The searched ring, the first that is printed."""
    return next((search for one in job.communicators for search in one.searches if search.pattern == RING), None)


def counts(job: NcclJob) -> CountsRecord | None:
    """Channels of the run that is printed last."""
    return max((said for one in job.communicators for said in one.counts), key=lambda said: said.line, default=None)


def ring_channels(one: CommunicatorRecord) -> int | None:
    """Ring channels in use; without a line of rings as many as trees."""
    return max((ring.channels for ring in one.rings), default=one.trees)
