"""NICs: one record a PCI function that is an RDMA or network device.

A function is one by its `infiniband/` or `net/` folder (mlx4 says 0x028000, QLogic's first HCA
0x0c0600), or by class where its interfaces live in another network namespace: 0200 Ethernet, 0207
InfiniBand, 0280 other network, 0c06 InfiniBand of old. A virtual function names its physical one.
A RoCE LAG is one RDMA device `mlx5_bond_0` on the first function; the bond's slaves name the rest.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from gputopo.parsers.sysfs_root.locality import Machine, near_nodes
from gputopo.parsers.sysfs_root.netdevs import Bond, NetDevice
from gputopo.parsers.sysfs_root.pci import Function, function_in
from gputopo.parsers.sysfs_root.rdma import Port, RdmaDevice
from gputopo.records import Key, NicRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

T = TypeVar("T")
CLASSES = frozenset((0x0200, 0x0207, 0x0280, 0x0C06))


class Ends(NamedTuple):
    """What hangs on a function: RDMA devices, interfaces, and the bonds it is in."""

    rdma: tuple[RdmaDevice, ...] = ()
    net: tuple[NetDevice, ...] = ()
    bonds: tuple[Bond, ...] = ()


class _Wire(NamedTuple):
    link_layer: Said[str] = None
    rate_gbps: Said[float] = None
    state: Said[str] = None
    port: int | None = None


def nic_record(
    function: Function, above: tuple[Function, ...], machine: Machine, ends: Ends, physical: PciAddress | None
) -> tuple[NicRecord, str]:
    """The record, and the contradiction of its locality ("" = none)."""
    nodes, conflict = near_nodes(function, machine, above)
    wire = _wire(ends)
    record = NicRecord(
        function.label,
        keys=_keys(function.address, ends),
        device=ends.rdma[0].name if ends.rdma else None,
        netdevs=tuple(device.name for device in ends.net) or None,
        port=wire.port,
        pci=function.address,
        members=_members(ends),
        vendor=None if function.vendor is None else f"0x{function.vendor:04x}",
        numa_nodes=nodes,
        link_layer=wire.link_layer,
        rate_gbps=wire.rate_gbps,
        state=wire.state,
        virtual_function_of=physical or _lost_physical(function),
        pcie=function.pcie(),
        chain=function.chain,
    )
    return record, conflict


def placeless_record(device: RdmaDevice) -> NicRecord:
    """An RDMA device whose folder is no link: a NIC, but of which PCI function was not captured."""
    why = f"sys/class/infiniband/{device.name} is a plain folder: its PCI function was not captured"
    wire = _wire(Ends((device,)))
    return NicRecord(
        device.name,
        keys=(Key("name", device.name),),
        device=device.name,
        port=wire.port,
        pci=Unknown(why),
        numa_nodes=Unknown(why),
        link_layer=wire.link_layer,
        rate_gbps=wire.rate_gbps,
        state=wire.state,
        chain=Unknown(why),
    )


def physical_functions(functions: tuple[Function, ...]) -> dict[PciAddress, PciAddress]:
    """Virtual → physical function, from either end's links (`physfn`, `virtfnN`)."""
    found = {}
    for function in functions:
        for name in function.names():
            if name == "physfn":
                physical = function_in(function.tree.resolve(f"{function.path}/physfn"))
                if physical is not None and physical != function.address:
                    found[function.address] = physical
            elif name.startswith("virtfn"):
                virtual = function_in(function.tree.resolve(f"{function.path}/{name}"))
                if virtual is not None and virtual != function.address:
                    found.setdefault(virtual, function.address)
    return found


def _lost_physical(function: Function) -> Unknown | None:
    return Unknown("its physfn link leads nowhere") if function.has_link("physfn") else None


def _keys(address: PciAddress, ends: Ends) -> tuple[Key, ...]:
    names = dict.fromkeys([device.name for device in ends.rdma] + [device.name for device in ends.net])
    return (Key("pci", str(address)), Key("card", address.card), *(Key("name", name) for name in names))


def _members(ends: Ends) -> tuple[PciAddress, ...] | None:
    """The functions behind a RoCE LAG: its name or a GID's interface is the bond's."""
    for device in ends.rdma:
        for bond in ends.bonds:
            if "bond" in device.name or bond.name in device.netdevs:
                return bond.members
    return None


def _wire(ends: Ends) -> _Wire:
    """What the ports say: those that are up count; two that are up and differ are not one value."""
    ports = [port for device in ends.rdma for port in device.ports]
    if ports:
        return _of_ports(ports)
    up = [device for device in ends.net if device.state == "up"] or list(ends.net)
    return _Wire(
        _agreed([device.link_layer for device in up]),
        _agreed([device.rate_gbps for device in up]),
        _agreed([device.state for device in up]),
    )


def _of_ports(ports: list[Port]) -> _Wire:
    up = [port for port in ports if port.state == "up"] or ports
    return _Wire(
        _agreed([port.link_layer for port in up]),
        _agreed([port.rate_gbps for port in up]),
        _agreed([port.state for port in up]),
        ports[0].number if len(ports) == 1 else None,
    )


def _agreed(values: list[T | None]) -> Said[T]:
    said = list(dict.fromkeys(value for value in values if value is not None))
    if len(said) > 1:
        return Unknown(f"its ports differ: {', '.join(map(str, said))}")
    return said[0] if said else None
