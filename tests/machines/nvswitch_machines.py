"""HGX and DGX machines whose GPUs meet in NVSwitches: H100, H200, B200."""

from __future__ import annotations

from tests.machines import hosts
from tests.machines.cards import B200, H100, H200, ethernet, infiniband, place
from tests.machines.machine import Gpu, Machine, Nic, Nvme, NvSwitch
from tests.machines.tree import INTEL_SPR, MICROCHIP_GEN5, Tree


def hgx_h100() -> Machine:
    """A switch for each GPU and its NIC, each on a root complex of its own; 4 NVSwitches."""
    tree = Tree(5, INTEL_SPR, MICROCHIP_GEN5)
    gpus, nics = [], []
    buses = {0x09: 0x0F, 0x27: 0x2D, 0x3E: 0x44, 0x55: 0x5B, 0x83: 0x89, 0xA2: 0xA8, 0xBA: 0xC0, 0xD2: 0xD8}
    for number, (root, bus) in enumerate(buses.items()):
        numa = number // 4
        port = tree.port(f"pci0000:{root:02x}", "01.0", numa)
        nic_slot, gpu_slot = tree.switch(port, root + 2, [root + 4, bus])
        links = ((0, 4), (1, 5), (2, 5), (3, 4)) if number % 2 else ((0, 5), (1, 4), (2, 4), (3, 5))
        gpus.append(place(H100, number, f"0000:{bus:02x}:00.0", gpu_slot, numa, fabric=links))
        address, netdev = f"0000:{root + 4:02x}:00.0", f"ibp{root + 4}s0"
        nics.append(infiniband(7, number, address, nic_slot, numa, netdev, 400))
    for number, root, numa in ((8, 0x70, 0), (9, 0xE8, 1)):
        port = tree.port(f"pci0000:{root:02x}", "01.0", numa)
        nics.append(ethernet(6, number, f"0000:{root + 1:02x}:00.0", port, numa, f"ens{number}np0", 100))
    slots = tree.switch(tree.port("pci0000:78", "01.0", 0), 0x79, [0x7B, 0x7C, 0x7D, 0x7E])
    switches = [NvSwitch(f"0000:{0x7B + i:02x}:00.0", slot, "0x22a3", 0) for i, slot in enumerate(slots)]
    nvme = Nvme("nvme0", "0000:f1:00.0", tree.port("pci0000:f0", "03.0", 1, width=4), 1)
    return Machine(
        name="hgx-h100",
        title="HGX H100: 8 GPUs on 4 NVSwitches, two sockets, a PCIe switch for each GPU and its 400G NIC",
        shape_from="4 or 5 links into each of four NVSwitches (SimAI issue 128), CPU numbering of a DGX H100",
        product="HGX H100 8-GPU",
        driver="570.124.06",
        generation="550",
        packages=hosts.SAPPHIRE_RAPIDS_2S,
        numa_nodes=hosts.own_nodes(hosts.SAPPHIRE_RAPIDS_2S, 1007, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        nvmes=(nvme,),
        nvswitches=tuple(switches),
        fabric_state=3,
        sockets_matter=True,
    )


def hgx_h200_container() -> Machine:
    """The container may use 16 CPUs of socket 0: `topo -m` has no CPUs left for GPUs 4 to 7."""
    tree = Tree(5, INTEL_SPR, MICROCHIP_GEN5)
    gpus, nics = [], []
    for number, root in enumerate((0x15, 0x37, 0x48, 0x59, 0x97, 0xB7, 0xC7, 0xD7)):
        numa = number // 4
        port = tree.port(f"pci0000:{root:02x}", "01.0", numa)
        gpu_slot, nic_slot = tree.switch(port, root + 1, [root + 3, root + 4])
        address = f"0000:{root + 3:02x}:00.0"
        gpus.append(place(H200, number, address, gpu_slot, numa, fabric=((None, 18),)))
        nics.append(ethernet(7, number, f"0000:{root + 4:02x}:00.0", nic_slot, numa, "", 400))
    return Machine(
        name="hgx-h200-container",
        title="HGX H200 seen from a container that may use CPUs 0-15: empty CPU cells beside known NUMA nodes",
        shape_from="nvidia-smi 535 and later honour the cgroup's cpuset (empty cell measured on 550.163)",
        product="HGX H200 8-GPU",
        driver="550.163.01",
        generation="550",
        packages=hosts.EMERALD_RAPIDS_48_2S,
        numa_nodes=hosts.own_nodes(hosts.EMERALD_RAPIDS_48_2S, 1007, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        cpuset="0-15",
        fabric_state=3,
        sockets_matter=True,
    )


def hgx_b200() -> Machine:
    """Two GPUs and two NICs on each switch; the NVSwitches are no PCI functions the host sees."""
    tree = Tree(5, INTEL_SPR, MICROCHIP_GEN5)
    gpus: list[Gpu] = []
    nics: list[Nic] = []
    for root in (0x16, 0x4A, 0x96, 0xC6):
        numa = len(gpus) // 4
        buses = [root + 3, root + 4, root + 5, root + 6]
        slots = tree.switch(tree.port(f"pci0000:{root:02x}", "01.0", numa), root + 1, buses)
        addresses = [f"0000:{bus:02x}:00.0" for bus in buses]
        for gpu, nic in ((0, 2), (1, 3)):
            number = len(gpus)
            gpus.append(place(B200, number, addresses[gpu], slots[gpu], numa, fabric=((None, 18),)))
            nics.append(ethernet(8, number, addresses[nic], slots[nic], numa, f"eth{number + 1}", 400))
    return Machine(
        name="hgx-b200",
        title="HGX B200: 8 GPUs in one fabric, two GPUs and two NICs under each PCIe switch",
        shape_from="letters and CPU numbering of a GKE A4 node (dranet's gke-rdma guide), 18 links a GPU",
        product="HGX B200 8-GPU",
        driver="580.82.07",
        generation="550",
        packages=hosts.EMERALD_RAPIDS_56_2S,
        numa_nodes=hosts.own_nodes(hosts.EMERALD_RAPIDS_56_2S, 1511, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=tuple(nics),
        fabric_state=3,
        sockets_matter=True,
    )
