"""Servers of PCIe cards: cascaded switches, a single root, NVLink bridges, an old driver."""

from __future__ import annotations

from tests.machines import hosts
from tests.machines.cards import A30, A40, P40, RTX_A5000, ethernet, infiniband, place
from tests.machines.machine import Function, Gpu, Machine, Nic
from tests.machines.tree import INTEL_BDW, INTEL_ICX, MICROCHIP_GEN4, PLX_9797, Tree


def pcie_2s_8gpu() -> Machine:
    """One root port a socket, below it a switch over two switches: PIX, PXB and SYS."""
    tree = Tree(4, INTEL_ICX, MICROCHIP_GEN4)
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for numa, root in enumerate((0x16, 0x97)):
        sides = (root + 3, root + 8)
        port = tree.port(f"pci0000:{root:02x}", "02.0", numa)
        *top, nic_slot = tree.switch(port, root + 1, [*sides, root + 13])
        for slot, bus in zip(top, sides):
            below = tree.switch(slot, bus, [bus + 2, bus + 3])
            gpus += [
                place(A30, len(gpus) + offset, f"0000:{bus + 2 + offset:02x}:00.0", below[offset], numa)
                for offset in (0, 1)
            ]
        nics.append(ethernet(6, numa, f"0000:{root + 13:02x}:00.0", nic_slot, numa, f"ens{numa + 1}np0", 100))
    bmc_port = tree.port("pci0000:00", "1c.5", 0, width=1)
    return Machine(
        name="pcie-2s-8gpu",
        title="8 PCIe cards, four a socket: PIX under one switch, PXB across two, SYS between the sockets",
        shape_from="two cards a switch on two sockets, switches cascaded; NVML's rule for PIX and PXB",
        product="PCIe GPU server",
        driver="550.163.01",
        generation="550",
        packages=hosts.ICE_LAKE_28_2S,
        numa_nodes=hosts.own_nodes(hosts.ICE_LAKE_28_2S, 251, 20),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        others=(Function("0000:03:00.0", bmc_port, "0x030000", "0x1a03", "0x2000", 0, "ast"),),
        sockets_matter=True,
    )


def pcie_bridged() -> Machine:
    """Four bridged pairs; the BIOS numbers the CPUs even and odd, so the CPU column is cut."""
    even, odd = (",".join(map(str, range(first, 64, 2))) for first in (0, 1))
    packages = hosts.intel(106, "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", even, odd, threads=1)
    tree = Tree(4, INTEL_ICX, MICROCHIP_GEN4)
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for root, has_nic in ((0x16, False), (0x4A, True), (0x97, False), (0xC9, True)):
        numa = len(gpus) // 4
        buses = [root + 3, root + 4, root + 5][: 2 + has_nic]
        slots = tree.switch(tree.port(f"pci0000:{root:02x}", "02.0", numa), root + 1, buses)
        addresses = [f"0000:{bus:02x}:00.0" for bus in buses]
        first = len(gpus)
        gpus.append(place(A40, first, addresses[0], slots[0], numa, peers=((first + 1, 4),)))
        gpus.append(place(A40, first + 1, addresses[1], slots[1], numa, peers=((first, 4),)))
        if has_nic:
            nics.append(ethernet(6, len(nics), addresses[2], slots[2], numa, f"ens{numa + 1}np0", 200))
    return Machine(
        name="pcie-bridged",
        title="8 PCIe cards, NVLink bridges over 0-1, 2-3, 4-5 and 6-7; even CPUs on socket 0, odd ones on 1",
        shape_from="NVLink bridges over pairs; Dell's even/odd numbering, cut by nvidia-smi (sglang issue 15050)",
        product="PCIe GPU server",
        driver="550.163.01",
        generation="550",
        packages=packages,
        numa_nodes=hosts.own_nodes(packages, 503, 20),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        sockets_matter=True,
    )


def pcie_10gpu() -> Machine:
    """A single root: one switch of five GPUs hangs below the other, all on socket 0."""
    tree = Tree(4, INTEL_ICX, MICROCHIP_GEN4)
    buses = [0x3A, 0x3B, 0x3C, 0x3D, 0x3E]
    *upper, last = tree.switch(tree.port("pci0000:37", "02.0", 0), 0x38, [*buses, 0x40])
    lower_buses = [0x42, 0x43, 0x44, 0x45, 0x46]
    lower = tree.switch(last, 0x40, lower_buses)
    gpus = [
        place(RTX_A5000, number, f"0000:{bus:02x}:00.0", slot, 0)
        for number, (bus, slot) in enumerate(zip([*buses, *lower_buses], [*upper, *lower]))
    ]
    nic = ethernet(6, 0, "0000:c3:00.0", tree.port("pci0000:c2", "04.0", 1), 1, "ens4np0", 100)
    return Machine(
        name="pcie-10gpu",
        title="10 PCIe cards under one root complex: two cascaded switches on socket 0, the NIC on socket 1",
        shape_from="single-root servers, by NVML's rule for PIX and PXB; no public matrix of one was found",
        product="Single-root GPU server",
        driver="535.261.03",
        generation="550",
        packages=hosts.ICE_LAKE_28_2S,
        numa_nodes=hosts.own_nodes(hosts.ICE_LAKE_28_2S, 251, 20),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(nic,),
        sockets_matter=True,
    )


def soc_era_p40() -> Machine:
    """A driver from before NODE and SYS: SOC, the old legend, no NUMA column."""
    tree = Tree(3, INTEL_BDW, PLX_9797)
    gpus: list[Gpu] = []
    for root, place_, bus in ((0x00, "02.0", 0x04), (0x00, "03.0", 0x0A), (0x80, "02.0", 0x84), (0x80, "03.0", 0x8A)):
        numa = len(gpus) // 4
        slots = tree.switch(tree.port(f"pci0000:{root:02x}", place_, numa), bus, [bus + 2, bus + 3])
        gpus += [
            place(P40, len(gpus) + offset, f"0000:{bus + 2 + offset:02x}:00.0", slots[offset], numa)
            for offset in (0, 1)
        ]
    nic = infiniband(3, 0, "0000:02:00.0", tree.port("pci0000:00", "01.0", 0), 0, "ib0", 56)
    return Machine(
        name="soc-era-p40",
        title="8 P40 on two sockets, printed by a driver of 2017: SOC between the sockets, one affinity column",
        shape_from="matrices of P40 and P100 servers of that time (SOC legend, NIC columns by device name)",
        product="PCIe GPU server",
        driver="375.66",
        generation="soc",
        packages=hosts.BROADWELL_14_2S,
        numa_nodes=hosts.own_nodes(hosts.BROADWELL_14_2S, 125, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(nic,),
        sockets_matter=True,
        kernel="4.4.0-116-generic",
    )
