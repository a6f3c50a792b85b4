"""Which GPU of a node each rank has: by PCI address, which is the one name that logs and nodes share.

    >>> from gputopo.nccl_records import RankRecord, Speaker
    >>> gpus = {"GPU0": PciAddress.parse("0000:0f:00.0"), "GPU1": PciAddress.parse("0000:2d:00.0")}
    >>> a, b = Speaker("node-a", 7), Speaker("node-b", 9)
    >>> world = CommunicatorRecord("0x1f", 3, ranks=(
    ...     RankRecord(0, a, 0, 0, PciAddress.parse("0000:2d:00.0")),
    ...     RankRecord(1, a, 1, 1, PciAddress.parse("0000:0f:00.0")),
    ...     RankRecord(2, b, 0, 0, PciAddress.parse("0000:51:00.0"))))
    >>> found = place(world, gpus)
    >>> [(one.rank, one.gpu) for one in found.placed], [(one.rank, one.speaker.host) for one in found.elsewhere]
    ([(0, 'GPU1'), (1, 'GPU0')], [(2, 'node-b')])
    >>> found.hosts, found.unknown
    (('node-a',), ())

A rank's number is not its GPU's, and neither is the CUDA device nor, in a container, the NVML index. Hosts of one model
have the same addresses, so ranks of two hosts that fit are not told apart by them: `hosts` then has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gputopo.nccl_records import CommunicatorRecord, RankRecord, Speaker
from gputopo.terms.pci_address import PciAddress


class Placed(NamedTuple):
    rank: int
    gpu: str  # id of the node's GPU
    speaker: Speaker
    line: int


class Placement(NamedTuple):
    """`elsewhere`: ranks on a host of which some GPU is not of this node, so that none is taken for it."""

    placed: tuple[Placed, ...]  # by rank
    elsewhere: tuple[RankRecord, ...]
    unknown: tuple[RankRecord, ...]  # whose log line has no address: before 2.5, or cut
    hosts: tuple[str | None, ...]  # that fit this node


def place(one: CommunicatorRecord, gpus: Mapping[str, PciAddress | None], host: str | None = None) -> Placement:
    """Ranks of a communicator on the GPUs of a node (id → address). `host`: only ranks of this one, where it is known.

    A host fits if all addresses that its ranks name are GPUs of the node; one that is not says that the log is of
    another machine, and then none of its ranks is placed.
    """
    by_address = {address: id for id, address in gpus.items() if address is not None}
    of_host: dict[str | None, list[RankRecord]] = {}
    for rank in one.ranks:
        of_host.setdefault(rank.speaker.host, []).append(rank)
    placed: list[Placed] = []
    elsewhere: list[RankRecord] = []
    unknown: list[RankRecord] = []
    hosts = []
    for name, ranks in of_host.items():
        said = [rank for rank in ranks if rank.pci is not None]
        fits = bool(said) and all(rank.pci in by_address for rank in said) and host in (None, name)
        if fits:
            hosts.append(name)
            placed += [Placed(rank.rank, by_address[rank.pci], rank.speaker, rank.line) for rank in said if rank.pci]
        else:
            elsewhere += said
        unknown += [rank for rank in ranks if rank.pci is None]
    placed.sort(key=lambda rank: rank.rank)
    return Placement(tuple(placed), tuple(elsewhere), tuple(unknown), tuple(hosts))
