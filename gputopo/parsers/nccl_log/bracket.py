"""What `rank[…]` in lines of connections holds: a bus id or an NVML index; it depends on the version.

    >>> from gputopo.nccl_records import PeerRecord
    >>> def of(*devices):
    ...     return (CommunicatorRecord(peers=tuple(PeerRecord(0, 1, "P2P", "P2P/IPC", None, one) for one in devices)),)
    >>> bracket_of(of("1a000"), None), bracket_of(of("3"), None), bracket_of(of("40", "50"), "2.12.12")
    ('busId', 'nvmlDev', 'busId')
    >>> bracket_of(of("10"), None) is None        # GPU 10 of 16, or 0000:00:01.0 of a virtual machine
    True

2.5 to 2.18.1 print a bus id without leading zeros, others the index (in 2.4 shared memory prints the CUDA device; NCCL
src/transport at every tag). Bus ids are hexadecimal and end with the function: a GPU's with 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.nccl_records import CommunicatorRecord, RankRecord, Speaker
from gputopo.parsers.nccl_log.system import bus_id
from gputopo.terms.pci_address import PciAddress

BUS_ID, INDEX = "busId", "nvmlDev"
_MOST_GPUS = 32
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


def bracket_of(communicators: Iterable[CommunicatorRecord], version: str | None) -> str | None:
    """busId, nvmlDev, or None where neither the version nor the values decide."""
    values = {
        value
        for one in communicators
        for peer in one.peers
        for value in (peer.sender_device, peer.receiver_device)
        if value is not None
    }
    if not values:
        return None
    if version is not None and (match := _VERSION.match(version)) is not None:
        number = (int(match[1]), int(match[2]), int(match[3] or 0))
        return BUS_ID if (2, 5, 0) <= number < (2, 18, 3) else INDEX
    if any(not value.lstrip("-").isdecimal() or int(value) >= _MOST_GPUS for value in values):
        return BUS_ID
    return None if all(value in ("10", "20", "30") for value in values) else INDEX


def with_devices(one: CommunicatorRecord, bracket: str | None) -> CommunicatorRecord:
    """The communicator with ranks, and their GPUs, that only lines of connections name.

    Both ends of P2P and SHM are on the host that prints the line, of NET the one that prints it.
    """
    if bracket is None:
        return one
    ranks = {rank.rank: rank for rank in reversed(one.ranks)}
    for peer in one.peers:
        for rank, device, own in (
            (peer.sender, peer.sender_device, peer.direction != "receive"),
            (peer.receiver, peer.receiver_device, peer.direction != "send"),
        ):
            if device is None or not (own or rank in ranks):
                continue
            known = ranks.get(rank) or RankRecord(rank, Speaker(peer.host, None), line=peer.line)
            if bracket == BUS_ID and known.pci is None:
                ranks[rank] = known._replace(pci=_address(device))
            elif bracket == INDEX and known.nvml_index is None and device.isdecimal():
                ranks[rank] = known._replace(nvml_index=int(device[:9]))
    several = [rank for rank in one.ranks if ranks[rank.rank].line != rank.line]  # of mixed jobs
    return one._replace(ranks=tuple(sorted((*ranks.values(), *several), key=lambda rank: (rank.rank, rank.line))))


def _address(device: str) -> PciAddress | None:
    try:
        return bus_id(int(device, 16))
    except ValueError:
        return None
