"""What a job's log says of the nodes it ran on: the GPUs of its ranks, and the printed system where there is one.

    >>> from gputopo.nccl_records import RankRecord
    >>> a = Speaker("node-a", 7)
    >>> said = SystemPrint("=== System : maxBw 24.0 totalBw 24.0 ===", 1)
    >>> for line in ("CPU/0-1 (1/2/-1)", "+ PCI[24.0] - PCI/0-a000 (15b3197b15b3197b)",
    ...              "              + PCI[24.0] - GPU/0-f000 (0)", "              + PCI[24.0] - NIC/0-c000", "====="):
    ...     said.add(line, 1)
    >>> world = CommunicatorRecord("0x1f", 1, systems=(said.record(a),), ranks=(
    ...     RankRecord(0, a, 0, 3, PciAddress.parse("0000:0f:00.0")),))
    >>> [(host, node)] = nodes(NcclJob((world,))).items()
    >>> host, [(gpu.label, gpu.nvml_index, gpu.chain) for gpu in node.gpus]
    ('node-a', [('0000:0f:00.0', 3, ('cpu:1', '0000:0a:00.0'))])
    >>> node.bridges[0].vendor, node.nics[0].label, node.numa_nodes[0].number, node.gpus_complete
    ('0x15b3', '0000:0c:00.0', 1, False)

For a person who has nothing but the log: with evidence of the node, ranks are placed on its GPUs instead (jobs/).
A host is what NCCL prints, in a pod the pod's name, so it is no identity of a node. Chains have NCCL's grain.
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.nccl_records import CommunicatorRecord, NcclJob, Speaker, SystemRecord
from gputopo.parsers.nccl_log.system import SystemPrint, address_of
from gputopo.records import BridgeRecord, Gap, GpuRecord, Key, NicRecord, NodeRecords, NumaNodeRecord
from gputopo.terms.pci_address import PciAddress

__all__ = ["Speaker", "SystemPrint", "nodes"]
_OTHERS = "a job's log names the GPUs of the job; what else the node has is not in it"
_NUMA_MOST = 1 << 10
_ID = 16  # digits of a switch: vendor, device, subsystem vendor, subsystem device


def nodes(job: NcclJob) -> dict[str | None, NodeRecords]:
    """By host: a `NodeRecords` for each one of which some GPU has an address."""
    made = {}
    for host in dict.fromkeys(_hosts(job)):
        system = next((one for each in job.communicators for one in each.systems if one.speaker.host == host), None)
        records = _node(job, host, system)
        if records is not None:
            made[host] = records
    return made


def _hosts(job: NcclJob) -> Iterator[str | None]:
    for one in job.communicators:
        yield from (rank.speaker.host for rank in one.ranks)
        yield from (system.speaker.host for system in one.systems)


def _node(job: NcclJob, host: str | None, system: SystemRecord | None) -> NodeRecords | None:
    chains = _chains(system) if system is not None else {}
    indices = _indices(job.communicators, host)
    found = dict.fromkeys(
        (*indices, *(pci for name in chains if name.startswith("GPU/") and (pci := address_of(name))))
    )
    if not found:
        return None
    chain_of = {address_of(name): chain for name, chain in chains.items()}
    line = system.line if system is not None else job.line
    return NodeRecords(
        "nccl-log",
        line=line,
        whole=job.whole,
        grain="nccl" if chains else None,
        numa_nodes=_numa_nodes(chains) or None,
        bridges=tuple(_bridges(system, chains)) if system is not None else (),
        gpus=tuple(_gpu(pci, indices.get(pci), chain_of.get(pci), line) for pci in found),
        nics=tuple(_nics(chains, line)) or None,
        gaps=(Gap((), "gpus", _OTHERS, "nvidia-smi topo -m", line),),
    )


def _indices(communicators: tuple[CommunicatorRecord, ...], host: str | None) -> dict[PciAddress, int | None]:
    """Addresses of the ranks' GPUs with their NVML index; None where ranks give one address several."""
    said: dict[PciAddress, set[int]] = {}
    for one in communicators:
        for rank in one.ranks:
            if rank.speaker.host == host and rank.pci is not None:
                numbers = said.setdefault(rank.pci, set())
                if rank.nvml_index is not None:
                    numbers.add(rank.nvml_index)
    numbered = [number for numbers in said.values() for number in numbers]
    clear = len(set(numbered)) == len(numbered)  # containers count from 0 each
    return {pci: next(iter(numbers)) if clear and len(numbers) == 1 else None for pci, numbers in sorted(said.items())}


def _chains(system: SystemRecord) -> dict[str, tuple[str, ...]]:
    """Name of each device below a CPU → the labels above it, its NUMA node first."""
    chains: dict[str, tuple[str, ...]] = {}
    for link in system.links:
        if link.kind != "PCI":
            continue
        if link.parent.startswith("CPU/"):
            number = _numa(link.parent)
            above: tuple[str, ...] = () if number is None else (f"cpu:{number}",)
        else:
            pci = address_of(link.parent)
            above = (*chains.get(link.parent, ()), *([str(pci)] if pci is not None else []))
        chains.setdefault(link.child, above)
    return chains


def _numa(node: str) -> int | None:
    """CPU/0-1 is NUMA node 1 (hexadecimal); -1, of a machine that does not say, is printed as a huge number."""
    try:
        number = int(node.rpartition("/")[2].rpartition("-")[2][:16], 16)
    except ValueError:
        return None
    return number if number < _NUMA_MOST else None


def _numa_nodes(chains: dict[str, tuple[str, ...]]) -> tuple[NumaNodeRecord, ...]:
    numbers = {int(chain[0][4:]) for chain in chains.values() if chain and chain[0].startswith("cpu:")}
    return tuple(NumaNodeRecord(number) for number in sorted(numbers))


def _nodes_of(chain: tuple[str, ...] | None) -> tuple[int, ...] | None:
    return (int(chain[0][4:]),) if chain and chain[0].startswith("cpu:") else None


def _bridges(system: SystemRecord, chains: dict[str, tuple[str, ...]]) -> Iterator[BridgeRecord]:
    seen = set()
    for link in system.links:
        pci = address_of(link.child) if link.child.startswith("PCI/") else None
        if pci is None or pci in seen:
            continue
        seen.add(pci)
        chain = chains.get(link.child, ())
        id = link.detail if len(link.detail) == _ID else ""
        yield BridgeRecord(
            str(pci),
            parent=chain[-1] if len(chain) > 1 else None,
            kind="switch",
            vendor=f"0x{id[:4]}" if id else None,
            device=f"0x{id[4:8]}" if id else None,
            numa_nodes=_nodes_of(chain),
        )


def _gpu(pci: PciAddress, index: int | None, chain: tuple[str, ...] | None, line: int) -> GpuRecord:
    keys = [Key("pci", str(pci))]
    if index is not None:
        keys.append(Key("index", str(index)))
    return GpuRecord(
        str(pci),
        tuple(keys),
        line,
        nvml_index=index,
        vendor="nvidia",
        pci=pci,
        numa_nodes=_nodes_of(chain),
        chain=chain or None,
    )


def _nics(chains: dict[str, tuple[str, ...]], line: int) -> Iterator[NicRecord]:
    for name, chain in chains.items():
        pci = address_of(name) if name.startswith("NIC/") else None
        if pci is not None and pci.bus:  # NIC/0-0: what NCCL hangs virtual devices on
            yield NicRecord(
                str(pci), (Key("card", pci.card),), line, pci=pci, numa_nodes=_nodes_of(chain), chain=chain or None
            )
