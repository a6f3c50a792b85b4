"""How NCCL reaches one device from another: types and GB/s of facts/nccl.md §2 and §9."""

from __future__ import annotations

import pytest

from gputopo.nccl import PathType, Settings, machine, paths, subset
from gputopo.nccl.cpus import cpu_of, default_p2p
from gputopo.nccl.machines import Machine
from tests.nccl.files import (
    AMD,
    ARM,
    GEN3,
    GEN4,
    GEN5,
    INTEL_ICX,
    busid,
    cpu,
    element,
    gpu,
    net,
    nic,
    nvswitch_node,
    pci,
    read,
    refused,
    switch,
    system,
    to_gpu,
    to_switch,
)

OFF = Settings(p2p_level=PathType.LOC)


def pair(node: Machine, a: int = 0, b: int = 1) -> tuple[str, float]:
    type, gbps = paths(node).pairs[a, b]
    return type.name, round(gbps, 1)


def to_nic(node: Machine, gpu: int = 0, net: int = 0) -> tuple[str, float]:
    type, gbps = paths(node).nics[gpu, net]
    return type.name, round(gbps, 1)


@pytest.mark.parametrize(
    ("speed", "gbps"),
    [
        ("2.5 GT/s PCIe", 3.0), ("5.0 GT/s PCIe", 6.0), ("8.0 GT/s PCIe", 12.0), ("16.0 GT/s PCIe", 24.0),
        ("32.0 GT/s PCIe", 48.0), ("64.0 GT/s PCIe", 96.0), ("32 GT/s PCIe/s", 48.0),
        ("", 12.0), ("64 GT/s", 12.0), ("16.0 GT/s", 12.0), ("5.0 GT/s", 12.0),
    ],
)  # fmt: skip
def test_pcie_speeds_are_known_by_prefix_and_the_rest_is_gen3(speed: str, gbps: float) -> None:
    gpus = [gpu(dev, 80, speed=speed) for dev in (0, 1)]
    assert pair(read(system(cpu(0, AMD, switch(0, *gpus, speed=GEN5))))) == ("PIX", min(gbps, 96.0))


def test_width_zero_is_sixteen_lanes_and_one_lane_is_slow() -> None:
    inside = '<gpu dev="%d" sm="80" rank="%d" gdr="1"/>'
    both = [pci(busid(dev), "0x030200", "16.0 GT/s PCIe", inside % (dev, dev), width=0) for dev in (0, 1)]
    assert pair(read(system(cpu(0, AMD, switch(0, *both))))) == ("PIX", 24.0)
    slow = pci("0000:80:00.0", "0x060400", "2.5 GT/s", gpu(0, 80), width=1)  # as QEMU's switch
    assert pair(read(system(cpu(0, AMD, slow, gpu(1, 80))))) == ("PHB", 0.2)


@pytest.mark.parametrize(
    ("sm", "links", "gbps"),
    [(60, 4, 72.0), (70, 6, 120.0), (80, 12, 240.0), (86, 4, 48.0), (90, 18, 370.8), (100, 18, 721.8)],
)  # fmt: skip
def test_nvlink_by_architecture(sm: int, links: int, gbps: float) -> None:
    assert pair(read(nvswitch_node(sm, links, 2))) == ("NVL", gbps)


@pytest.mark.parametrize(
    ("version", "gbps"), [((2, 10, 3), 264.0), ((2, 18, 3), 240.0), ((2, 30, 7), 240.0)], ids=["2.10", "2.18", "2.30"]
)
def test_nvlink_of_an_a100_by_version_and_the_assumption_that_goes_with_it(
    version: tuple[int, int, int], gbps: float
) -> None:
    node = read(nvswitch_node(80, 12, 2), Settings(version))
    assert pair(node) == ("NVL", gbps)
    assert any("2.30.7" in text for text in node.assumptions) == (version != (2, 30, 7))


