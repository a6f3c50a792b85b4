"""Machines of cards on root ports: workstations, a virtual machine, a mixed tower."""

from __future__ import annotations

from tests.machines import hosts
from tests.machines.cards import A10, L40S, RTX_3060, RTX_3090, RTX_4090, RTX_A4000, T4, place
from tests.machines.machine import Function, Gpu, Machine, Nic, Nvme
from tests.machines.tree import AMD_GENOA, AMD_ROME, INTEL_SKX, QEMU_ROOT_PORT, Tree


def rtx_4090_x4() -> Machine:
    """Single-socket EPYC: two GPUs on one root complex (PHB), two on others (NODE)."""
    tree = Tree(4, AMD_ROME)
    gpus: list[Gpu] = []
    audio: list[Function] = []
    for root, place_, bus in ((0x00, "01.1", 0x01), (0x00, "03.1", 0x02), (0x40, "01.1", 0x41), (0x80, "01.1", 0x81)):
        port = tree.port(f"pci0000:{root:02x}", place_, 0)
        gpus.append(place(RTX_4090, len(gpus), f"0000:{bus:02x}:00.0", port, 0))
        audio.append(Function(f"0000:{bus:02x}:00.1", port, "0x040300", "0x10de", "0x22ba", 0, "snd_hda_intel"))
    nvme = Nvme("nvme0", "0000:82:00.0", tree.port("pci0000:80", "03.1", 0, width=4), 0)
    lan_port = tree.port("pci0000:c0", "03.3", 0, width=4)
    lan = Nic(None, "0000:c1:00.0", lan_port, 0, "eno1", 10, 3, "Ethernet", "0x8086", "0x1563", "ixgbe", 4)
    return Machine(
        name="4x4090",
        title="Workstation: four RTX 4090 on one EPYC, PHB and NODE, no NVLink, no peer-to-peer, plain Ethernet",
        shape_from="club-3090 issues 1125 and 1140 (letters between root ports and root complexes of one socket)",
        product="EPYC workstation",
        driver="550.163.01",
        generation="550",
        packages=hosts.amd(23, 49, "AMD EPYC 7302P 16-Core Processor", "0-31"),
        numa_nodes=hosts.nodes(125, 10, "0-31"),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(lan,),
        nvmes=(nvme,),
        others=tuple(audio),
    )


def l40s_vm_flat() -> Machine:
    """A q35 guest: every GPU on a root port of 0000:00, the firmware gives no NUMA node."""
    tree = Tree(4, QEMU_ROOT_PORT)
    gpus = [
        place(L40S, number, f"0000:{number + 1:02x}:00.0", tree.port("pci0000:00", f"02.{number}", None), None)
        for number in range(4)
    ]
    display = Function("0000:00:01.0", "pci0000:00", "0x030000", "0x1234", "0x1111", None, "bochs-drm")
    lan_port = tree.port("pci0000:00", "03.0", None)
    lan = Nic(None, "0000:05:00.0", lan_port, None, "enp5s0", 0, 0, "Ethernet", "0x1af4", "0x1041", "virtio-pci", 0)
    return Machine(
        name="l40s-vm-flat",
        title="Virtual machine: four L40S on one flat q35 root, every pair PHB, NUMA node -1",
        shape_from="nccl-tests issue 256 (flat q35: every pair PHB); node -1 prints N/A (measured on 550.163)",
        product="Standard PC (Q35 + ICH9, 2009)",
        driver="550.163.01",
        generation="550",
        packages=hosts.intel(207, "INTEL(R) XEON(R) PLATINUM 8568Y+", "0-31", threads=1),
        numa_nodes=hosts.nodes(251, 10, "0-31"),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        nics=(lan,),
        others=(display,),
        virtual=True,
    )


def mixed_5gpu() -> Machine:
    """Four GPUs on socket 0, the fifth alone on socket 1; four models."""
    tree = Tree(3, INTEL_SKX)
    gpus: list[Gpu] = []
    for model, root, place_, numa in (
        (RTX_3090, 0x17, "00.0", 0),
        (RTX_3090, 0x17, "02.0", 0),
        (RTX_A4000, 0x3A, "00.0", 0),
        (T4, 0x3A, "02.0", 0),
        (A10, 0xAE, "00.0", 1),
    ):
        port = tree.port(f"pci0000:{root:02x}", place_, numa)
        bus = root + 1 + int(place_[:2]) // 2
        gpus.append(place(model, len(gpus), f"0000:{bus:02x}:00.0", port, numa))
    return Machine(
        name="mixed-5gpu",
        title="5 cards of four models on root ports of two small sockets, four and one: PHB, NODE and SYS",
        shape_from="club-3090 issue 46 (five mixed cards over two small sockets)",
        product="Two-socket tower",
        driver="580.126.20",
        generation="550",
        packages=hosts.SKYLAKE_8_2S,
        numa_nodes=hosts.own_nodes(hosts.SKYLAKE_8_2S, 93, 21),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=tuple(gpus),
        sockets_matter=True,
    )


def single_gpu() -> Machine:
    """A desktop whose kernel has no NUMA: both NUMA columns N/A, no pair at all."""
    tree = Tree(4, AMD_GENOA)
    port = tree.port("pci0000:00", "01.1", None)
    return Machine(
        name="single-gpu",
        title="Desktop with one GPU and a kernel without NUMA: a matrix of one cell, N/A twice",
        shape_from="desktop matrices whose NUMA columns say N/A",
        product="Desktop",
        driver="550.163.01",
        generation="550",
        packages=hosts.amd(25, 97, "AMD Ryzen 7 7700X 8-Core Processor", "0-15"),
        numa_nodes=(),
        host_bridges=tuple(tree.host_bridges),
        bridges=tuple(tree.bridges),
        gpus=(place(RTX_3060, 0, "0000:01:00.0", port, None),),
        others=(Function("0000:01:00.1", port, "0x040300", "0x10de", "0x228e", None, "snd_hda_intel"),),
    )
