"""lstopo's XML of versions 1.x, 2.x and 3.0."""

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gputopo.parsers.hwloc_xml import parse, sniff
from gputopo.parsers.hwloc_xml.pci import candidates
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Key, Pcie
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parents[3] / "shared"))
SYSFS = SHARED / "data/sysfs"
FILES = sorted([*SYSFS.glob("*/*.lstopo.xml"), *SYSFS.glob("hwloc-xml/*.xml")])
MISSING = f"no lstopo answers at {SYSFS}; set GPUTOPO_SHARED"


def topology(inside, version="2.0", machine='complete_cpuset="0xff"', after=""):
    return f'<topology version="{version}">\n<object type="Machine" {machine}>\n{inside}\n</object>{after}</topology>'


def numa(number, cpus, more=""):
    return f'<object type="NUMANode" os_index="{number}" complete_cpuset="{cpus}" {more}/>'


def package(number, cpus, inside):
    return f'<object type="Package" os_index="{number}" complete_cpuset="{cpus}">{inside}</object>'


def host_bridge(inside, buses="0000:[17-1e]"):
    return f'<object type="Bridge" bridge_type="0-1" bridge_pci="{buses}">{inside}</object>'


def pci(address, kind, inside="", more=""):
    return f'<object type="PCIDev" pci_busid="{address}" pci_type="{kind}" {more}>{inside}</object>'


def osdev(name, kind, infos="", more=""):
    return f'<object type="OSDev" name="{name}" osdev_type="{kind}" {more}>{infos}</object>'


def info(name, value):
    return f'<info name="{name}" value="{value}"/>'


TWO_SOCKETS = package(0, "0x0f", numa(0, "0x0f", 'local_memory="100"') + "{}") + package(8, "0xf0", numa(1, "0xf0"))


def node_of(*args, **more):
    [node] = parse(topology(*args, **more))
    return node


def test_packages_keep_their_numbers_and_nodes_their_memory():
    node = node_of(TWO_SOCKETS.format(info("CPUVendor", "GenuineIntel") + info("CPUModelNumber", "143")))
    assert [(p.number, str(p.cpus), p.numa_nodes, p.vendor, p.model) for p in node.packages] == [
        (0, "0-3", (0,), "GenuineIntel", 143),
        (8, "4-7", (1,), None, None),
    ]
    assert [(n.number, n.kind, n.packages, n.memory_bytes) for n in node.numa_nodes] == [
        (0, "cpu", (0,), 100),
        (1, "cpu", (8,), None),
    ]


def test_a_cgroup_does_not_hide_cpus():
    machine = 'cpuset="0x3" complete_cpuset="0xff" allowed_cpuset="0x3"'
    inside = '<object type="Package" os_index="0" cpuset="0x3" complete_cpuset="0xff"/>'
    node = node_of(inside, machine=machine)
    assert str(node.packages[0].cpus) == "0-7"
    assert str(node.system.allowed_cpus) == "0-1"


def test_zero_words_of_a_bitmap_may_be_empty():
    node = node_of(numa(0, "0x000000ff,0xff000000,,0x0000ffff"), machine='complete_cpuset="0xff,0xff000000,,0xffff"')
    assert str(node.numa_nodes[0].cpus) == "0-15,88-103"


@pytest.mark.parametrize(("subtype", "kind"), [("GPUMemory", "gpu-memory"), ("NVM", "memory"), ("CXL-DRAM", "memory")])
def test_a_node_of_memory_alone_has_no_cpus_though_lstopo_writes_those_near_it(subtype, kind):
    node = node_of(package(0, "0xff", numa(0, "0xff") + numa(2, "0xff", f'subtype="{subtype}"')))
    assert [(n.kind, str(n.cpus), n.packages) for n in node.numa_nodes] == [("cpu", "0-7", (0,)), (kind, "", ())]
    assert node.packages[0].numa_nodes == (0,)