@pytest.mark.parametrize(
    ("says", "gbps"),
    [
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79"', 6.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85"', 10.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"', 22.0),
        ('arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="207"', 40.0),
        ('arch="x86_64" vendor="AuthenticAMD" familyid="25" modelid="1"', 16.0),
        ('arch="arm64"', 6.0),
        ('arch="ppc64"', 32.0),
    ],
    ids=["Broadwell", "Skylake", "Sapphire Rapids", "Emerald Rapids", "AMD", "ARM", "POWER"],
)
def test_between_numa_nodes_by_cpu(says: str, gbps: float) -> None:
    node = read(system(cpu(0, says, gpu(0, 90, speed=GEN5)), cpu(1, says, gpu(1, 90, speed=GEN5))))
    assert pair(node) == ("SYS", gbps)


def test_p2p_off_goes_through_the_cpu_of_the_other_gpu() -> None:
    one_switch = system(cpu(0, AMD, switch(0, gpu(0, 80), gpu(1, 80))))
    assert pair(read(one_switch)) == ("PIX", 24.0)
    assert pair(read(one_switch, OFF)) == ("PHB", 24.0)
    nvlinked = read(nvswitch_node(90, 18, 2), OFF)
    assert pair(nvlinked) == ("SYS", 10.0)


@pytest.mark.parametrize(
    ("says", "gpus", "version", "level"),
    [
        (AMD, 2, (2, 30, 7), "SYS"), (AMD, 3, (2, 30, 7), "PXB"), (AMD, 8, (2, 22, 3), "SYS"),
        (INTEL_ICX, 2, (2, 30, 7), "PXB"), (INTEL_ICX, 2, (2, 8, 3), "PHB"), (INTEL_ICX, 2, (2, 6, 4), "SYS"),
        (ARM, 2, (2, 6, 4), "PXB"),
    ],
)  # fmt: skip
def test_how_far_p2p_goes_by_itself(says: str, gpus: int, version: tuple[int, int, int], level: str) -> None:
    vendor = "GenuineIntel" if "Intel" in says else "AuthenticAMD"
    arch = "arm64" if says is ARM else "x86_64"
    assert default_p2p(cpu_of(arch, vendor, 6, 106), gpus, version).name == level


def test_two_nvlinks_through_a_gpu_are_nvb_and_three_are_not() -> None:
    row = [
        gpu(0, 70, to_gpu(1, 2), speed=GEN3),
        gpu(1, 70, to_gpu(0, 2), to_gpu(2, 1), speed=GEN3),
        gpu(2, 70, to_gpu(1, 1), to_gpu(3, 1), speed=GEN3),
        gpu(3, 70, to_gpu(2, 1), speed=GEN3),
    ]
    node = read(system(cpu(0, INTEL_ICX, *row)))
    assert [pair(node, 0, other) for other in (1, 2, 3)] == [("NVL", 40.0), ("NVB", 20.0), ("PHB", 12.0)]
    without = read(system(cpu(0, INTEL_ICX, *row)), Settings(nvb=False))
    assert pair(without, 0, 2) == ("PHB", 12.0)
    alone = subset(node, [busid(0), busid(2)])
    assert isinstance(alone, Machine)
    assert pair(alone) == ("PHB", 12.0)  # the GPU in the middle is not in the communicator


def test_an_nvlink_to_itself_is_no_link() -> None:
    both = (cpu(0, AMD, gpu(0, 80, to_gpu(0, 12), speed="")), cpu(1, AMD, gpu(1, 80, to_gpu(1, 12), speed="")))
    assert pair(read(system(*both))) == ("SYS", 12.0)


def test_broadcoms_switch_of_two_levels_is_one_and_keeps_its_slow_uplink() -> None:
    upper = 'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x0072"'
    lower = 'vendor="0x1000" device="0xc030" subsystem_vendor="0x1000" subsystem_device="0x1003"'

    def text(upper: str) -> str:
        below = (
            pci("0000:82:00.0", "0x060400", GEN5, gpu(0, 90, speed=GEN5), says=lower),
            pci("0000:83:00.0", "0x060400", GEN5, gpu(1, 90, speed=GEN5), says=lower),
            pci("0000:84:00.0", "0x060400", GEN5, nic(0, net(0, 180_000), speed=GEN5), says=lower),
        )
        return system(cpu(0, INTEL_ICX, pci("0000:81:00.0", "0x060400", "5.0 GT/s PCIe", *below, says=upper)))

    merged, apart = read(text(upper)), read(text('vendor="0x10b5"'))
    assert (pair(merged), to_nic(merged)) == (("PIX", 48.0), ("PIX", 22.5))
    assert (pair(apart), to_nic(apart)) == (("PXB", 48.0), ("PXB", 22.5))
    assert pair(read(text(upper), OFF)) == ("PHB", 6.0)


