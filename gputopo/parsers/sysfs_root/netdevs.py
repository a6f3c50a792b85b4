"""Network interfaces out of `sys/class/net` and `BDF/net`: whose they are, and their bonds.

Both are filtered by the reader's network namespace: in a pod the NIC's function is there and its
`net/` is empty.

    >>> MAC_TYPES["32"], MAC_TYPES["1"]                     # ARPHRD_INFINIBAND, ARPHRD_ETHER of if_arp.h
    ('InfiniBand', 'Ethernet')
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.sysfs_root.pci import Function, function_in
from gputopo.parsers.sysfs_root.read import Tree, line, number, text
from gputopo.terms.pci_address import PciAddress

CLASS = "sys/class/net"
MAC_TYPES = {"1": "Ethernet", "32": "InfiniBand"}


class NetDevice(NamedTuple):
    name: str
    link_layer: str | None
    rate_gbps: float | None
    state: str | None


class Bond(NamedTuple):
    name: str
    mode: str | None
    members: tuple[PciAddress, ...]


def net_devices(tree: Tree, functions: tuple[Function, ...]) -> dict[PciAddress, list[NetDevice]]:
    """Function → its interfaces, by name. Virtio's lie one folder deeper (`BDF/virtio0/net`)."""
    folders: dict[tuple[PciAddress, str], str] = {}
    for name in tree.names(CLASS) or ():
        if tree.is_link(f"{CLASS}/{name}"):
            address = function_in(tree.resolve(f"{CLASS}/{name}"))
            if address is not None:
                folders[address, name] = f"{CLASS}/{name}"
    for function in functions:
        for name in function.names("net"):
            folders.setdefault((function.address, name), f"{function.path}/net/{name}")
    found: dict[PciAddress, list[NetDevice]] = {}
    for (address, name), folder in sorted(folders.items()):
        found.setdefault(address, []).append(_device(tree, name, folder))
    return found


def _device(tree: Tree, name: str, folder: str) -> NetDevice:
    state = {"up": "up", "down": "down", "lowerlayerdown": "down"}.get(line(tree, f"{folder}/operstate") or "")
    megabits = number(tree, f"{folder}/speed") if state != "down" else None
    rate = megabits / 1000 if megabits is not None and 0 < megabits < 100_000_000 else None
    return NetDevice(name, MAC_TYPES.get(line(tree, f"{folder}/type") or ""), rate, state)


def bonds(tree: Tree, devices: dict[PciAddress, list[NetDevice]]) -> tuple[Bond, ...]:
    """Bonds over interfaces of PCI functions."""
    owner = {device.name: address for address, found in devices.items() for device in found}
    found = []
    for name in tree.names(CLASS) or ():
        slaves = _slaves(tree, f"{CLASS}/{name}")
        members = {owner[slave] for slave in slaves if slave in owner}
        if members:
            mode = (line(tree, f"{CLASS}/{name}/bonding/mode") or "").partition(" ")[0]
            found.append(Bond(name, mode or None, tuple(sorted(members))))
    return tuple(found)


def _slaves(tree: Tree, folder: str) -> tuple[str, ...]:
    listed = text(tree, f"{folder}/bonding/slaves")
    if listed is not None:
        return tuple(listed.split())
    if tree.names(f"{folder}/bonding") is None:
        return ()
    return tuple(name[6:] for name in tree.names(folder) or () if name.startswith("lower_"))
