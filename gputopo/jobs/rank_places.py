"""Which GPU of the node a rank had: by the bus id that NCCL prints, else by the NVML index, a named assumption.

Several hosts whose bus ids are different GPUs of this node are containers on it; hosts that repeat each other's are
other nodes of the same kind (places.py finds which hosts fit at all).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gputopo.jobs.model import RankPlace
from gputopo.jobs.places import Placed as Joined
from gputopo.jobs.places import place
from gputopo.nccl_records import CommunicatorRecord, RankRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology, NoteAssumption


class Placed(NamedTuple):
    ranks: tuple[RankPlace, ...]
    hosts: tuple[str, ...]  # whose ranks are on the node
    nodes: int | None  # that the communicator spans
    foreign: tuple[tuple[str, int], ...]  # (bus id, line) where no host is this node
    assumptions: tuple[NoteAssumption, ...]


def placed(node: NodeTopology, communicator: CommunicatorRecord) -> Placed:
    """The ranks of one communicator on this node."""
    addresses = {gpu.id: PciAddress.parse(gpu.pci) if gpu.pci else None for gpu in node.gpus}
    found = place(communicator, addresses)
    if not any(addresses.values()) or not (found.placed or found.elsewhere):
        return _by_index(node, communicator)
    if not found.placed:
        strange = tuple((str(rank.pci), rank.line) for rank in found.elsewhere)
        return Placed(_unplaced(communicator.ranks), (), communicator.nodes, strange, ())
    kept, notes = _apart(node, found.placed)
    gpus = {one.rank: one.gpu for one in kept}
    ranks = tuple(
        RankPlace(one.rank, gpus.get(one.rank), one.speaker.host, one.speaker.pid, "busId")
        for one in communicator.ranks
    )  # fmt: skip
    hosts = tuple(dict.fromkeys(one.speaker.host for one in kept))
    everywhere = {one.speaker.host for one in communicator.ranks}
    nodes = communicator.nodes or len(everywhere - set(hosts)) + 1
    return Placed(ranks, tuple(host for host in hosts if host), nodes, (), notes)


def _apart(node: NodeTopology, joined: Sequence[Joined]) -> tuple[Sequence[Joined], tuple[NoteAssumption, ...]]:
    """The ranks of the hosts that are this node: of one, or of containers that have different GPUs of it."""
    hosts = list(dict.fromkeys(one.speaker.host for one in joined))
    if len(hosts) < 2:
        return joined, ()
    if len({one.gpu for one in joined}) == len(joined) and node.name not in hosts:
        names = " and ".join(str(host) for host in hosts[:3])
        text = f"{names} are containers on one node: their bus ids are different GPUs of it"
        return joined, (NoteAssumption((), text, None),)
    own = node.name if node.name in hosts else hosts[0]
    text = f"of the hosts in the log, {own} is this node: several have its bus ids"
    notes = () if node.name in hosts else (NoteAssumption((), text, None),)
    return [one for one in joined if one.speaker.host == own], notes


def _by_index(node: NodeTopology, communicator: CommunicatorRecord) -> Placed:
    """Of a log or a node without bus ids: NVML indices, where one host prints them and the node has them all."""
    by_number = {gpu.nvml_index: gpu.id for gpu in node.gpus if gpu.nvml_index is not None}
    ranks = communicator.ranks
    hosts = tuple(dict.fromkeys(one.speaker.host for one in ranks))
    numbers = [one.nvml_index if one.nvml_index is not None else one.cuda_device for one in ranks]
    named = tuple(host for host in hosts if host)
    if not ranks or len(hosts) > 1 or len(set(numbers)) < len(numbers) or any(one not in by_number for one in numbers):
        return Placed(_unplaced(ranks), named, communicator.nodes, (), ())
    said = "NVML index" if all(one.nvml_index is not None for one in ranks) else "CUDA device"
    lacks = "the node's" if any(one.pci for one in ranks) else "the log's"
    text = f"the {said} in the log is the node's GPU number: {lacks} bus ids are not in the evidence"
    places = tuple(
        RankPlace(one.rank, by_number[number], one.speaker.host, one.speaker.pid, "nvmlDev")
        for one, number in zip(ranks, numbers) if number is not None
    )  # fmt: skip
    return Placed(places, named, communicator.nodes or 1, (), (NoteAssumption((), text, None),))


def _unplaced(ranks: Sequence[RankRecord]) -> tuple[RankPlace, ...]:
    return tuple(RankPlace(one.rank, None, one.speaker.host, one.speaker.pid, "") for one in ranks)
