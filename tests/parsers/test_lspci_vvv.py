"""`lspci` in all its verbosities: classes, links, locality, access control, virtual functions, the way up."""

from __future__ import annotations

import pytest

from gputopo.parsers.lspci_vvv import parse, sniff
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import GpuRecord, NodeRecords, Pcie
from gputopo.terms.unknown import Unknown
from gputopo.topology.build import build
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import Source

MACHINE = """\
00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 04)
\tSubsystem: Intel Corporation Device 0000
\tNUMA node: 0

15:01.0 PCI bridge: Intel Corporation Device 352a (rev 04) (prog-if 00 [Normal decode])
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=19, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #1, Speed 32GT/s, Width x16, ASPM L1, Exit Latency L1 <16us
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\tCapabilities: [110 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

16:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=16, secondary=17, subordinate=19, sec-latency=0
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
\tKernel driver in use: pcieport

17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=18, subordinate=18, sec-latency=0
\tCapabilities: [68] Express (v2) Downstream Port (Slot+), MSI 00
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

17:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tBus: primary=17, secondary=19, subordinate=19, sec-latency=0
\tCapabilities: <access denied>
\tKernel driver in use: pcieport

18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tPhysical Slot: 21
\tNUMA node: 0
\tIOMMU group: 45
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
\t\tLnkCap2: Supported Link Speeds: 2.5-32GT/s, Crosslink- Retimer+ 2Retimers+ DRS-
\t\tATSCtl:\tEnable-, Smallest Translation Unit: 00
\tKernel driver in use: nvidia
\tKernel modules: nvidiafb, nouveau, nvidia_drm, nvidia

19:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\tNUMA node: 0
\tIOMMU group: 46
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\tCapabilities: [180 v1] Single Root I/O Virtualization (SR-IOV)
\t\tInitial VFs: 16, Total VFs: 16, Number of VFs: 2, Function Dependency Link: 00
\t\tVF offset: 1, stride: 1, Device ID: 101e
\tKernel driver in use: mlx5_core

19:00.1 Infiniband controller: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function
\tKernel driver in use: mlx5_core

19:00.2 Infiniband controller: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function
\tKernel driver in use: vfio-pci
"""


def one(text: str) -> NodeRecords:
    [node] = parse(text)
    return node


def gpu(text: str) -> GpuRecord:
    gpus = one(text).gpus
    assert gpus is not None
    return gpus[0]


def test_a_gpu_with_everything_that_lspci_prints_of_it() -> None:
    found = gpu(MACHINE)
    assert (found.label, found.name, found.vendor) == ("0000:18:00.0", "GH100 [H100 SXM5 80GB]", "nvidia")
    assert (found.driver, found.numa_nodes) == ("nvidia", (0,))
    assert found.pcie == Pcie(1, 8, 5, 16)
    assert found.chain == ("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:00.0")


def test_bridges_are_switch_ports_by_their_capability() -> None:
    bridges = {bridge.label: bridge for bridge in one(MACHINE).bridges}
    assert bridges["0000:15:01.0"].kind == "bridge"
    assert bridges["0000:16:00.0"].kind == "switch"
    assert bridges["0000:17:01.0"].parent == "0000:16:00.0"
    assert bridges["0000:16:00.0"].vendor == "0x1000"
    assert bridges["pci0000:15"].kind == "hostBridge"


def test_virtual_functions_are_those_that_offset_and_stride_name() -> None:
    nics = one(MACHINE).nics
    assert nics is not None
    assert [str(nic.virtual_function_of) for nic in nics] == ["None", "0000:19:00.0", "0000:19:00.0"]
    assert {nic.link_layer for nic in nics} == {"InfiniBand"}


def test_access_control_is_on_off_or_not_read() -> None:
    seen = {(one.kind, one.subjects): one.text for one in one(MACHINE).observations}
    assert seen["acs-enabled", ("0000:17:00.0",)].startswith("ACSCtl: SrcValid+ TransBlk- ReqRedir+")
    assert ("acs-off", ("0000:15:01.0",)) in seen
    assert ("acs-not-read", ("0000:17:01.0",)) in seen
    assert not any(subjects == ("0000:16:00.0",) for _, subjects in seen)  # it says nothing of it