def test_of_two_nodes_with_the_same_cpus_the_first_has_them_which_is_an_assumption():
    node = node_of(package(0, "0xff", numa(3, "0xff") + numa(1, "0xff")))
    assert [(n.number, n.kind, str(n.cpus)) for n in node.numa_nodes] == [(1, "cpu", "0-7"), (3, "memory", "")]
    assert node.packages[0].numa_nodes == (1,)
    [assumed] = node.assumptions
    assert assumed.subjects == ("NUMA3",)
    assert "Linux numbers nodes with CPUs first" in assumed.text
    assert node_of(TWO_SOCKETS.format("")).assumptions == ()


def test_a_node_near_several_others_has_no_cpus():
    node = node_of(package(0, "0xff", numa(0, "0x0f") + numa(1, "0xf0") + numa(2, "0xff")))
    assert [str(n.cpus) for n in node.numa_nodes] == ["0-3", "4-7", ""]


def test_nodes_whose_cpus_overlap_in_part_are_not_told_apart():
    node = node_of(package(0, "0xff", numa(0, "0x0f") + numa(1, "0xff") + numa(2, "0xf0000")))
    assert [(isinstance(n.cpus, Unknown), n.kind) for n in node.numa_nodes] == [
        (True, None), (True, None), (False, "cpu"),
    ]  # fmt: skip
    assert isinstance(node.packages[0].numa_nodes, Unknown)
    assert node.assumptions == ()


def test_distances_of_version_2():
    matrix = (
        '<distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">'
        '<indexes length="4">0 1 </indexes><u64values length="6">10 21 </u64values><u64values>21 10</u64values>'
        "</distances2>"
    )
    node = node_of(TWO_SOCKETS.format(""), after=matrix)
    assert [n.distances for n in node.numa_nodes] == [{0: 10, 1: 21}, {0: 21, 1: 10}]
    cut = node_of(TWO_SOCKETS.format(""), after=matrix.replace("<u64values>21 10</u64values>", ""))
    assert [n.distances for n in cut.numa_nodes] == [None, None]


def test_version_1():
    text = (
        '<topology>\n<object type="Machine" cpuset="0x000000ff" complete_cpuset="0x000000ff">'
        '<distances nbobjs="2" relative_depth="1" latency_base="10.000000"><latency value="1.000000"/>'
        '<latency value="2.100000"/><latency value="2.100000"/><latency value="1.000000"/></distances>'
        '<object type="NUMANode" os_index="0" cpuset="0x0000000f" local_memory="64"><object type="Socket" os_index="0"'
        ' cpuset="0x0000000f"/>'
        + host_bridge(pci("0000:1b:00.0", "0302 [10de:06d8] [10de:06d8] a3", osdev("mlx4_0", 3)))
        + '</object><object type="NUMANode" os_index="1" cpuset="0x000000f0"><object type="Socket" os_index="1"'
        ' cpuset="0x000000f0"/></object></object></topology>'
    )
    [node] = parse(text)
    assert [(p.number, str(p.cpus), p.numa_nodes) for p in node.packages] == [(0, "0-3", (0,)), (1, "4-7", (1,))]
    assert node.numa_nodes[0].distances == {0: 10, 1: 21}
    assert (node.gpus[0].numa_nodes, node.gpus[0].chain) == ((0,), ("pci0000:17",))


