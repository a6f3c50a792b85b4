"""`ibdev2netdev`: which network device belongs to which port of an RDMA device; `-v` adds PCI addresses.

    >>> [node] = parse('''mlx5_0 port 1 ==> ib0 (Up)
    ... mlx5_1 port 1 ==> ens9f0np0 (Down)
    ... 0000:8a:00.0 mlx5_2 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 HHHL fw 28.39.1002 port 1 (ACTIVE) ==> ib1 (Up)''')
    >>> [(nic.device, nic.port, nic.netdevs, nic.state) for nic in node.nics]
    [('mlx5_0', 1, ('ib0',), 'up'), ('mlx5_1', 1, ('ens9f0np0',), 'down'), ('mlx5_2', 1, ('ib1',), 'up')]
    >>> str(node.nics[2].pci)
    '0000:8a:00.0'

The state is the network device's (`operstate`), not the RDMA port's, which `-v` prints before the arrow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.parsers.limits import at_most_hits, at_most_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Key, NicRecord, NodeRecords
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

_PORT = re.compile(
    r"(?:\b((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7])[ \t]+)?"  # -v
    r"\b([a-z][a-z0-9_]{0,62})[ \t]+(?:\([^\n]{1,200}?[ \t])?port[ \t]+(\d{1,3})(?:[ \t]+\(([A-Z_]+)\))?[ \t]+==>"
    r"[ \t]+([\w.:@-]{1,63})[ \t]+\((\w+)\)"
)


class Port(NamedTuple):
    device: str
    port: int
    netdev: str
    state: str  # as printed: Up, Down
    pci: PciAddress | None
    line: int


def sniff(text: str) -> bool:
    """Whether a text holds a line `DEVICE port N ==> NETDEV (STATE)`."""
    return "==>" in text and _PORT.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords`; a second output whose lines differ is another node. Raises `Unreadable`."""
    outputs: list[dict[tuple[str, int, str], Port]] = [{}]
    for port in ports(text):
        known = outputs[-1].get(port[:3])
        if known is not None and known.state == port.state:
            continue
        if known is not None:
            outputs.append({})
            at_most_nodes(outputs, port.line)
        outputs[-1][port[:3]] = port
    if not outputs[-1]:
        raise Unreadable("no line of ibdev2netdev that names a port", hint="ibdev2netdev")
    return tuple(_node(list(output.values())) for output in outputs)


def ports(text: str) -> tuple[Port, ...]:
    """Every line that names a port, in order."""
    found = []
    line, counted = 1, 0
    for match in at_most_hits(_PORT.finditer(text)):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        pci = PciAddress.parse(match[1]) if match[1] else None
        found.append(Port(match[2], int(match[3]), match[5], match[6], pci, line))
    return tuple(found)


def _node(output: list[Port]) -> NodeRecords:
    devices: dict[str, list[Port]] = {}
    for port in output:
        devices.setdefault(port.device, []).append(port)
    return NodeRecords("ibdev2netdev", line=output[0].line, nics=tuple(map(_nic, devices.values())))


def _nic(own: list[Port]) -> NicRecord:
    first = own[0]
    numbers = {port.port for port in own}
    netdevs = tuple(dict.fromkeys(port.netdev for port in own))
    pci = next((port.pci for port in own if port.pci is not None), None)
    names = dict.fromkeys([first.device, *netdevs])
    place = (Key("pci", str(pci)), Key("card", pci.card)) if pci else ()
    return NicRecord(
        first.device,
        (*place, *(Key("name", name) for name in names)),
        first.line,
        device=first.device,
        netdevs=netdevs,
        port=first.port if len(numbers) == 1 else Unknown(f"it has ports {', '.join(map(str, sorted(numbers)))}"),
        pci=pci,
        state=_state(own),
    )


def _state(own: list[Port]) -> Said[str]:
    """Up where one of its ports is."""
    states = {port.state.lower() for port in own}
    if "up" in states:
        return "up"
    return "down" if states == {"down"} else Unknown(f"printed as {own[0].state}")