def test_what_rules_may_want_of_devices_is_observed() -> None:
    seen = {(one.kind, one.subjects): one.text for one in one(MACHINE).observations}
    assert seen["ats", ("0000:18:00.0",)] == "ATSCtl: Enable-"
    assert seen["physical-slot", ("0000:18:00.0",)] == "21"
    assert seen["link-downgraded", ("0000:18:00.0",)].endswith("Width x8 (downgraded)")
    assert seen["iommu-groups", ("0000:18:00.0", "0000:19:00.0")] == "0000:18:00.0: group 45, 0000:19:00.0: group 46"


def test_a_gpu_given_to_a_virtual_machine() -> None:
    seen = one(MACHINE.replace("in use: nvidia", "in use: vfio-pci")).observations
    assert [one.subjects for one in seen if one.kind == "gpu-bound-to-vfio"] == [("0000:18:00.0",)]


def test_gpu_and_nic_below_one_switch_are_pix() -> None:
    node = build([Spoken(Source("a", "a", "lspci-vvv", "", True), one(MACHINE))])
    assert {pair.level for pair in node.pairs if "GPU0" in (pair.a, pair.b)} == {"PIX"}


@pytest.mark.parametrize(
    "header",
    [
        "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)",
        "0000:18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)",
        "18:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)",
        "> 18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]",
        "$ lspci\n18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\r\n",
    ],
)
def test_every_spelling_of_the_first_line(header: str) -> None:
    assert sniff(header)
    assert gpu(header).name == "GH100 [H100 SXM5 80GB]"
    assert str(gpu(header).pci) == "0000:18:00.0"


def test_numbers_instead_of_words() -> None:
    found = gpu("18:00.0 0302: 10de:2330 (rev a1)")
    assert found.vendor == "nvidia"
    assert isinstance(found.name, Unknown)


@pytest.mark.parametrize(
    ("header", "table"),
    [
        ("03:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)", None),
        ("00:01.0 VGA compatible controller: Device 1234:1111 (rev 02)", None),
        ("00:02.0 Display controller: Red Hat, Inc. Virtio GPU", None),
        ("01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090]", "gpus"),
        ("01:00.1 Audio device: NVIDIA Corporation GA102 High Definition Audio Controller", None),
        ("05:00.0 Processing accelerators: Advanced Micro Devices, Inc. [AMD/ATI] Device 74a1", "gpus"),
        ("05:00.0 Bridge: NVIDIA Corporation GH100 [H100 NVSwitch] (rev a1)", "nvswitches"),
        ("05:00.0 Bridge [0680]: NVIDIA Corporation Device [10de:22a3] (rev a1)", "nvswitches"),
        ("00:08.0 Bridge: nVidia Corporation MCP55 Ethernet (rev a3)", None),
        ("05:00.0 Network controller: Mellanox Technologies MT27500 Family [ConnectX-3]", "nics"),
        ("05:00.0 Ethernet controller: Intel Corporation Ethernet Controller X710 for 10GBASE-T", "nics"),
        ("05:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM173X", "nvme"),
        ("05:00.0 SATA controller: Intel Corporation C620 Series Chipset Family SATA Controller", None),
    ],
)
def test_the_class_decides_the_kind(header: str, table: str | None) -> None:
    other = "06:00.0 PCI bridge: PLX Technology, Inc. PEX 8747 48-Lane Switch"
    node = one(f"{header}\n{other}")
    assert [name for name in ("gpus", "nics", "nvme", "nvswitches") if getattr(node, name)] == (
        [table] if table else []
    )


def test_without_the_bridges_nothing_is_said_of_what_is_above() -> None:
    found = gpu("18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)")
    assert isinstance(found.chain, Unknown)
    assert gpu("00:05.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100 SXM2 16GB]").chain == ("pci0000:00",)


def test_two_bridges_to_one_bus_lead_nowhere() -> None:
    text = MACHINE.replace("17:01.0", "17:02.0").replace("secondary=19, subordinate=19", "secondary=18, subordinate=18")
    assert isinstance(gpu(text).chain, Unknown)


