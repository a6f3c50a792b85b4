"""RDMA devices out of `sys/class/infiniband`, and their ports.

A device of hardware is a link into the PCI tree. A link whose path holds no PCI function is
software (siw, rxe): not a NIC of this node. A plain folder is a NIC whose place was not captured.
The rate of a port that is down is a placeholder (`10 Gb/sec (4X SDR)`).

    >>> gigabits("100 Gb/sec (4X EDR)"), gigabits("2.5 Gb/sec (1X SDR)"), gigabits("")
    (100.0, 2.5, None)
    >>> port_state("4: ACTIVE"), port_state("1: DOWN"), port_state("?")
    ('up', 'down', None)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.sysfs_root.pci import Function, function_in
from gputopo.parsers.sysfs_root.read import Tree, integer, line
from gputopo.terms.pci_address import PciAddress

CLASS = "sys/class/infiniband"


class Port(NamedTuple):
    number: int
    link_layer: str | None
    rate_gbps: float | None
    state: str | None


class RdmaDevice(NamedTuple):
    name: str
    address: PciAddress | None
    ports: tuple[Port, ...]
    netdevs: tuple[str, ...]  # of its GIDs: the bond of a RoCE LAG


class RdmaDevices(NamedTuple):
    hardware: dict[PciAddress, list[RdmaDevice]]
    placeless: tuple[RdmaDevice, ...]  # plain folders
    software: tuple[str, ...]


def rdma_devices(tree: Tree, functions: tuple[Function, ...]) -> RdmaDevices:
    """From the class folder, and from `infiniband/` of functions that it does not name."""
    found = RdmaDevices({}, (), ())
    for name in tree.names(CLASS) or ():
        found = _add(tree, name, found)
    for function in functions:
        known = {device.name for device in found.hardware.get(function.address, ())}
        for name in function.names("infiniband"):
            if name not in known:
                device = _device(tree, f"{function.path}/infiniband/{name}", name, function.address)
                found.hardware.setdefault(function.address, []).append(device)
    return found


def _add(tree: Tree, name: str, found: RdmaDevices) -> RdmaDevices:
    folder = f"{CLASS}/{name}"
    linked = tree.is_link(folder)
    address = function_in(tree.resolve(folder)) if linked else None
    if address is None and tree.is_link(f"{folder}/device"):
        address = function_in(tree.resolve(f"{folder}/device"))
    if address is not None:
        found.hardware.setdefault(address, []).append(_device(tree, folder, name, address))
        return found
    if linked:
        return found._replace(software=(*found.software, name))
    if tree.names(folder) is None:
        return found
    return found._replace(placeless=(*found.placeless, _device(tree, folder, name, None)))


def _device(tree: Tree, folder: str, name: str, address: PciAddress | None) -> RdmaDevice:
    ports, netdevs = [], set()
    for port in tree.names(f"{folder}/ports") or ():
        number = integer(port)
        if number is None or number < 0:
            continue
        ports.append(_port(tree, f"{folder}/ports/{port}", number))
        for entry in tree.names(f"{folder}/ports/{port}/gid_attrs/ndevs") or ():
            netdev = line(tree, f"{folder}/ports/{port}/gid_attrs/ndevs/{entry}")
            if netdev:
                netdevs.add(netdev)
    return RdmaDevice(name, address, tuple(sorted(ports, key=lambda port: port.number)), tuple(sorted(netdevs)))


def _port(tree: Tree, folder: str, number: int) -> Port:
    state = port_state(line(tree, f"{folder}/state"))
    layer = line(tree, f"{folder}/link_layer")
    rate = gigabits(line(tree, f"{folder}/rate")) if state == "up" else None
    return Port(number, layer if layer in ("InfiniBand", "Ethernet") else None, rate, state)


def port_state(said: str | None) -> str | None:
    """ibstat's numbers: 4 ACTIVE and 5 ACTIVE_DEFER carry traffic; 0 to 3 (NOP, DOWN, INIT, ARMED) do not."""
    code = (said or "").partition(":")[0]
    if code in ("4", "5"):
        return "up"
    return "down" if code in ("0", "1", "2", "3") else None


def gigabits(rate: str | None) -> float | None:
    words = (rate or "").split()
    if len(words) < 2 or words[1] != "Gb/sec" or len(words[0]) > 8:
        return None
    try:
        value = float(words[0])
    except ValueError:
        return None
    return value if 0 < value < 100_000 else None