def test_a_gpu_with_what_nvml_said():
    infos = info("GPUModel", "Tesla V100-SXM3-32GB") + info("NVIDIAUUID", "GPU-00000000-0000-4000-8000-00000000000a")
    inside = (
        '<object type="Bridge" bridge_type="1-1" pci_busid="0000:17:00.0" pci_type="0604 [8086:2030] [8086:0000] 04"'
        ' pci_link_speed="0.984615">'
        + pci(
            "0000:1b:00.0",
            "0302 [10de:1db8] [10de:131d] a1",
            osdev("nvml3", 1, infos),
            'pci_link_speed="15.753846"',
        )
        + "</object>"
    )
    node = node_of(TWO_SOCKETS.format(host_bridge(inside)))
    [v100] = node.gpus
    assert (v100.nvml_index, v100.name, v100.vendor) == (3, "Tesla V100-SXM3-32GB", "nvidia")
    assert {key.space for key in v100.keys} == {"pci", "index", "uuid", "name"}
    assert Key("name", "nvml3") in v100.keys
    assert (v100.numa_nodes, str(v100.cpus), v100.cpus_complete) == ((0,), "0-3", True)
    assert v100.chain == ("pci0000:17", "0000:17:00.0")
    assert isinstance(v100.pcie, Unknown)
    assert [(b.label, b.parent, b.kind, b.vendor) for b in node.bridges] == [
        ("pci0000:17", None, "hostBridge", None),
        ("0000:17:00.0", "pci0000:17", "bridge", "0x8086"),
    ]
    assert node.bridges[1].pcie == Pcie(3, 1)
    assert node.gpus_complete
    assert (node.nics, node.nvme, node.nvswitches) == ((), (), ())


@pytest.mark.parametrize(
    ("kind", "is_gpu"),
    [
        ("0300 [10de:2684] [1458:40bf] a1", True),
        ("0302 [10de:2330] [10de:16c1] a1", True),
        ("0380 [1002:740f] [1002:0c34] 02", True),
        ("1200 [1da3:1020] [1da3:1020] 01", True),
        ("0b40 [1bcf:001c] [1bcf:0000] 01", True),
        ("0300 [0000:0000] [0000:0000] ff", True),
        ("0300 [1a03:2000] [1028:0518] 21", False),
        ("0300 [1af4:1050] [0000:0000] ff", False),
        ("0680 [10de:22a3] [10de:1796] a1", False),
        ("0600 [8086:2020] [8086:0000] 04", False),
    ],
)
def test_accelerators_of_any_vendor_without_displays_of_bmcs(kind, is_gpu):
    node = node_of(TWO_SOCKETS.format(host_bridge(pci("0000:1b:00.0", kind))))
    assert bool(node.gpus) == is_gpu
    assert [switch.label for switch in node.nvswitches] == (["0000:1b:00.0"] if kind.startswith("0680") else [])


@pytest.mark.parametrize(("version", "network", "rdma"), [("2.0", 2, 3), ("3.0", 16, 32), ("3.0", 16, 48)])
def test_a_nic_with_the_names_of_both_worlds(version, network, rdma):
    names = osdev("ib0", network) + osdev("mlx5_0", rdma, info("Port1State", "4"))
    inside = host_bridge(pci("0000:1a:00.0", "0207 [15b3:1013] [15b3:0013] 00", names))
    [nic] = node_of(TWO_SOCKETS.format(inside), version=version).nics
    assert (nic.label, nic.device, nic.netdevs, nic.state, nic.vendor) == ("mlx5_0", "mlx5_0", ("ib0",), "up", "0x15b3")
    assert nic.keys == (Key("pci", "0000:1a:00.0"), Key("name", "ib0"), Key("name", "mlx5_0"))


def test_a_gpu_osdev_of_version_3_is_no_nic():
    inside = host_bridge(pci("0000:1b:00.0", "0302 [10de:1db8] [10de:131d] a1", osdev("nvml0", 12)))
    node = node_of(TWO_SOCKETS.format(inside), version="3.0")
    assert node.nics == ()


def test_nvme():
    inside = host_bridge(pci("10000:01:00.0", "0108 [8086:0953] [8086:3709] 01", osdev("nvme0n1", 0)), "10000:[00-04]")
    [drive] = node_of(TWO_SOCKETS.format(inside)).nvme
    assert (drive.label, drive.chain, drive.numa_nodes) == ("10000:01:00.0", ("pci10000:00",), (0,))


