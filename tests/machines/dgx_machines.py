"""DGX A100 (also with four NUMA nodes a socket), DGX-2, DGX-1 and a GB200 tray."""

from __future__ import annotations

from tests.machines import hosts
from tests.machines.cards import A100_SXM, GB200, V100_SXM2, V100_SXM3, ethernet, infiniband, place
from tests.machines.machine import Function, Gpu, Machine, Nic, NumaNode, Nvme, NvSwitch
from tests.machines.tree import (
    AMD_ROME,
    INTEL_BDW,
    INTEL_SKX,
    MICROCHIP_GEN4,
    NVIDIA_GRACE,
    PLX_8747,
    PLX_9797,
    Tree,
)

# The hybrid cube mesh: two rings of NV2 and NV1, six links a GPU.
CUBE_MESH = {
    (0, 1): 1, (0, 2): 1, (0, 3): 2, (0, 4): 2, (1, 2): 2, (1, 3): 1, (1, 5): 2, (2, 3): 2,
    (2, 6): 1, (3, 7): 1, (4, 5): 1, (4, 6): 1, (4, 7): 2, (5, 6): 2, (5, 7): 1, (6, 7): 2,
}  # fmt: skip


def dgx_a100() -> Machine:
    return _dgx_a100(hosts.own_nodes(hosts.ROME_64_2S, 1007, 32), (0, 0, 1, 1), second_package=1)


def dgx_a100_nps4() -> Machine:
    cpus = [f"{first}-{first + 15},{first + 128}-{first + 143}" for first in range(0, 128, 16)]
    nodes = hosts.nodes(251, 32, *cpus, per_package=4)
    return _dgx_a100(nodes, (3, 1, 7, 5), second_package=4)._replace(
        name="dgx-a100-nps4",
        title="DGX A100 with four NUMA nodes a socket (NPS4): SYS between GPUs of one socket",
    )


def _dgx_a100(nodes: tuple[NumaNode, ...], groups: tuple[int, ...], second_package: int) -> Machine:
    """`groups`: the NUMA node of each pair of GPUs; `second_package`: that socket's first node."""
    tree = Tree(4, AMD_ROME, MICROCHIP_GEN4)
    gpus: list[Gpu] = []
    data: list[Nic] = []
    links = tuple((switch, 2) for switch in range(6))
    for root, numa in zip((0x20, 0x40, 0xA0, 0xC0), groups):
        sides = (root + 3, root + 9)
        top = tree.switch(tree.port(f"pci0000:{root:02x}", "01.1", numa), root + 1, sides)
        for slot, bus in zip(top, sides):
            # The GPU is one switch lower than its NIC, so the two are PXB.
            nic_slot, lower = tree.switch(slot, bus, [bus + 5, bus + 2])
            (gpu_slot,) = tree.switch(lower, bus + 2, [bus + 4])
            number = len(gpus)
            gpus.append(place(A100_SXM, number, f"0000:{bus + 4:02x}:00.0", gpu_slot, numa, fabric=links))
            device = number if number < 4 else number + 2
            data.append(infiniband(6, device, f"0000:{bus + 5:02x}:00.0", nic_slot, numa, f"ib{number}", 200))
    port = tree.port("pci0000:60", "03.1", 0)
    storage = [ethernet(6, 4 + port_, f"0000:61:00.{port_}", port, 0, f"enp97s0f{port_}", 200) for port_ in (0, 1)]
    buses = range(0xE3, 0xE9)
    slots = tree.switch(tree.port("pci0000:e0", "01.1", second_package), 0xE1, buses)
    switches = [NvSwitch(f"0000:{bus:02x}:00.0", slot, "0x1af1", second_package) for bus, slot in zip(buses, slots)]
    nvme = Nvme("nvme0", "0000:01:00.0", tree.port("pci0000:00", "03.1", 0, width=4), 0)
    return Machine(
        name="dgx-a100",
        title="DGX A100: 8 GPUs on 6 NVSwitches, 8 data NICs and a two-port storage NIC, one NUMA node a socket",
        shape_from="nccl issue 1505: topology XML and matrix (each GPU one switch lower than its NIC: PXB)",
        product="DGXA100 920-23687-2530-000",
        driver="535.261.03",
        generation="550",
        packages=hosts.ROME_64_2S,
        numa_nodes=nodes,
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(*data[:4], *storage, *data[4:]),
        nvmes=(nvme,),
        nvswitches=tuple(switches),
        sockets_matter=True,
    )


