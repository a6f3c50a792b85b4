"""The functions of one listing → the records of one machine."""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.parsers import pci_ids
from gputopo.parsers.lspci_vvv import details
from gputopo.parsers.lspci_vvv.chains import Chains
from gputopo.parsers.lspci_vvv.listing import Function
from gputopo.parsers.pci_tree import Tree
from gputopo.records import (
    BridgeRecord,
    Gap,
    GpuRecord,
    Key,
    NicRecord,
    NodeRecords,
    NvmeRecord,
    NvSwitchRecord,
    Observation,
    SystemRecord,
)
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

_NICS = (0x0200, 0x0207, 0x0208, 0x0280, 0x0C06)
_DISPLAYS = (0x0300, 0x0380)
# ASPEED, Matrox, Cirrus, QEMU, VMware, virtio, Red Hat, Hyper-V: screens of a management chip or a hypervisor.
_SCREENS = (0x1A03, 0x102B, 0x1013, 0x1234, 0x15AD, 0x1AF4, 0x1B36, 0x1414)
_SWITCH_MAKERS = (0x10B5, 0x1000, 0x11F8, 0x111D)  # PLX, Broadcom, Microchip, IDT
_VIRTUAL_MOST = 1 << 16  # routing ids of a domain
_REDIRECTS = ("SrcValid+", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl+")


def records_of(functions: list[Function], drawn: tuple[Tree, ...] = ()) -> NodeRecords:
    """One machine's part; `drawn` are trees of lspci in the same text."""
    return _Listing(functions, drawn).records()


def kind_of(function: Function) -> str | None:
    """`gpu`, `nvswitch`, `nic`, `nvme`, `bridge` by class; by name where the class is no known word."""
    code, vendor = function.class_code, pci_ids.vendor_of(function.name)
    if code is None:
        return None
    if code in _DISPLAYS and vendor in _SCREENS:
        return None
    if code >> 8 in (0x03, 0x12) or code == 0x0B40:
        return "gpu"
    if code in _NICS:
        return "nic"
    if code == 0x0680:
        return "nvswitch" if pci_ids.kind_of(function.name) == "nvswitch" or _is_new_switch(function) else None
    return {0x0108: "nvme", 0x0604: "bridge"}.get(code)


def _is_new_switch(function: Function) -> bool:
    """NVIDIA's other bridges of class 0680 are parts of nForce chipsets, with ids below 0x1000."""
    device = pci_ids.device_of(function.name)
    return pci_ids.vendor_of(function.name) == pci_ids.NVIDIA and device is not None and device >= 0x1000


class _Listing:
    def __init__(self, functions: list[Function], drawn: tuple[Tree, ...]) -> None:
        self.functions = functions
        self.chains = Chains(functions, drawn)
        self.physical: dict[PciAddress, PciAddress] = {}
        for function in functions:
            for virtual in details.virtual_functions(function):
                if len(self.physical) < _VIRTUAL_MOST:
                    self.physical[virtual] = function.address
        kinds = [(function, kind_of(function)) for function in functions]
        gpus = [function for function, kind in kinds if kind == "gpu"]
        named = pci_ids.shares((function.label, function.name) for function in gpus)
        self.shares = [f for f in gpus if f.address in self.physical or f.label in named]
        shares = {share.label for share in self.shares}
        self.gpus = [function for function in gpus if function.label not in shares]
        self.nics = [function for function, kind in kinds if kind == "nic"]
        self.nvme = [function for function, kind in kinds if kind == "nvme"]
        self.switches = [function for function, kind in kinds if kind == "nvswitch"]
        self.bridges = [function for function, kind in kinds if kind == "bridge"]

    def records(self) -> NodeRecords:
        hypervisor = self._hypervisor()
        seen = (*((hypervisor,) if hypervisor else ()), *self._observations())
        nics = tuple(self._nic(function) for function in self.nics)
        nvme = tuple(self._nvme(function) for function in self.nvme)
        switches = tuple(NvSwitchRecord(f.label, (Key("pci", f.label),), f.address) for f in self.switches)
        return NodeRecords(
            "lspci-vvv",
            line=min(function.line for function in self.functions),
            grain="sysfs",
            system=SystemRecord(virtual=True if hypervisor else None),
            bridges=tuple(self._bridges()),
            nvswitches=switches or None,
            gpus=tuple(self._gpu(function) for function in self.gpus) or None,
            nics=nics or None,
            nvme=nvme or None,
            gaps=tuple(self._gaps()),
            observations=seen,
        )

    # Devices

    def _gpu(self, function: Function) -> GpuRecord:
        return GpuRecord(
            function.label,
            (Key("pci", function.label),),
            function.line,
            name=pci_ids.product(function.name),
            vendor=pci_ids.vendor_word(pci_ids.vendor_of(function.name)),
            pci=function.address,
            driver=details.driver(function),
            numa_nodes=details.numa_nodes(function),
            pcie=details.pcie(function),
            chain=self.chains.of(function),
        )

    def _nic(self, function: Function) -> NicRecord:
        return NicRecord(
            function.label,
            (Key("pci", function.label), Key("card", function.address.card)),
            function.line,
            pci=function.address,
            vendor=pci_ids.vendor_number(pci_ids.vendor_of(function.name)),
            numa_nodes=details.numa_nodes(function),
            link_layer="InfiniBand" if function.class_code in (0x0207, 0x0C06) else None,
            virtual_function_of=self._owner(function),
            pcie=details.pcie(function),
            chain=self.chains.of(function),
        )

    def _owner(self, function: Function) -> Said[PciAddress]:
        if function.address in self.physical:
            return self.physical[function.address]
        if "Virtual Function" in function.name:
            return Unknown("a virtual function: lspci -vvv of the physical one tells whose", "sysfs physfn")
        return None

    def _nvme(self, function: Function) -> NvmeRecord:
        return NvmeRecord(
            function.label,
            (Key("pci", function.label),),
            function.line,
            function.address,
            details.numa_nodes(function),
            details.pcie(function),
            self.chains.of(function),
        )

    def _bridges(self) -> Iterator[BridgeRecord]:
        roots = [f"pci{bus[0]:04x}:{bus[1]:02x}" for bus in sorted(self.chains.roots)]
        yield from (BridgeRecord(root, None, "hostBridge") for root in roots)
        for function in self.bridges:
            ids = pci_ids.vendor_of(function.name), pci_ids.device_of(function.name)
            yield BridgeRecord(
                function.label,
                self.chains.above(function),
                "switch" if _is_switch(function) else "bridge",
                pci_ids.vendor_number(ids[0]),
                pci_ids.vendor_number(ids[1]),
                details.numa_nodes(function),
                details.pcie(function),
            )

    # What is odd or missing

    def _hypervisor(self) -> Observation | None:
        name = pci_ids.hypervisor_name(tuple(function.name for function in self.functions))
        if name is not None:
            line = next((f.line for f in self.functions if pci_ids.bare(f.name) == name), None)
            return Observation("hypervisor", (), name, line)
        for host in self.functions:
            beside = [bridge.address for bridge in self.bridges if bridge.bus == host.bus]
            if host.label.endswith(":00:00.0") and pci_ids.is_q35(host.name, beside):
                text = f"{pci_ids.bare(host.name)}, with bridges where no real board has any: QEMU's Q35"
                return Observation("hypervisor", (), text, host.line)
        return None

    def _observations(self) -> Iterator[Observation]:
        devices = [*self.gpus, *self.nics, *self.nvme]
        if self.shares:
            labels = tuple(share.label for share in self.shares)
            yield Observation("gpu-virtual-function", labels, f"{', '.join(labels)}: virtual functions of a GPU")
        groups = {f.label: group for f in devices if (group := details.iommu_group(f)) is not None}
        if groups:
            text = ", ".join(f"{label}: group {group}" for label, group in groups.items())
            yield Observation("iommu-groups", tuple(groups), text)
        for function in self.gpus:
            if details.driver(function) == "vfio-pci":
                text = "bound to vfio-pci: given to a virtual machine, the NVIDIA driver here does not see it"
                yield Observation("gpu-bound-to-vfio", (function.label,), text, function.line)
        for function in devices:
            if (line := details.downgraded(function)) is not None:
                yield Observation("link-downgraded", (function.label,), line, function.line)
            if (state := details.ats(function)) is not None:
                yield Observation("ats", (function.label,), f"ATSCtl: {state}", function.line)
            if part := self.chains.part(function):
                yield Observation("bridges-above", (function.label,), " ".join(part), function.line)
            if (slot := details.slot(function)) is not None:
                yield Observation("physical-slot", (function.label,), slot, function.line)
        yield from self._acs()

    def _acs(self) -> Iterator[Observation]:
        """Access control of the bridges: what redirects peer traffic, what does not, what was not read."""
        unread = []
        for bridge in self.bridges:
            control = details.acs(bridge)
            if control is None:
                if bridge.says(details.DENIED):
                    unread.append(bridge.label)
                continue
            on = any(flag in details.flags(control) for flag in _REDIRECTS)
            yield Observation("acs-enabled" if on else "acs-off", (bridge.label,), f"ACSCtl: {control}", bridge.line)
        if unread:
            yield Observation("acs-not-read", tuple(unread), f"Capabilities: {details.DENIED}: only root reads them")

    def _gaps(self) -> Iterator[Gap]:
        line = min(function.line for function in self.functions)
        if not self.gpus:
            yield Gap((), "gpus", "no function of a GPU's class in this listing", "lspci -nn, the whole output", line)
        unplaced = tuple(f.label for f in (*self.gpus, *self.nics, *self.nvme) if not details.numa_nodes(f))
        if unplaced and not any(function.bodies for function in self.functions):
            yield Gap(unplaced, "numaNodes", "lspci without -v prints no NUMA node", "lspci -v, or sysfs", line)


def _is_switch(function: Function) -> bool:
    port = details.port(function)
    if port is not None:
        return port.startswith(("Upstream Port", "Downstream Port"))
    name = pci_ids.bare(function.name)
    if "Root Port" in name:
        return False
    return "Switch" in name or pci_ids.vendor_of(function.name) in _SWITCH_MAKERS
