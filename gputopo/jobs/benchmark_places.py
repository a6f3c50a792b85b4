"""Which GPUs of a node a run of nccl-tests had: by the bus that it prints in brackets, else by the device's number.

    >>> from gputopo.job_records import BenchmarkRank
    >>> from gputopo.topology.node import Gpu
    >>> ranks = tuple(BenchmarkRank(at, "n", 7, at, bus, None, 1) for at, bus in enumerate(("0x2d", "0x0f")))
    >>> run = BenchmarkRecord("all_reduce_perf", None, None, ranks, (), None, None, None, True, 1)
    >>> node = NodeTopology(gpus=(Gpu("GPU0", 0, pci="0000:0f:00.0"), Gpu("GPU1", 1, pci="0000:2d:00.0")))
    >>> place(node, run)
    BenchmarkPlaces(gpus=('GPU1', 'GPU0'), by_bus=True, foreign=())
    >>> place(NodeTopology(gpus=(Gpu("GPU0", 0, pci="0000:0f:00.0"),)), run).foreign
    ('0x2d',)

nccl-tests prints the bus alone (`0x1a`), newer ones domain and device too (`0000:1a:00`); device numbers are CUDA's,
counted after CUDA_VISIBLE_DEVICES, so they are GPU numbers of the node only by an assumption.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from gputopo.job_records import BenchmarkRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import NodeTopology


class BenchmarkPlaces(NamedTuple):
    """`gpus` None: it cannot be told. `foreign`: buses and models that the node has not: another machine's run."""

    gpus: tuple[str, ...] | None
    by_bus: bool = False
    foreign: tuple[str, ...] = ()


def place(node: NodeTopology, run: BenchmarkRecord) -> BenchmarkPlaces:
    if not run.ranks:
        return BenchmarkPlaces(None)
    hosts = {one.host for one in run.ranks}
    by_bus = {_bus(gpu.pci): gpu.id for gpu in node.gpus if gpu.pci}
    buses = [_bus(one.bus) if one.bus else None for one in run.ranks]
    # Without domains two GPUs may share a bus number: then it names neither.
    shared = [bus for bus, count in Counter(_bus(gpu.pci) for gpu in node.gpus if gpu.pci).items() if count > 1]
    if by_bus and len(by_bus) == len(node.gpus) and not shared and all(bus is not None for bus in buses):
        gpus = [by_bus.get(bus) for bus in buses if bus is not None]
        if None not in gpus:
            known = tuple(dict.fromkeys(gpu for gpu in gpus if gpu is not None))
            return BenchmarkPlaces(known if len(hosts) == 1 else None, True)
        if len(hosts) == 1:
            absent = [one.bus or "" for one, bus in zip(run.ranks, buses) if bus not in by_bus]
            return BenchmarkPlaces(None, True, tuple(dict.fromkeys(absent)))
        return BenchmarkPlaces(None, True)
    by_number = {gpu.nvml_index: gpu.id for gpu in node.gpus}
    if len(hosts) > 1 or any(one.device not in by_number for one in run.ranks):
        return BenchmarkPlaces(None)
    return BenchmarkPlaces(tuple(dict.fromkeys(by_number[one.device] for one in run.ranks)))


def _bus(text: str) -> int | None:
    """The bus number: of `0x1a`, `1a`, `0000:1a:00`, `0000:1a:00.0`.

    >>> [_bus(text) for text in ("0x1a", "0000:1a:00", "0000:1a:00.0", "?")]
    [26, 26, 26, None]
    """
    address = PciAddress.parse(text)
    if address is not None:
        return address.bus
    parts = text.removeprefix("0x").split(":")
    try:
        return int(parts[1] if len(parts) > 1 else parts[0], 16)
    except ValueError:
        return None
