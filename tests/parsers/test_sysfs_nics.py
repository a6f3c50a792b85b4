"""NICs and NVMe of a root folder: trees made here, one oddity each."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputopo.records import Key
from gputopo.terms.unknown import Unknown
from tests.parsers.sysfs_machine import ROOT, Machine, add_net, add_rdma, address, observed


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_nic_has_its_rdma_device_interfaces_and_port(machine: Machine) -> None:
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x020700", "0x15b3")
    add_rdma(machine, folder, "mlx5_0")
    add_net(machine, folder, "ib0")
    nic = machine.nic()
    assert (nic.device, nic.netdevs, nic.port, nic.vendor) == ("mlx5_0", ("ib0",), 1, "0x15b3")
    assert (nic.link_layer, nic.rate_gbps, nic.state) == ("InfiniBand", 400.0, "up")
    assert nic.keys == (
        Key("pci", "0000:18:00.0"),
        Key("card", "0000:18:00"),
        Key("name", "mlx5_0"),
        Key("name", "ib0"),
    )


def test_the_rate_of_a_port_that_is_down_is_not_a_rate(machine: Machine) -> None:
    add_rdma(machine, machine.device(f"{ROOT}/0000:18:00.0", "0x020700", "0x15b3"), "mlx5_0", "1: DOWN")
    nic = machine.nic()
    assert (nic.state, nic.rate_gbps) == ("down", None)


def test_a_nic_whose_interfaces_are_in_another_namespace_is_found_by_its_class(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x020000", "0x15b3")
    nic = machine.nic()
    assert (nic.device, nic.netdevs, nic.state) == (None, None, None)


@pytest.mark.parametrize("class_code", ["0x028000", "0x0c0600", "0x020700", "0x0880ff"])
def test_a_nic_of_an_odd_class_is_found_by_its_folder(machine: Machine, class_code: str) -> None:
    add_rdma(machine, machine.device(f"{ROOT}/0000:18:00.0", class_code, "0x15b3"), "mlx4_0")
    assert machine.nic().device == "mlx4_0"


@pytest.mark.parametrize("end", ["physfn", "virtfn0"])
def test_a_virtual_function_names_its_physical_function(machine: Machine, end: str) -> None:
    physical = machine.device(f"{ROOT}/0000:18:00.0", "0x020000", "0x15b3")
    virtual = machine.device(f"{ROOT}/0000:18:00.2", "0x020000", "0x15b3")
    if end == "physfn":
        machine.link(f"{virtual}/physfn", physical)
    else:
        machine.link(f"{physical}/virtfn0", virtual)
    found = {nic.label: nic.virtual_function_of for nic in machine.read().nics or ()}
    assert found == {"0000:18:00.0": None, "0000:18:00.2": address("0000:18:00.0")}


def test_a_roce_lag_has_the_functions_of_its_bond_as_members(machine: Machine) -> None:
    first = machine.device(f"{ROOT}/0000:18:00.0", "0x020000", "0x15b3")
    second = machine.device(f"{ROOT}/0000:18:00.1", "0x020000", "0x15b3")
    add_rdma(machine, first, "mlx5_bond_0", layer="Ethernet")
    add_net(machine, first, "eth0")
    add_net(machine, second, "eth1")
    machine.file("sys/devices/virtual/net/bond0/bonding/slaves", "eth0 eth1")
    machine.file("sys/devices/virtual/net/bond0/bonding/mode", "802.3ad 4")
    machine.link("sys/class/net/bond0", "sys/devices/virtual/net/bond0")
    records = machine.read()
    lag, other = records.nics or ()
    assert (lag.device, lag.members) == ("mlx5_bond_0", (address("0000:18:00.0"), address("0000:18:00.1")))
    assert (other.device, other.members) == (None, None)
    [bond] = observed(records, "bonded-netdevs")
    assert (bond.subjects, bond.text) == (("0000:18:00.0", "0000:18:00.1"), "bond0: 802.3ad")


def test_a_bond_of_two_cards_joins_no_rdma_devices(machine: Machine) -> None:
    for number in (0, 1):
        folder = machine.device(f"{ROOT}/0000:1{number}:00.0", "0x020000", "0x15b3")
        add_rdma(machine, folder, f"mlx5_{number}", layer="Ethernet")
        add_net(machine, folder, f"eth{number}")
    machine.file("sys/class/net/bond0/bonding/slaves", "eth0 eth1")
    assert [nic.members for nic in machine.read().nics or ()] == [None, None]


def test_software_rdma_is_skipped_with_a_note(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    machine.file("sys/devices/virtual/infiniband/siw_eth0/ports/1/state", "4: ACTIVE")
    machine.link("sys/class/infiniband/siw_eth0", "sys/devices/virtual/infiniband/siw_eth0")
    records = machine.read()
    assert records.nics == ()
    assert observed(records, "software-rdma-device")[0].subjects == ("siw_eth0",)


def test_an_rdma_device_that_is_a_plain_folder_is_a_nic_without_a_place(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    machine.file("sys/class/infiniband/hfi1_0/ports/1/rate", "100 Gb/sec (4X EDR)")
    machine.file("sys/class/infiniband/hfi1_0/ports/1/state", "4: ACTIVE")
    nic = machine.nic()
    assert (nic.label, nic.device, nic.rate_gbps) == ("hfi1_0", "hfi1_0", 100.0)
    assert isinstance(nic.pci, Unknown)
    assert isinstance(nic.chain, Unknown)


def test_the_interface_of_a_virtio_function_is_its_own(machine: Machine) -> None:
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x020000", "0x1af4")
    machine.file(f"{folder}/virtio0/net/ens3/operstate", "up")
    machine.link("sys/class/net/ens3", f"{folder}/virtio0/net/ens3")
    assert machine.nic().netdevs == ("ens3",)


def test_nvme_functions_are_listed(machine: Machine) -> None:
    machine.device(f"{ROOT}/0000:18:00.0", "0x010802", "0x144d", numa="1")
    [disk] = machine.read().nvme or ()
    assert (disk.label, disk.numa_nodes, disk.chain) == ("0000:18:00.0", (1,), ("pci0000:17", "0000:17:00.0"))


def test_iommu_groups_of_gpus_are_told_with_their_type(machine: Machine) -> None:
    folder = machine.device(f"{ROOT}/0000:18:00.0", "0x030200")
    machine.file("sys/kernel/iommu_groups/12/type", "DMA-FQ")
    machine.link(f"{folder}/iommu_group", "sys/kernel/iommu_groups/12")
    machine.file("proc/cmdline", "root=/dev/sda ro iommu=pt quiet")
    records = machine.read()
    assert observed(records, "iommu-groups")[0].text == "0000:18:00.0: group 12 (DMA-FQ)"
    assert observed(records, "kernel-iommu-options")[0].text == "iommu=pt"