def test_bridges_that_lead_in_a_circle_lead_nowhere() -> None:
    text = """\
01:00.0 PCI bridge: PLX Technology, Inc. PEX 8747
\tBus: primary=01, secondary=02, subordinate=03, sec-latency=0
02:00.0 PCI bridge: PLX Technology, Inc. PEX 8747
\tBus: primary=02, secondary=01, subordinate=03, sec-latency=0
02:01.0 3D controller: NVIDIA Corporation GV100GL [Tesla V100 SXM2 16GB]
"""
    assert isinstance(gpu(text).chain, Unknown)


def test_a_tree_in_the_same_text_tells_the_way_up() -> None:
    text = r"""
-[0000:00]-+-00.0
           \-01.0-[18]----00.0

18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
"""
    assert gpu(text).chain == ("pci0000:00", "0000:00:01.0")
    other = text.replace("18:00.0 3D", "19:00.0 3D")  # not a tree of this machine
    assert isinstance(gpu(other).chain, Unknown)


def test_one_machine_printed_twice_is_one_and_two_are_two() -> None:
    short = "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
    assert len(parse(short + "\n" + MACHINE)) == 1
    assert gpu(short + "\n" + MACHINE).numa_nodes == (0,)
    assert len(parse(MACHINE + MACHINE.replace("GH100 [H100 SXM5 80GB]", "GA100 [A100 SXM4 40GB]"))) == 2


def test_lines_picked_by_grep_are_not_taken_for_the_wrong_function() -> None:
    text = """\
18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\t\tLnkSta:\tSpeed 8GT/s, Width x4
"""
    assert gpu(text).pcie is None


@pytest.mark.parametrize(
    ("line", "pcie"),
    [
        ("LnkSta:\tSpeed 8GT/s (ok), Width x16 (ok)", Pcie(3, 16)),
        ("LnkSta:\tSpeed 2.5GT/s, Width x16, TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-", Pcie(1, 16)),
        ("LnkSta:\tSpeed unknown, Width x0", None),
        ("LnkSta:\tSpeed 64GT/s, Width x16", Pcie(6, 16)),
        ("LnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L0s L1", Pcie(None, None, 4, 16)),
        ("LnkCap2: Supported Link Speeds: 2.5-32GT/s", None),
    ],
)
def test_links(line: str, pcie: Pcie | None) -> None:
    header = "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)"
    assert gpu(f"{header}\n\t\t{line}").pcie == pcie


def test_locality_in_the_short_form_of_v() -> None:
    header = "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)"
    text = f"{header}\n\tFlags: bus master, fast devsel, latency 0, IRQ 16, NUMA node 1, IOMMU group 7"
    assert gpu(text).numa_nodes == (1,)
    assert [seen.text for seen in one(text).observations] == ["0000:18:00.0: group 7"]


def test_what_follows_the_listing_is_not_of_its_last_function() -> None:
    header = "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)"
    assert gpu(f"{header}\n\nNUMA node: 1 is where the GPU is, he said").numa_nodes is None


def test_a_guest_is_told_by_its_bridges() -> None:
    guest = """\
00:00.0 Host bridge: Intel Corporation 82G33/G31/P35/P31 Express DRAM Controller
00:02.0 PCI bridge: Red Hat, Inc. QEMU PCIe Root port
01:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]
"""
    assert one(guest).system.virtual is True
    assert one(MACHINE).system.virtual is None


def test_shares_of_a_gpu_are_no_gpus() -> None:
    text = "".join(
        f"3b:0{place} 3D controller: NVIDIA Corporation GA102GL [A40] (rev a1)\n" for place in ("0.0", "0.4")
    )
    assert [found.label for found in one(text).gpus or ()] == ["0000:3b:00.0"]


def test_other_texts_are_no_listing() -> None:
    for text in ("", "12:30:01.5 Error: disk full", "nvidia 0000:18:00.0: enabling device", "18:00.0 is the GPU"):
        assert not sniff(text)
        with pytest.raises(Unreadable):
            parse(text)