def dgx2() -> Machine:
    """Two baseboards of 8 V100: a tree of two switch levels on each of four root complexes."""
    tree = Tree(3, INTEL_SKX, PLX_9797)
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for root in (0x34, 0x53, 0xAE, 0xD7):
        numa = len(gpus) // 8
        sides = (root + 3, root + 9)
        top = tree.switch(tree.port(f"pci0000:{root:02x}", "00.0", numa), root + 1, sides)
        for slot, bus in zip(top, sides):
            slots = tree.switch(slot, bus, [bus + 2, bus + 3, bus + 4])
            for offset in (0, 1):
                links = tuple((6 * numa + switch, 1) for switch in range(6))
                address = f"0000:{bus + 2 + offset:02x}:00.0"
                gpus.append(place(V100_SXM3, len(gpus), address, slots[offset], numa, fabric=links))
            number = len(nics)
            nics.append(infiniband(5, number, f"0000:{bus + 4:02x}:00.0", slots[2], numa, f"ib{number}", 100))
    switches = []
    for root, numa in ((0x17, 0), (0x85, 1)):
        buses = range(root + 3, root + 9)
        slots = tree.switch(tree.port(f"pci0000:{root:02x}", "00.0", numa), root + 1, buses)
        switches += [NvSwitch(f"0000:{bus:02x}:00.0", slot, "0x1ac2", numa) for bus, slot in zip(buses, slots)]
    return Machine(
        name="dgx2",
        title="DGX-2: 16 V100 with six NVLinks each into NVSwitches; PIX, PXB, NODE and SYS in blocks",
        shape_from="hwloc's nvidiaDGX2.xml (the tree), nccl-tests issue 78 (the pattern a DGX-2 prints)",
        product="NVIDIA DGX-2",
        driver="470.256.02",
        generation="470",
        packages=hosts.SKYLAKE_24_2S,
        numa_nodes=hosts.own_nodes(hosts.SKYLAKE_24_2S, 755, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        nvswitches=tuple(switches),
        sockets_matter=True,
        kernel="5.4.0-192-generic",
    )


def dgx1_v100() -> Machine:
    """Four PLX switches of two GPUs and a NIC; both switches of a socket on one root complex."""
    tree = Tree(3, INTEL_BDW, PLX_8747)
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for root, place_, bus in ((0x00, "02.0", 0x04), (0x00, "03.0", 0x09), (0x80, "02.0", 0x84), (0x80, "03.0", 0x89)):
        numa = len(gpus) // 4
        slots = tree.switch(tree.port(f"pci0000:{root:02x}", place_, numa), bus, [bus + 2, bus + 3, bus + 4])
        for offset in (0, 1):
            number = len(gpus)
            address = f"0000:{bus + 2 + offset:02x}:00.0"
            gpus.append(place(V100_SXM2, number, address, slots[offset], numa, peers=peers_in(CUBE_MESH, number)))
        number = len(nics)
        nics.append(infiniband(4, number, f"0000:{bus + 4:02x}:00.0", slots[2], numa, f"ib{number}", 100))
    return Machine(
        name="dgx1-v100",
        title="DGX-1: 8 V100 in a hybrid cube mesh of NV1 and NV2, four NICs in the order mlx5_0, 2, 1, 3",
        shape_from="DGX-1's cube mesh and the column order its matrices print (msccl's test inputs)",
        product="NVIDIA DGX-1 with V100",
        driver="470.256.02",
        generation="470",
        packages=hosts.BROADWELL_20_2S,
        numa_nodes=hosts.own_nodes(hosts.BROADWELL_20_2S, 251, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(nics[0], nics[2], nics[1], nics[3]),
        sockets_matter=True,
        kernel="5.4.0-192-generic",
    )


def peers_in(mesh: dict[tuple[int, int], int], gpu: int) -> tuple[tuple[int, int], ...]:
    """The other ends of `gpu`, in ascending order, with the number of links."""
    ends = {b if a == gpu else a: count for (a, b), count in mesh.items() if gpu in (a, b)}
    return tuple(sorted(ends.items()))


def gb200_tray() -> Machine:
    """Every device in a PCI domain of its own; GPU memory is NUMA nodes 2, 10, 18, 26."""
    tree = Tree(5, NVIDIA_GRACE)
    gpus = []
    near_nodes = ("0,3-9,11-17", "1,19-25,27-33")
    for number, domain in enumerate(("0008", "0009", "0018", "0019")):
        numa = number // 2
        port = tree.port(f"pci{domain}:00", "00.0", numa)
        gpu = place(GB200, number, f"{domain}:01:00.0", port, numa, fabric=((None, 18),))
        gpus.append(gpu._replace(memory_node=2 + 8 * number, near_nodes=near_nodes[numa]))
    nics = []
    for number, domain in enumerate(("0000", "0002", "0010", "0012")):
        port = tree.port(f"pci{domain}:00", "00.0", number // 2)
        nics.append(infiniband(7, number, f"{domain}:03:00.0", port, number // 2, f"ib{number}", 400))
    port = tree.port("pci0006:00", "00.0", 0)
    for function in (0, 1):
        nic = ethernet(7, 4 + function, f"0006:03:00.{function}", port, 0, f"enP6p3s0f{function}np{function}", 200)
        nics.append(nic._replace(device_id="0xa2dc"))  # BlueField-3
    return Machine(
        name="gb200-tray",
        title="GB200 compute tray: 4 GPUs, two Grace; list-valued NUMA affinity, GPU memory as NUMA nodes",
        shape_from="a tray's matrix (nodes 2, 10, 18, 26; affinity 0,3-9,11-17; SYS also within a node)",
        product="GB200 NVL",
        driver="580.82.07",
        generation="550",
        packages=hosts.GRACE_2S,
        numa_nodes=hosts.grace_nodes(478, 185),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        others=(Function("0006:03:00.2", port, "0x080100", "0x15b3", "0xc2d5", 0),),
        fabric_state=3,
        sockets_matter=True,
        kernel="6.8.0-1028-nvidia-64k",
    )
