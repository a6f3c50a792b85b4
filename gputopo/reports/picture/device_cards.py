"""What a device's card says: its name, address and links in three short lines, all of it under the pointer."""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.reports.picture.parts import Card
from gputopo.reports.views.words import cut, devices, gibibytes, numbers, one_domain, rate, short_pci
from gputopo.rules.wording import one_line
from gputopo.topology.node import Gpu, Nic, NodeTopology, Nvme, Pcie

FOLD_FUNCTIONS, FOLD_NVME = 3, 5  # from so many alike on one card
_LAYERS = {"infiniband": "IB", "ethernet": "Eth"}
_LONGEST = 120


class Cards:
    """Makes the cards of one node: how addresses are written, and whether models have to be told apart."""

    def __init__(self, node: NodeTopology) -> None:
        self._short = one_domain(node)
        self._mixed = len({gpu.name for gpu in node.gpus}) > 1
        self._linked = any(gpu.nvlinks is not None and gpu.nvlinks.active for gpu in node.gpus)
        self._positions = {one.id: at for at, one in enumerate(devices(node))}

    def of(self, those: Sequence[tuple[Gpu | Nic | Nvme, tuple[str, ...]]]) -> tuple[Card, ...]:
        """Devices of one box, each with the bridges that are its own → cards, in the node's order."""
        ordered = sorted(those, key=lambda one: self._positions[one[0].id])
        functions: dict[str, list[tuple[Nic, tuple[str, ...]]]] = {}
        drives: list[tuple[Nvme, tuple[str, ...]]] = []
        made: list[Card] = []
        for device, bridges in ordered:
            if isinstance(device, Gpu):
                made.append(self._gpu(device, bridges))
            elif isinstance(device, Nvme):
                drives.append((device, bridges))
            elif device.virtual_function_of:
                functions.setdefault(device.virtual_function_of, []).append((device, bridges))
            else:
                made.append(self._nic(device, bridges))
        for parent, alike in functions.items():
            made += self._functions(parent, alike)
        return (*made, *self._drives(drives))

    def _gpu(self, gpu: Gpu, bridges: tuple[str, ...]) -> Card:
        model = cut(one_line(gpu.name or "model unknown"), _LONGEST)
        lines = [gpu.id, self._pci(gpu.pci), link_text(gpu.pcie)]
        if self._mixed:
            lines.insert(1, model)
        if gpu.memory_numa_node is not None:
            lines.append(f"mem NUMA {gpu.memory_numa_node}")
        lines.append(self._few_links(gpu))
        if gpu.c2c:
            count = gpu.c2c.get("count")
            lines.append(f"C2C x{int(count)}" if count else "C2C")
        if gpu.mig:
            lines.append(f"{len(gpu.mig)} MIG")
        near = f"NUMA {numbers(gpu.numa_nodes)}" if gpu.numa_nodes else "NUMA node unknown"
        memory = gibibytes(gpu.memory_bytes) if gpu.memory_bytes else ""
        about = (gpu.id, model, gpu.uuid or "", gpu.pci or "", memory, link_text(gpu.pcie), near)
        return _card("gpu", (gpu.id,), lines, about, bridges)

    def _few_links(self, gpu: Gpu) -> str:
        """Only where NVLinks are fewer than they could be: `NVLink 17/18`, `NVLink 0` beside GPUs that have some."""
        if gpu.nvlinks is None or gpu.nvlinks.active is None:
            return ""
        active, total = gpu.nvlinks.active, gpu.nvlinks.total
        if total is not None and active < total and (active or self._linked):
            return f"NVLink {active}/{total}"
        return "NVLink 0" if not active and self._linked else ""

    def _nic(self, nic: Nic, bridges: tuple[str, ...]) -> Card:
        named = nic.device is not None or nic.pci != nic.id
        lines = [nic.id if named else "NIC", (nic.device or "") if named else self._pci(nic.pci)]
        if lines[0] == lines[1]:
            lines[1] = self._pci(nic.pci)
        speed = _speed(nic)
        lines += [speed, "down" if nic.state == "down" else "", "VF" if nic.virtual_function_of else ""]
        bond = f"bond of {len(nic.members)}" if len(nic.members) > 1 else ""
        about = (nic.id, nic.device or "", *nic.netdevs, nic.pci or "", speed, nic.state or "", bond)
        return _card("nic", (nic.id,), lines, about, bridges)

    def _functions(self, parent: str, alike: Sequence[tuple[Nic, tuple[str, ...]]]) -> list[Card]:
        if len(alike) < FOLD_FUNCTIONS:
            return [self._nic(nic, bridges) for nic, bridges in alike]
        ids = tuple(nic.id for nic, _ in alike)
        lines = ("NIC", f"{len(ids)} VFs", f"of {self._pci(parent)}")
        own = tuple(dict.fromkeys(bridge for _, bridges in alike for bridge in bridges))
        return [_card("nic", ids, lines, (f"{len(ids)} virtual functions of {parent}", *ids), own)]

    def _drives(self, drives: Sequence[tuple[Nvme, tuple[str, ...]]]) -> list[Card]:
        if len(drives) < FOLD_NVME:
            return [
                _card("nvme", (one.id,), _drive_lines(one, self._pci(one.pci)),
                      (one.id, one.pci or "", link_text(one.pcie)), bridges)
                for one, bridges in drives
            ]  # fmt: skip
        ids = tuple(one.id for one, _ in drives)
        own = tuple(dict.fromkeys(bridge for _, bridges in drives for bridge in bridges))
        return [_card("nvme", ids, (f"{len(ids)} NVMe", ids[0], f"to {ids[-1]}"), ids, own)]

    def _pci(self, address: str | None) -> str:
        return short_pci(address, one_domain=self._short)


def link_text(pcie: Pcie | None) -> str:
    """`gen5 x16`, `gen5 x8/16` where the card could do more; the generation is the highest, since idle links are slow.

    >>> link_text(Pcie(1, 8, 5, 16)), link_text(Pcie(None, 4, None, None)), link_text(None)
    ('gen5 x8/16', 'x4', '')
    """
    if pcie is None:
        return ""
    generation = pcie.max_generation or pcie.generation
    less = pcie.width and pcie.max_width and pcie.width < pcie.max_width
    width = f"x{pcie.width}/{pcie.max_width}" if less else f"x{pcie.width}" if pcie.width else ""
    return " ".join(part for part in (f"gen{generation}" if generation else "", width) if part)


def _speed(nic: Nic) -> str:
    layer = nic.link_layer or ""
    parts = (rate(nic.rate_gbps) if nic.rate_gbps else "", _LAYERS.get(layer.lower(), cut(one_line(layer), 16)))
    return " ".join(part for part in parts if part)


def _drive_lines(drive: Nvme, pci: str) -> tuple[str, ...]:
    return ("NVMe", pci) if drive.id == drive.pci else (drive.id, pci)


def _card(
    kind: str, ids: tuple[str, ...], lines: Sequence[str], about: Sequence[str], bridges: tuple[str, ...]
) -> Card:  # fmt: skip
    said = ", ".join(dict.fromkeys(cut(one_line(part), _LONGEST) for part in about[:24] if part))
    return Card(kind, ids, tuple(one_line(line) for line in lines if line), said, bridges)
