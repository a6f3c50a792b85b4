"""GPUs, bridges, links and NUMA nodes of a root folder: trees made here, one oddity each."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputopo.records import BridgeRecord, Key, Pcie
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from tests.parsers.sysfs_machine import ROOT, SWITCH, Machine, observed


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


# Where a device is


def test_a_gpu_has_the_chain_of_bridges_above_it_root_first(machine: Machine) -> None:
    machine.device(ROOT, "0x060400", "0x8086")
    machine.device(f"{ROOT}/0000:18:00.0", "0x060400", "0x1000")
    machine.device(SWITCH, "0x060400", "0x1000")
    machine.device(f"{SWITCH}/0000:1a:00.0", "0x030200")
    records = machine.read()
    [gpu] = records.gpus or ()
    assert gpu.label == "0000:1a:00.0"
    assert gpu.chain == ("pci0000:17", "0000:17:00.0", "0000:18:00.0", "0000:19:04.0")
    assert [(bridge.label, bridge.parent, bridge.kind) for bridge in records.bridges] == [
        ("pci0000:17", None, "hostBridge"),
        ("0000:17:00.0", "pci0000:17", "bridge"),
        ("0000:18:00.0", "0000:17:00.0", "switch"),
        ("0000:19:04.0", "0000:18:00.0", "switch"),
    ]
    assert (gpu.numa_nodes, gpu.cpus, gpu.cpus_complete) == ((0,), CpuSet.parse_list("0-3"), True)
    assert (records.grain, records.gpus_complete, records.nics_complete) == ("sysfs", True, True)


@pytest.mark.parametrize(
    ("path", "chain"),
    [
        ("LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:01/47505500-0001-0000/pci0001:00/0001:00:00.0", ("pci0001:00",)),
        ("platform/14160000.pcie/pci0004:00/0004:00:00.0/0004:01:00.0", ("pci0004:00", "0004:00:00.0")),
        ("pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0", ("pci10000:e0", "10000:e0:06.0")),
    ],
)
def test_the_last_host_bridge_of_the_path_counts(machine: Machine, path: str, chain: tuple[str, ...]) -> None:
    machine.device(path, "0x030200")
    gpu = machine.gpu()
    assert (gpu.chain, gpu.label) == (chain, path.rpartition("/")[2])


def test_a_tree_below_vmbus_is_a_virtual_machine(machine: Machine) -> None:
    machine.device("LNXSYSTM:00/VMBUS:01/47505500-0001/pci0001:00/0001:00:00.0", "0x030200")
    assert machine.read().system.virtual is True


def test_a_device_that_is_a_plain_folder_has_no_known_place(machine: Machine) -> None:
    machine.file("sys/bus/pci/devices/0004:05:00.0/class", "0x030000")
    machine.file("sys/bus/pci/devices/0004:05:00.0/local_cpus", "f0")
    gpu = machine.gpu()
    assert isinstance(gpu.chain, Unknown)
    assert (gpu.vendor, gpu.numa_nodes) == (None, (1,))


def test_an_element_of_the_path_without_an_entry_is_a_bridge_of_which_nothing_is_known(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    assert machine.read().bridges[1] == BridgeRecord("0000:17:00.0", "pci0000:17", "bridge")


def test_a_folder_that_no_entry_names_does_not_count(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    machine.file("sys/devices/pci0000:17/0000:17:02.0/class", "0x030200")
    assert len(machine.read().gpus or ()) == 1


def test_an_entry_without_a_class_is_named_and_the_list_is_not_complete(machine: Machine) -> None:
    machine.file("sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de")
    records = machine.read()
    assert (records.gpus, records.gpus_complete) == ((), False)
    assert any(gap.subjects == ("0000:01:00.0",) for gap in records.gaps)


# Near which node


def test_minus_one_is_unknown_and_observed(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="-1")
    records = machine.read()
    [gpu] = records.gpus or ()
    assert isinstance(gpu.numa_nodes, Unknown)
    assert isinstance(gpu.cpus, Unknown)  # all CPUs are the kernel's way of saying it does not know
    assert observed(records, "pci-numa-node-minus-one")[0].subjects == ("0000:18:00.0",)


def test_minus_one_on_a_machine_with_one_node_is_that_node(tmp_path: Path) -> None:
    machine = Machine(tmp_path, nodes=("0-7",))
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="-1")
    records = machine.read()
    assert [gpu.numa_nodes for gpu in records.gpus or ()] == [(0,)]
    assert observed(records, "pci-numa-node-minus-one")


def test_minus_one_beside_few_local_cpus_is_the_node_of_these(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="-1", local_cpulist="5-6")
    assert machine.gpu().numa_nodes == (1,)


def test_minus_one_below_a_bridge_that_knows_is_the_bridge_s_node(machine: Machine) -> None:
    machine.device(ROOT, "0x060400", "0x8086", numa="1")
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="-1")
    assert machine.gpu().numa_nodes == (1,)


@pytest.mark.parametrize("local", ["0-7", "64-127"])
def test_a_node_that_the_local_cpus_contradict_is_unknown_and_a_conflict(machine: Machine, local: str) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="1", local_cpulist=local)
    records = machine.read()
    assert isinstance((records.gpus or ())[0].numa_nodes, Unknown)
    assert observed(records, "pci-numa-conflict")[0].subjects == ("0000:18:00.0",)


def test_a_node_that_does_not_exist_is_unknown(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", numa="9", local_cpulist="")
    assert isinstance(machine.gpu().numa_nodes, Unknown)


def test_the_bitmap_of_local_cpus_wins_and_is_cut_to_what_is_online(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", local_cpulist="0-127", local_cpus="00000000,0000ff0f")
    assert machine.gpu().cpus == CpuSet.parse_list("0-3")


# What it is


@pytest.mark.parametrize(
    ("class_code", "vendor", "is_gpu"),
    [
        ("0x030000", "0x10de", True),
        ("0x030200", "0x10de", True),
        ("0x038000", "0x1002", True),
        ("0x120000", "0x1002", True),
        ("0x0b4000", "0x1bcf", True),
        ("0x030000", "0x1a03", False),  # a board-management chip
        ("0x030000", "0x1234", False),  # QEMU's display
        ("0x030200", "0x1414", True),  # a GPU shared by Hyper-V
        ("0x040300", "0x10de", False),  # sound of a GPU
        ("0x068000", "0x10de", False),
        ("0x060400", "0x10de", False),
    ],
)
def test_accelerators_of_any_vendor_count_and_displays_do_not(
    machine: Machine, class_code: str, vendor: str, is_gpu: bool
) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", class_code, vendor)
    assert len(machine.read().gpus or ()) == is_gpu


def test_an_nvswitch_is_no_gpu_and_a_chipset_of_nvidia_is_no_nvswitch(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x068000", device="0x22a3")
    machine.device("pci0000:00/0000:00:0a.0", "0x068000", device="0x0373")
    records = machine.read()
    assert [switch.label for switch in records.nvswitches or ()] == ["0000:18:00.0"]
    assert records.gpus == ()


def test_a_gpu_bound_to_vfio_says_so(machine: Machine) -> None:
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    machine.link(f"{folder}/driver", "sys/bus/pci/drivers/vfio-pci")  # the target was not captured
    records = machine.read()
    assert [gpu.driver for gpu in records.gpus or ()] == ["vfio-pci"]
    assert observed(records, "gpu-bound-to-vfio")[0].subjects == ("0000:18:00.0",)


def test_shares_of_a_gpu_are_not_gpus(machine: Machine) -> None:
    physical = machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    share = machine.device(f"{ROOT}/0000:18:00.4", "0x030200")
    machine.link(f"{share}/physfn", physical)
    records = machine.read()
    assert [gpu.label for gpu in records.gpus or ()] == ["0000:18:00.0"]
    assert observed(records, "gpu-virtual-function")[0].subjects == ("0000:18:00.4",)


def test_proc_driver_nvidia_names_a_gpu(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:1a:00.0", "0x030200")
    uuid = "GPU-0a1b2c3d-0000-1111-2222-333344445555"
    folder = "proc/driver/nvidia/gpus/0000:1a:00.0"
    machine.file(f"{folder}/information", f"Model: \t\t NVIDIA A100-SXM4-80GB\nGPU UUID: \t {uuid}\nDevice Minor: \t 3")
    machine.file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19")
    records = machine.read()
    [gpu] = records.gpus or ()
    assert (gpu.uuid, gpu.name, gpu.minor, gpu.driver) == (uuid, "NVIDIA A100-SXM4-80GB", 3, "nvidia")
    assert gpu.keys == (Key("uuid", uuid), Key("pci", "0000:1a:00.0"), Key("minor", "3"))
    assert records.system.driver == "535.129.03"


def test_a_gpu_that_the_driver_has_not_started_has_no_uuid(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:1a:00.0", "0x030200")
    text = "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????-????-????-????????????"
    machine.file("proc/driver/nvidia/gpus/0000:1a:00.0/information", text)
    assert isinstance(machine.gpu().uuid, Unknown)


def test_gpu_memory_is_a_node_of_its_own_kind(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:1a:00.0", "0x030200")
    machine.file("sys/devices/system/node/online", "0-1,255")
    machine.file("sys/devices/system/node/node255/cpulist", "")
    machine.file("proc/driver/nvidia/gpus/0000:1a:00.0/numa_status", "Node:\t\t255\nStatus:\t\tonline")
    records = machine.read()
    assert [(node.number, node.kind) for node in records.numa_nodes or ()] == [
        (0, "cpu"),
        (1, "cpu"),
        (255, "gpu-memory"),
    ]
    assert (records.numa_nodes or ())[2].packages == ()
    assert [gpu.memory_numa_node for gpu in records.gpus or ()] == [255]


def test_without_pci_the_gpus_are_unknown_not_none(machine: Machine) -> None:
    records = machine.read()
    assert (records.gpus, records.nics, records.nvme, records.gpus_complete) == (None, None, None, False)
    assert [gap.attribute for gap in records.gaps] == ["gpus", "nics", "nvme"]


# Links


@pytest.mark.parametrize(
    ("speed", "width", "link"),
    [
        ("8 GT/s", "16", Pcie(3, 16)),
        ("16.0 GT/s PCIe", "8", Pcie(4, 8)),
        ("2.5 GT/s PCIe", "x16", Pcie(1, 16)),
        ("64.0 GT/s PCIe", "16", Pcie(6, 16)),
        ("Unknown", "0", None),
        ("Unknown speed", "255", None),
        ("32.0 GT/s PCIe", "255", Pcie(5)),
    ],
)
def test_link_speeds_are_read_in_both_spellings(machine: Machine, speed: str, width: str, link: Pcie | None) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200", current_link_speed=speed, current_link_width=width)
    assert machine.gpu().pcie == link


def test_config_space_tells_a_switch_port_and_the_link_where_root_read_it(machine: Machine) -> None:
    config = bytearray(256)
    config[6], config[0x34], config[0x40], config[0x42] = 0x10, 0x40, 0x10, 0x62
    config[0x4C:0x4E], config[0x52:0x54] = b"\x04\x01", b"\x83\x00"
    folder = machine.device(ROOT, "0x060400", "0x1d0f")
    (machine.root / folder / "config").write_bytes(config)
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    bridge = machine.read().bridges[1]
    assert (bridge.kind, bridge.pcie) == ("switch", Pcie(3, 8, 4, 16))


def test_config_space_that_runs_in_a_circle_ends(machine: Machine) -> None:
    config = bytearray(256)
    config[6], config[0x34], config[0x40], config[0x41] = 0x10, 0x40, 0x05, 0x40
    folder = machine.device(ROOT, "0x060400", "0x8086")
    (machine.root / folder / "config").write_bytes(config)
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    assert machine.read().bridges[1].kind == "bridge"
