"""All devices of a tree, sorted into GPUs, NVSwitches, NICs and NVMe; and what is odd about them."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.parsers.sysfs_root import accelerators, iommu, netdevs, nics, rdma
from gputopo.parsers.sysfs_root.bridges import bridge_records
from gputopo.parsers.sysfs_root.locality import Machine, near_nodes
from gputopo.parsers.sysfs_root.nvidia import DriverGpu
from gputopo.parsers.sysfs_root.pci import Function, functions
from gputopo.parsers.sysfs_root.read import Tree
from gputopo.records import (
    BridgeRecord,
    Gap,
    GpuRecord,
    Key,
    NicRecord,
    NvmeRecord,
    NvSwitchRecord,
    Observation,
)
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown

_NVME = 0x0108
_CAPTURE_IO = "a capture with I/O devices: hwloc-gather-topology --io"


class Devices(NamedTuple):
    functions: tuple[Function, ...] = ()
    captured: bool = False  # sys/bus/pci/devices is there
    bridges: tuple[BridgeRecord, ...] = ()
    gpus: tuple[GpuRecord, ...] | None = None
    nvswitches: tuple[NvSwitchRecord, ...] | None = None
    nics: tuple[NicRecord, ...] | None = None
    nvme: tuple[NvmeRecord, ...] | None = None
    complete: bool = False  # the class of every function could be read
    gaps: tuple[Gap, ...] = ()
    observations: tuple[Observation, ...] = ()


def devices_of(tree: Tree, machine: Machine, driver: dict[PciAddress, DriverGpu]) -> Devices:
    found = functions(tree)
    if found is None:
        return _without_pci(tree, driver)
    return _Sorter(tree, machine, driver, found).devices()


def _without_pci(tree: Tree, driver: dict[PciAddress, DriverGpu]) -> Devices:
    """The driver's own list, and RDMA devices without a place, are still something."""
    gpus = tuple(accelerators.driver_only(address, said) for address, said in sorted(driver.items()))
    ends = rdma.rdma_devices(tree, ())
    known = [device for devices in ends.hardware.values() for device in devices]
    placeless = tuple(nics.placeless_record(device) for device in (*known, *ends.placeless))
    why = "sys/bus/pci/devices is not there"
    missing = [name for name, there in (("gpus", gpus), ("nics", placeless), ("nvme", ())) if not there]
    return Devices(
        gpus=gpus or None,
        nics=placeless or None,
        gaps=tuple(Gap((), name, why, _CAPTURE_IO) for name in missing),
        observations=tuple(_software(name) for name in ends.software),
    )


def _software(name: str) -> Observation:
    return Observation("software-rdma-device", (name,), f"sys/class/infiniband/{name} belongs to no PCI function")


