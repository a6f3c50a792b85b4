"""NICs of one host: a record for each name in `<net>`, for each `<pci>` of class 0x02 where none is named.

NCCL folds the functions of a card, and an SR-IOV card's virtual functions, into one bus id (NCCL
src/transport/net_ib, ncclIbGetPciPath). So a bus id with several names is the card of all of them and
the address of one at most.
"""

from __future__ import annotations

from gputopo.parsers.nccl_xml.tree import Host, Place, numa_nodes, number, pcie
from gputopo.parsers.xml_guard import Element
from gputopo.records import Key, NicRecord
from gputopo.terms.unknown import Said, Unknown

_VIRTUAL = "<nic> directly below <cpu>: NCCL found no PCI device for it"


def nics_of(host: Host) -> tuple[NicRecord, ...]:
    records: dict[str, NicRecord] = {}
    for place in host.places:
        if place.is_nic:
            for record in _of_pci(place):
                known = records.get(record.label)
                if known is not None and known.pci != record.pci:  # one name on two cards
                    record = record._replace(label=f"{record.label} at {place.busid}")
                records.setdefault(record.label, record)
    for cpu in host.cpus:
        for nic in cpu.named("nic"):
            for name, nets in _by_name(nic).items():
                if name is not None:
                    records.setdefault(name, _virtual(name, nets))
    return tuple(records.values())


def _by_name(*nics: Element) -> dict[str | None, list[Element]]:
    """`<net>` elements by name: the ports of one device have one name."""
    found: dict[str | None, list[Element]] = {}
    for nic in nics:
        for net in nic.named("net"):
            found.setdefault((net.get("name") or "").strip() or None, []).append(net)
    return found


def _of_pci(place: Place) -> list[NicRecord]:
    element = place.element
    named = _by_name(*element.named("nic")) or {None: []}
    records = []
    for position, (name, nets) in enumerate(named.items()):
        keys = (Key("name", name),) if name else ()
        if place.pci and position == 0:
            keys = (Key("card", place.pci.card), *keys)
        folded = Unknown(f"NCCL folds {len(named)} devices into {place.busid}", "sysfs")
        unreadable = Unknown(f"busid {place.busid!r} is no PCI address")
        records.append(
            NicRecord(
                name or place.busid,
                keys=keys,
                line=nets[0].line if nets else element.line,
                device=name,
                port=_port(nets),
                pci=(place.pci or unreadable) if position == 0 else folded,
                vendor=element.get("vendor"),
                numa_nodes=numa_nodes(place.numaid),
                rate_gbps=_rate(nets),
                pcie=pcie(element),
                chain=place.chain,
            )
        )
    return records


def _virtual(name: str, nets: list[Element]) -> NicRecord:
    return NicRecord(
        name,
        keys=(Key("name", name),),
        line=nets[0].line,
        device=name,
        port=_port(nets),
        pci=Unknown(_VIRTUAL, "ls -l /sys/class/infiniband /sys/class/net"),
        numa_nodes=Unknown(_VIRTUAL),
        rate_gbps=_rate(nets),
    )


def _port(nets: list[Element]) -> int | None:
    """The port where there is one; 0 is what a plain network interface says."""
    ports = {number(net, "port") for net in nets}
    port = ports.pop() if len(ports) == 1 else None
    return port or None


def _rate(nets: list[Element]) -> Said[float]:
    speeds = {speed for net in nets if (speed := number(net, "speed")) is not None}
    if len(speeds) != 1:
        return None
    speed = speeds.pop()
    return speed / 1000 if speed > 0 else Unknown(f"speed {speed}; NCCL goes on with 10 Gbit/s")