def test_a_nic_without_gpudirect_is_reached_through_the_cpu() -> None:
    def text(gdr: int) -> str:
        return system(cpu(0, INTEL_ICX, switch(0, gpu(0, 80), nic(0, net(0, 100_000, gdr)))))

    assert to_nic(read(text(1))) == ("PIX", 12.5)
    assert to_nic(read(text(0))) == ("PHB", 12.5)


def test_a_far_nic_is_reached_through_the_gpu_beside_it() -> None:
    halves = [
        cpu(n, INTEL_ICX, switch(n, gpu(n, 90, to_switch(18)), nic(n, net(n, 200_000)))) for n in (0, 1)
    ]  # fmt: skip
    assert to_nic(read(system(*halves)), 0, 1) == ("PXN", 24.0)
    assert to_nic(read(system(*halves), Settings(pxn=False)), 0, 1) == ("SYS", 10.0)
    assert to_nic(read(system(*halves), Settings((2, 10, 3))), 0, 1) == ("SYS", 9.0)  # PXN came with 2.12


def test_c2c_to_the_cpu_and_pcie_to_the_nic() -> None:
    inside = gpu(0, 90, '<c2c bw="45000" count="10"/>', speed="2.5 GT/s")
    node = read(system(cpu(0, ARM, inside, nic(0, net(0, 400_000), speed=GEN5))))
    assert to_nic(node) == ("P2C", 48.0)


def test_a_virtual_nic_below_every_cpu_joins_no_sockets() -> None:
    eth0 = "<nic><net name='eth0' dev='0' speed='10000' gdr='0'/></nic>"
    node = read(system(cpu(0, INTEL_ICX, gpu(0, 80), eth0), cpu(1, INTEL_ICX, gpu(1, 80), eth0)))
    assert pair(node) == ("SYS", 10.0)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ('<system version="2"><cpu numaid="0"/></system>', 5, "wrong version 2, 1 needed"),
        (system('<cpu numaid="0"><pci busid="0000:16:00.0"/></cpu>'), 4, "neither GPU nor NIC"),
        (
            system(cpu(0, AMD, pci("0000:01:00.0", "0x02", GEN4, f"<nic>{net(0, 1)}</nic>", gpu(0, 90, to_switch(8))))),
            3,
            "could not find DEV for GPU 0000:10:00.0",
        ),
        (system(cpu(0, 'arch="x86_64"', gpu(0, 90))), 3, "Attribute vendor of node cpu not found"),
        (system(cpu(0, AMD, gpu(0, 90, to_gpu(1, 4)), gpu(1, 90))), 3, "one direction only"),
        (system(cpu(0, AMD, *(switch(0, gpu(n, 90)) for n in range(90)))), 3, "limited to 256 nodes"),
    ],
    ids=["RCCL", "no class", "GPU below a NIC", "no vendor", "one-sided NVLink", "too long"],
)  # fmt: skip
def test_files_nccl_refuses_with_the_reason(text: str, code: int, reason: str) -> None:
    found = refused(text)
    assert found.code == code
    assert reason in found.reason


def test_a_skeleton_has_gpus_by_class_and_says_what_was_supposed() -> None:
    leaf = '<pci busid="0000:%d:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>'
    node = machine(element(system(cpu(0, AMD, leaf % 10, leaf % 20))), sm=90)
    assert isinstance(node, Machine)
    assert [(one.dev, one.busid, one.sm) for one in node.gpus] == [(0, "0000:10:00.0", 90), (1, "0000:20:00.0", 90)]
    assert pair(node) == ("PHB", 24.0)
    assert any("without NVLink" in text for text in node.assumptions)
