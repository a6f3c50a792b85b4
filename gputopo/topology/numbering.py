"""Ids of devices: `GPUn` by NVML index, NICn or the device name, else the PCI address."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.records import GpuRecord, NicRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.join import Witness, pci_order
from gputopo.topology.ledger import Claim, Ledger, Spoken
from gputopo.topology.node import NoteAssumption

_NIC_LABEL = re.compile(r"NIC(\d+)\Z")


def number_gpus(
    entities: Sequence[tuple[Witness, ...]], sources: Sequence[Spoken], ledger: Ledger
) -> tuple[list[tuple[str, int | None, tuple[Witness, ...]]], list[NoteAssumption]]:
    """(id, NVML index or None, witnesses) in id order.

    GPUs that no source numbers are numbered by PCI address, which is the driver's default order.
    """
    indexed: list[tuple[str, int | None, tuple[Witness, ...]]] = []
    loose = []
    taken: set[int] = set()
    for witnesses in entities:
        claims = [
            Claim(index, sources[witness.spoken].source)
            for witness in witnesses
            if isinstance(index := getattr(witness.record, "nvml_index", None), int)
        ]
        index = ledger.settle("gpu", f"GPU{claims[0].value}", "nvml_index", claims) if claims else None
        if index is None or index in taken:
            loose.append(witnesses)
        else:
            taken.add(index)
            indexed.append((f"GPU{index}", index, witnesses))
    indexed.sort(key=lambda one: one[1] or 0)
    if not loose:
        return indexed, []
    loose.sort(key=pci_order)
    if indexed:  # a part is numbered: a number for the rest would be a guess, so the address names them
        return indexed + [(_own_name(witnesses), None, witnesses) for witnesses in loose], []
    numbered: list[tuple[str, int | None, tuple[Witness, ...]]] = [
        (f"GPU{place}", None, witnesses) for place, witnesses in enumerate(loose)
    ]
    ids = tuple(id for id, _, _ in numbered)
    text = "no source gives NVML indices: GPUs are numbered by PCI address, NVML's default order"
    return numbered, [NoteAssumption(ids, text, None)]


def _own_name(witnesses: Sequence[Witness]) -> str:
    record = witnesses[0].record
    pci = getattr(record, "pci", None)
    return record.label if pci is None else str(pci)


def name_nics(
    entities: Sequence[tuple[Witness, ...]],
) -> list[tuple[str, tuple[str, ...], tuple[Witness, ...]]]:
    """(id, aliases, witnesses): NICn where nvidia-smi numbers it, in its order; then by PCI address."""
    named = []
    taken: set[str] = set()
    for at, witnesses in enumerate(entities):
        names = _nic_names(witnesses)
        id = next((name for name in names if name not in taken), f"{names[0]}#{at}")
        taken.add(id)
        order: tuple[int, int, tuple[int, str]] = (1, at, (0, ""))
        match = _NIC_LABEL.match(id)
        if match:
            order = (0, int(match[1]), (0, ""))
        elif any(key.space in ("pci", "card") for witness in witnesses for key in witness.record.keys):
            order = (1, 0, pci_order(witnesses))
        aliases = tuple(dict.fromkeys(name for name in names if name != id))
        named.append((order, id, aliases, witnesses))
    named.sort(key=lambda one: one[0])
    return [(id, aliases, witnesses) for _, id, aliases, witnesses in named]


def _nic_names(witnesses: Sequence[Witness]) -> list[str]:
    """NICn first, then the RDMA device, then network devices; the address where there is no name."""
    labels, devices, others, addresses = [], [], [], []
    for witness in witnesses:
        record = witness.record
        assert isinstance(record, NicRecord)
        if _NIC_LABEL.match(record.label):
            labels.append(record.label)
        if isinstance(record.device, str):
            devices.append(record.device)
        others += [key.value for key in record.keys if key.space == "name"]
        if isinstance(record.pci, PciAddress):
            addresses.append(str(record.pci))
        elif not labels and not devices and not others:
            addresses.append(record.label)
    return list(dict.fromkeys([*labels, *devices, *others])) or addresses or [witnesses[0].record.label]


def gpu_aliases(id: str, witnesses: Sequence[Witness]) -> tuple[str, ...]:
    """Labels of the sources that are neither the id nor an address of the GPU."""
    found = []
    for witness in witnesses:
        record = witness.record
        assert isinstance(record, GpuRecord)
        if record.label not in (id, str(record.pci), str(record.uuid)) and record.label not in found:
            found.append(record.label)
    return tuple(found)