def test_a_device_on_the_whole_machine_has_no_known_node():
    gpu = host_bridge(pci("0000:1b:00.0", "0302 [10de:1db8] [10de:131d] a1"))
    two = node_of(TWO_SOCKETS.format("") + gpu)
    assert isinstance(two.gpus[0].numa_nodes, Unknown)
    assert two.gpus[0].cpus is None
    one = node_of(package(0, "0xff", numa(0, "0xff")) + gpu)
    assert one.gpus[0].numa_nodes == (0,)


def test_a_device_local_to_half_a_node_is_on_that_node():
    half = '<object type="Group" complete_cpuset="0x03">' + host_bridge(pci("0000:1b:00.0", "0302 [10de:1db8]"))
    node = node_of(TWO_SOCKETS.format(half + "</object>"))
    assert (node.gpus[0].numa_nodes, str(node.gpus[0].cpus)) == ((0,), "0-1")


def test_without_bridges_the_chain_is_unknown():
    node = node_of(TWO_SOCKETS.format(pci("0000:1b:00.0", "0302 [10de:1db8] [10de:131d] a1")))
    assert isinstance(node.gpus[0].chain, Unknown)


def test_without_pci_devices_gpus_are_not_none_but_unknown():
    node = node_of(TWO_SOCKETS.format(""))
    assert (node.gpus, node.nics, node.nvme) == (None, None, None)
    assert [gap.attribute for gap in node.gaps] == ["gpus"]
    assert not node.gpus_complete


def test_names_without_pci_devices():
    node = node_of(TWO_SOCKETS.format(osdev("nvml0", 1) + osdev("mlx5_0", 3) + osdev("sda", 0)))
    assert [gpu.label for gpu in node.gpus] == ["nvml0"]
    assert isinstance(node.gpus[0].pci, Unknown)
    assert [nic.label for nic in node.nics] == ["mlx5_0"]
    assert not node.gpus_complete


def test_a_far_end_of_nvlinks_is_a_switch_whatever_its_config_space_says():
    lost = pci("0000:66:00.0", "0000 [0000:0000] [0000:0000] 00", more='subtype="NVSwitch"')
    node = node_of(TWO_SOCKETS.format(host_bridge(lost)))
    assert [switch.label for switch in node.nvswitches] == ["0000:66:00.0"]


def test_nvlinks_are_counted_from_their_bandwidth():
    def v100(address, object_id, name):
        kind = "0302 [10de:1db8] [10de:131d] a1"
        return pci(address, kind, osdev(name, 1, more=f'gp_index="{object_id}"'), f'gp_index="1{object_id}"')

    devices = v100("0000:1b:00.0", 1, "nvml0") + v100("0000:1c:00.0", 2, "nvml1")
    devices += pci("0000:1d:00.0", "0680 [10de:1ac2] [10de:0000] a1", more='gp_index="7"')
    matrix = (
        '<distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth"><indexes>OSDev:1 OSDev:2 PCIDev:7</indexes>'
        "<u64values>1000000 50000 25000 50000 1000000 60000 25000 60000 0</u64values></distances2hetero>"
    )
    node = node_of(TWO_SOCKETS.format(host_bridge(devices)), after=matrix)
    first, second = node.gpus
    assert [(link.remote_kind, link.times, link.gbps, link.remote) for link in first.links] == [
        ("gpu", 2, 25.0, PciAddress(0, 0x1C, 0, 0)),
        ("switch", 1, 25.0, PciAddress(0, 0x1D, 0, 0)),
    ]
    assert first.nvlinks_active == 3
    assert [(link.times, link.gbps) for link in second.links] == [(2, 25.0), (3, 20.0)]
    without = node_of(TWO_SOCKETS.format(host_bridge(devices)))
    assert [(gpu.links, gpu.nvlinks_active) for gpu in without.gpus] == [(None, None), (None, None)]


