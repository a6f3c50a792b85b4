"""A small node and job for the examples of these rules: two sockets of two GPUs, NVLink where asked."""

from __future__ import annotations

from typing import Any

from gputopo.job_records import JobLog
from gputopo.jobs.join import Asked, join
from gputopo.jobs.model import SpokenLog
from gputopo.nccl_records import CommunicatorRecord, EnvRecord, NcclJob, PeerRecord, RankRecord, Speaker
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.pods.example import node as small
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology, Source

HOST = Speaker("node-a", 100)


def node(nvlinks: int = 0, /, **of_gpus: Any) -> NodeTopology:
    """GPU0, GPU1 on socket 0, GPU2, GPU3 on socket 1, at bus ids 10, 11, 12, 13."""
    made = small(nvlinks)
    gpus = tuple(
        gpu._replace(nvml_index=at, pci=f"0000:1{at}:00.0", **of_gpus) for at, gpu in enumerate(made.gpus)
    )  # fmt: skip
    return made._replace(gpus=gpus, name="node-a")


def log(*gpus: int, via: str = "P2P/CUMEM", env: dict[str, str] | None = None, **fields: Any) -> NcclJob:
    """A job of one communicator over these GPUs, a ring of connections `via`."""
    size = len(gpus)
    ranks = tuple(
        RankRecord(at, HOST, at, gpu, PciAddress.parse(f"0000:1{gpu}:00.0"), at, True, 10 + at)
        for at, gpu in enumerate(gpus)
    )
    kind = via.split("/")[0]
    peers = tuple(PeerRecord(at, (at + 1) % size, kind, via, line=20 + at) for at in range(size))
    of_communicator = {name: fields.pop(name) for name in list(fields) if name in CommunicatorRecord._fields}
    communicator = CommunicatorRecord("0x1", size, 1, size, ranks=ranks, peers=peers)._replace(**of_communicator)
    said = tuple(EnvRecord(name, value, HOST, line=3 + at) for at, (name, value) in enumerate((env or {}).items()))
    made = NcclJob((communicator,), (HOST,), "2.27.3", bracket="nvmlDev", env=said)
    return made._replace(**fields)


def diagnosis(
    on: NodeTopology | None = None, said: NcclJob | None = None, *, asked: Asked | None = None, **more: Any
) -> Diagnosis:  # fmt: skip
    """`more`: fields of the JobLog beside what NCCL said."""
    source = Source("nccl-log", "job.log", "nccl-log", "", True)
    spoken = SpokenLog(source, JobLog(("nccl-log",), (said,) if said else (), **more))
    return Diagnosis(join(on or node(), (spoken,) if said or more else (), asked or Asked()))
