"""A PCI tree in the making: host bridges, root ports and switches, with little typing.

A switch takes two buses: its upstream port is `BUS:00.0`, its downstream ports are on BUS + 1.

    >>> tree = Tree(generation=5, port=INTEL_SPR)
    >>> slots = tree.switch(tree.port("pci0000:09", "01.0", numa=0), 0x0b, [0x0d, 0x0f])
    >>> slots
    ['0000:0c:00.0', '0000:0c:01.0']
    >>> [bridge.kind for bridge in tree.bridges]
    ['root-port', 'upstream', 'downstream', 'downstream']
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.machines.machine import Bridge, HostBridge

Chip = tuple[str, str]  # PCI vendor and device

INTEL_BDW: Chip = ("0x8086", "0x6f08")
INTEL_SKX: Chip = ("0x8086", "0x2030")
INTEL_ICX: Chip = ("0x8086", "0x347a")
INTEL_SPR: Chip = ("0x8086", "0x352a")
AMD_ROME: Chip = ("0x1022", "0x1483")
AMD_GENOA: Chip = ("0x1022", "0x14ab")
NVIDIA_GRACE: Chip = ("0x10de", "0x22b8")
QEMU_ROOT_PORT: Chip = ("0x1b36", "0x000c")
PLX_8747: Chip = ("0x10b5", "0x8747")
PLX_9797: Chip = ("0x10b5", "0x9797")
MICROCHIP_GEN4: Chip = ("0x11f8", "0x4000")
MICROCHIP_GEN5: Chip = ("0x11f8", "0x5000")


class Tree:
    """Collects `host_bridges` and `bridges`; every method returns where the next thing hangs."""

    def __init__(self, generation: int, port: Chip, switch: Chip = PLX_8747) -> None:
        self.generation = generation
        self.port_chip = port
        self.switch_chip = switch
        self.host_bridges: list[HostBridge] = []
        self.bridges: list[Bridge] = []

    def port(self, host_bridge: str, place: str, numa: int | None, width: int = 16) -> str:
        """The root port at `place` (device.function) on the root bus, which is made at need."""
        if all(known.id != host_bridge for known in self.host_bridges):
            self.host_bridges.append(HostBridge(host_bridge, numa))
        address = f"{host_bridge.removeprefix('pci')}:{place}"
        self.bridges.append(Bridge(address, host_bridge, "root-port", *self.port_chip, self.generation, width))
        return address

    def switch(self, parent: str, bus: int, below: Sequence[int]) -> list[str]:
        """A switch with a slot for each secondary bus in `below`; the slots' downstream ports."""
        domain = parent.split(":")[0]
        upstream = f"{domain}:{bus:02x}:00.0"
        self.bridges.append(Bridge(upstream, parent, "upstream", *self.switch_chip, self.generation))
        slots = [f"{domain}:{bus + 1:02x}:{place:02x}.0" for place in range(len(below))]
        for slot in slots:
            self.bridges.append(Bridge(slot, upstream, "downstream", *self.switch_chip, self.generation))
        return slots