@pytest.mark.parametrize(
    ("rate", "links"),
    [
        (0.25, [Pcie(1, 1)]),
        (8.0, [Pcie(2, 16)]),
        (0.984615, [Pcie(3, 1)]),
        (126.030769, [Pcie(6, 16)]),
        (63.015385, [Pcie(5, 16), Pcie(6, 8)]),
        (5.0, []),
    ],
)
def test_what_a_rate_can_be(rate, links):
    assert list(candidates(rate)) == links


def test_system():
    infos = info("DMIProductName", "CloudStack KVM Hypervisor") + info("HostName", "node1") + info("OSRelease", "6.8.0")
    system = node_of(infos).system
    assert (system.name, system.kernel, system.virtual) == ("node1", "6.8.0", True)
    assert node_of(info("DMIProductName", "NVIDIA DGX-2H")).system.virtual is None


def test_two_topologies_in_one_text_are_two_nodes():
    assert len(parse(topology("") + "\n" + topology(""))) == 2


@pytest.mark.parametrize(
    "text", ["", "<topology>", '<!DOCTYPE topology [<!ENTITY x "y">]><topology><object/></topology>']
)
def test_unreadable(text):
    with pytest.raises(Unreadable):
        parse(text)


def test_sniff():
    assert sniff(topology(""))
    assert not sniff('<system version="1"><cpu/></system>')
    assert not sniff("<topology>rings</topology>")


def mask(text):
    return int("".join(word.removeprefix("0x").rjust(8, "0") for word in text.split(",")), 16)


def above(element, parents):
    chain = []
    while (element := parents.get(element)) is not None:
        if element.get("type") == "Bridge":
            domain, first = re.match(r"([0-9a-f]+):\[([0-9a-f]+)-", element.get("bridge_pci")).groups()
            chain.append(element.get("pci_busid") or f"pci{domain}:{first}")
    return tuple(reversed(chain))


@pytest.mark.skipif(not FILES, reason=MISSING)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_lstopo_says_the_same_to_a_second_reader(path):
    """Packages, nodes and chains, read again with ElementTree."""
    root = ElementTree.fromstring(path.read_bytes())
    [node] = parse(path.read_text())
    objects = list(root.iter("object"))
    packages = {int(e.get("os_index")): mask(e.get("complete_cpuset")) for e in objects if e.get("type") == "Package"}
    assert {package.number: package.cpus.mask for package in node.packages} == packages
    nodes = {int(e.get("os_index")): e for e in objects if e.get("type") == "NUMANode"}
    assert {each.number for each in node.numa_nodes} == set(nodes)
    for each in node.numa_nodes:
        memory = nodes[each.number].get("local_memory")
        assert each.memory_bytes == (int(memory) if memory else None)
        if not isinstance(each.cpus, Unknown) and each.kind == "cpu":
            assert each.cpus.mask == mask(nodes[each.number].get("complete_cpuset"))
    parents = {child: parent for parent in root.iter() for child in parent}
    chains = {e.get("pci_busid"): above(e, parents) for e in objects if e.get("type") == "PCIDev"}
    devices = [device for table in (node.gpus, node.nics, node.nvme) for device in table or ()]
    for device in devices:
        if not isinstance(device.pci, Unknown):
            assert device.chain == chains[str(device.pci)]
    labels = {bridge.label for bridge in node.bridges}
    assert all(set(device.chain) <= labels for device in devices if not isinstance(device.pci, Unknown))


@pytest.mark.skipif(not FILES, reason=MISSING)
def test_dgx2():
    [node] = parse((SYSFS / "hwloc-xml/dgx2-16v100.xml").read_text())
    assert [gpu.nvml_index for gpu in node.gpus] == list(range(16))
    assert len(node.nvswitches) == 12
    assert {gpu.nvlinks_active for gpu in node.gpus} == {6}
    assert [gpu.numa_nodes for gpu in node.gpus] == [(0,)] * 8 + [(1,)] * 8
    assert len({gpu.chain[:5] for gpu in node.gpus}) == 8  # two GPUs below one switch
    assert len({gpu.chain[0] for gpu in node.gpus}) == 4