class _Sorter:
    """One pass over the functions of a tree."""

    def __init__(
        self, tree: Tree, machine: Machine, driver: dict[PciAddress, DriverGpu], found: tuple[Function, ...]
    ) -> None:
        self.tree = tree
        self.machine = machine
        self.driver = driver
        self.functions = found
        self.by_label = {function.label: function for function in found}
        self.ends = tuple(function for function in found if (function.class_code or 0) >> 8 != 0x06)
        self.rdma = rdma.rdma_devices(tree, self.ends)
        self.net = netdevs.net_devices(tree, self.ends)
        self.bonds = netdevs.bonds(tree, self.net)
        self.physical = nics.physical_functions(self.ends)
        self.gaps: list[Gap] = []
        self.observations: list[Observation] = []
        self.listed: list[Function] = []

    def devices(self) -> Devices:
        gpus = tuple(self._gpu(function) for function in self._accelerators())
        switches = self._nvswitches()
        nic_records = (*(self._nic(function) for function in self._nics()), *self._placeless())
        nvme = tuple(self._nvme(function) for function in self.ends if function.class_code == _NVME)
        self._note_minus_one()
        self._note_bonds()
        accelerators_listed = tuple(function for function in self.listed if self._is_gpu(function))
        self.observations.extend(iommu.observations(self.tree, accelerators_listed))
        self.observations.extend(_software(name) for name in self.rdma.software)
        unread = tuple(function.label for function in self.functions if function.class_code is None)
        if unread:
            self.gaps.append(
                Gap(
                    unread,
                    "gpus",
                    "the class of these PCI functions cannot be read: what they are is not known",
                )
            )
        chains = [chain for function in self.listed if not isinstance(chain := function.chain, Unknown)]
        return Devices(
            self.functions,
            True,
            bridge_records(chains, self.by_label, self.machine),
            gpus,
            switches,
            nic_records,
            nvme,
            not unread,
            tuple(self.gaps),
            tuple(self.observations),
        )

    def _is_gpu(self, function: Function) -> bool:
        return accelerators.is_accelerator(function.class_code, function.vendor)

    def _accelerators(self) -> list[Function]:
        """Virtual functions of a GPU (vGPU) are shares of it, not GPUs."""
        found = [function for function in self.ends if self._is_gpu(function)]
        shares = [function for function in found if function.address in self.physical]
        if shares:
            text = ", ".join(f"{share.label} of {self.physical[share.address]}" for share in shares)
            self.observations.append(Observation("gpu-virtual-function", tuple(share.label for share in shares), text))
        return [function for function in found if function.address not in self.physical]

    def _above(self, function: Function) -> tuple[Function, ...]:
        chain = function.chain
        if isinstance(chain, Unknown):
            return ()
        return tuple(self.by_label[label] for label in reversed(chain) if label in self.by_label)

    def _gpu(self, function: Function) -> GpuRecord:
        self.listed.append(function)
        said = self.driver.get(function.address)
        record, conflict = accelerators.gpu_record(function, self._above(function), self.machine, said)
        self._note_conflict(function, conflict)
        if record.driver == "vfio-pci":
            text = "bound to vfio-pci: given to a virtual machine, the NVIDIA driver here does not see it"
            self.observations.append(Observation("gpu-bound-to-vfio", (function.label,), text))
        if said is not None and said.excluded:
            self.observations.append(Observation("gpu-excluded", (function.label,), "GPU Excluded: Yes"))
        return record

    def _nvswitches(self) -> tuple[NvSwitchRecord, ...]:
        bridges = (function for function in self.functions if function.class_code == 0x0680)
        return tuple(
            accelerators.nvswitch_record(function)
            for function in bridges
            if accelerators.is_nvswitch(function.class_code, function.vendor, function.device)
        )

    def _nics(self) -> list[Function]:
        known = self.rdma.hardware.keys() | self.net.keys()
        return [
            function
            for function in self.functions
            if (function.class_code in nics.CLASSES or function.address in known) and not self._is_gpu(function)
        ]

    def _nic(self, function: Function) -> NicRecord:
        self.listed.append(function)
        address = function.address
        ends = nics.Ends(
            tuple(self.rdma.hardware.get(address, ())),
            tuple(self.net.get(address, ())),
            tuple(bond for bond in self.bonds if address in bond.members),
        )
        record, conflict = nics.nic_record(
            function, self._above(function), self.machine, ends, self.physical.get(address)
        )
        self._note_conflict(function, conflict)
        return record

    def _placeless(self) -> tuple[NicRecord, ...]:
        """RDMA devices of plain folders, and of functions that have no entry in bus/pci/devices."""
        listed = {function.address for function in self.functions}
        lost = [device for address, found in self.rdma.hardware.items() if address not in listed for device in found]
        return tuple(nics.placeless_record(device) for device in (*lost, *self.rdma.placeless))

    def _nvme(self, function: Function) -> NvmeRecord:
        self.listed.append(function)
        nodes, conflict = near_nodes(function, self.machine, self._above(function))
        self._note_conflict(function, conflict)
        keys = (Key("pci", function.label),)
        return NvmeRecord(function.label, keys, None, function.address, nodes, function.pcie(), function.chain)

    def _note_conflict(self, function: Function, text: str) -> None:
        if text:
            self.observations.append(Observation("pci-numa-conflict", (function.label,), text))

    def _note_minus_one(self) -> None:
        labels = tuple(function.label for function in self.listed if function.numa_node == -1)
        if labels:
            self.observations.append(Observation("pci-numa-node-minus-one", labels, "numa_node holds -1"))

    def _note_bonds(self) -> None:
        for bond in self.bonds:
            labels = tuple(str(member) for member in bond.members)
            self.observations.append(
                Observation("bonded-netdevs", labels, f"{bond.name}: {bond.mode or 'mode not known'}")
            )
