"""`lspci -tv`: the drawing becomes chains, names become devices, and what is cut away is never guessed."""

from __future__ import annotations

import pytest

from gputopo.parsers import pci_ids
from gputopo.parsers.lspci_tv import parse, sniff
from gputopo.parsers.pci_tree import trees
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords, Observation
from gputopo.terms.unknown import Unknown
from gputopo.topology.build import build
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import NodeTopology, Source

TWO_ROOTS = r"""$ lspci -tv
-+-[0000:d7]-+-00.0  Intel Corporation Device 09a2
 |           \-01.0-[d8-db]----00.0-[d9-db]--+-00.0-[da]----00.0  NVIDIA Corporation GH100 [H100 SXM5 80GB]
 |                                           \-01.0-[db]--+-00.0  Mellanox Technologies MT2910 Family [ConnectX-7]
 |                                                        \-00.1  Mellanox Technologies MT2910 Family [ConnectX-7]
 +-[0000:80]-+-00.0  Intel Corporation Device 09a2
 |           +-01.0-[81]----00.0  NVIDIA Corporation GH100 [H100 NVSwitch]
 |           \-03.0-[82]--
 \-[0000:00]-+-00.0  Intel Corporation Device 09a2
             +-1f.0  Intel Corporation Device 1b81
             \-1f.4-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller PM9A1/PM9A3/980PRO
"""


def one(text: str) -> NodeRecords:
    [node] = parse(text)
    return node


def topology(text: str) -> NodeTopology:
    return build([Spoken(Source("a", "a", "lspci-tv", "", True), one(text))])


def test_a_whole_tree_gives_every_kind_of_device_and_its_chain() -> None:
    node = one(TWO_ROOTS)
    assert node.whole
    assert node.gpus_complete
    assert [gpu.label for gpu in node.gpus or ()] == ["0000:da:00.0"]
    assert [nic.label for nic in node.nics or ()] == ["0000:db:00.0", "0000:db:00.1"]
    assert [disk.label for disk in node.nvme or ()] == ["0000:01:00.0"]
    assert [switch.label for switch in node.nvswitches or ()] == ["0000:81:00.0"]
    assert node.nics is not None
    assert node.nics[1].chain == ("pci0000:d7", "0000:d7:01.0", "0000:d8:00.0", "0000:d9:01.0")
    kinds = {bridge.label: bridge.kind for bridge in node.bridges}
    assert kinds["pci0000:80"] == "hostBridge"
    assert (kinds["0000:d7:01.0"], kinds["0000:d8:00.0"], kinds["0000:d9:00.0"]) == ("bridge", "switch", "switch")
    assert trees(TWO_ROOTS)[0].empty_buses == ("0000:82",)


def test_a_gpu_and_a_nic_below_one_switch_are_pix() -> None:
    assert {pair.level for pair in topology(TWO_ROOTS).pairs if "GPU0" in (pair.a, pair.b)} == {"PIX"}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: "".join(f"> {line}" for line in text.splitlines(keepends=True)), "quoted in a mail"),
        (lambda text: text.replace("\n", "\r\n"), "saved on Windows"),
        (lambda text: "```\n" + "".join(f"    {line}" for line in text.splitlines(keepends=True)), "indented"),
        (lambda text: text.replace("  ", "\xa0 "), "copied from a web page"),
        (lambda text: text + text, "pasted twice"),
    ],
)
def test_what_mail_and_web_do_to_a_text_changes_nothing(change, why) -> None:  # type: ignore[no-untyped-def]
    plain, changed = one(TWO_ROOTS), one(change(TWO_ROOTS))
    assert [(gpu.label, gpu.chain) for gpu in changed.gpus or ()] == [(g.label, g.chain) for g in plain.gpus or ()], why
    assert changed.bridges == plain.bridges


def test_a_first_line_that_lost_its_blank_is_still_a_root() -> None:
    text = TWO_ROOTS.split("\n", 5)[5].strip(" ")
    node = one(text)
    assert not node.whole
    assert [bridge.label for bridge in node.bridges if bridge.parent is None] == ["pci0000:80", "pci0000:00"]


def test_lines_picked_by_grep_have_no_parent() -> None:
    text = "\n".join(line for line in TWO_ROOTS.splitlines() if "NVIDIA" in line or "Mellanox" in line)
    node = one(text)
    assert node.gpus is not None
    assert isinstance(node.gpus[0].pci, Unknown)  # the domain stands in the line of the root
    assert isinstance(node.gpus[0].chain, Unknown)
    assert [gap.attribute for gap in node.gaps] == ["gpus", "parent"]


def test_a_branch_whose_opening_line_is_missing_is_not_hung_below_another() -> None:
    text = r"""-[0000:00]-+-00.0  Intel Corporation Device 09a2
           +-01.0-[10-14]----00.0-[11-14]--+-00.0-[12]----00.0  NVIDIA Corporation GA100 [A100 PCIe 40GB]
           |                               +-01.0-[23]----00.0  NVIDIA Corporation GA100 [A100 PCIe 40GB]
"""
    gpus = one(text).gpus
    assert gpus is not None
    assert gpus[0].chain == ("pci0000:00", "0000:00:01.0", "0000:10:00.0", "0000:11:00.0")
    assert isinstance(gpus[1].chain, Unknown)  # bus 23 is not among 11 to 14


def test_a_tree_without_names_has_bridges_and_says_why_it_has_no_gpus() -> None:
    node = one("-[0000:00]-+-00.0\n           \\-01.0-[01]----00.0\n")
    assert node.gpus is None
    assert node.nics is None
    assert [bridge.label for bridge in node.bridges] == ["pci0000:00", "0000:00:01.0"]
    assert node.gaps[0].settled_by == "lspci -tv"


def test_the_tree_with_names_counts_where_both_are_given() -> None:
    node = one(
        "-[0000:00]-+-00.0\n           \\-01.0-[01]----00.0\n\n"
        "-[0000:00]-+-00.0  Intel Corporation Device 09a2\n"
        "           \\-01.0-[01]----00.0  NVIDIA Corporation GV100GL [Tesla V100 PCIe 16GB]\n"
    )
    assert [gpu.label for gpu in node.gpus or ()] == ["0000:01:00.0"]


def test_two_machines_in_one_text_are_two() -> None:
    other = TWO_ROOTS.replace(":d7]", ":17]").replace("[d8-db]", "[18-1b]").replace("[d9-db]", "[19-1b]")
    assert len(parse(TWO_ROOTS + other.replace("[da]", "[1a]").replace("[db]", "[1b]"))) == 2


def test_devices_of_an_odd_domain_and_old_bus_spelling() -> None:
    text = r"""-[10000:e0]-+-01.0-[10000:e1]----00.0  Micron Technology Inc 7450 PRO NVMe SSD
            \-03.0-[10000:e2-e4]----00.0-[10000:e3-e4]--
"""
    node = one(text)
    assert [(disk.label, disk.chain) for disk in node.nvme or ()] == [
        ("10000:e1:00.0", ("pci10000:e0", "10000:e0:01.0"))
    ]


Q35 = r"""-[0000:00]-+-00.0  Intel Corporation 82G33/G31/P35/P31 Express DRAM Controller
           +-{port}-[01]----00.0  NVIDIA Corporation Device 2335
           \-1f.0  Intel Corporation 82801IB (ICH9) LPC Interface Controller
"""


@pytest.mark.parametrize(
    ("text", "virtual"),
    [
        (Q35.format(port="02.3"), True),  # no real board has a bridge there
        (Q35.format(port="01.0"), None),  # a board of 2007 has its graphics port there
        (TWO_ROOTS, None),
        (TWO_ROOTS.replace("Intel Corporation Device 1b81", "Red Hat, Inc. Virtio 1.0 network device"), True),
        # A DPU shows virtio to the bare machine.
        (
            TWO_ROOTS.replace("Intel Corporation Device 1b81", "Red Hat, Inc. Virtio network device").replace(
                "Intel Corporation Device 09a2", "Intel Corporation Ice Lake Memory Map/VT-d"
            ),
            None,
        ),
        (TWO_ROOTS.replace("Intel Corporation Device 1b81", "VMware SVGA II Adapter"), True),
    ],
)
def test_a_virtual_machine_is_told_by_names_that_only_one_has(text: str, virtual: bool | None) -> None:
    node = one(text)
    assert node.system.virtual is virtual
    assert [seen.kind for seen in node.observations] == (["hypervisor"] if virtual else [])


def test_a_flat_guest_is_phb_everywhere() -> None:
    text = "-[0000:00]-+-00.0  Intel Corporation 82G33/G31/P35/P31 Express DRAM Controller\n" + "".join(
        f"           {'+' if n < 4 else chr(92)}-02.{n}-[{n + 1:02x}]----00.0  NVIDIA Corporation Device 2335\n"
        for n in range(5)
    )
    node = topology(text)
    assert node.virtual
    assert {pair.level for pair in node.pairs} == {None}  # NVLink is not in a tree, so the letter is open
    assert {pair.pcie.name for pair in node.pairs if pair.pcie} == {"PHB"}


def test_a_card_without_a_name_is_an_assumption() -> None:
    node = one(Q35.format(port="02.3"))
    assert node.gpus is not None
    assert isinstance(node.gpus[0].name, Unknown)
    assert node.assumptions[0].subjects == ("0000:01:00.0",)
    assert "Device 2335" in node.assumptions[0].text


def test_other_functions_of_a_new_card_are_no_gpus() -> None:
    text = r"""-[0000:00]-+-00.0  Intel Corporation Device 09a2
           \-01.0-[01]--+-00.0  NVIDIA Corporation Device 2684
                        \-00.1  NVIDIA Corporation Device 22ba
"""
    assert [gpu.label for gpu in one(text).gpus or ()] == ["0000:01:00.0"]


def test_virtual_functions_of_a_gpu_are_no_gpus() -> None:
    text = r"""-[0000:3a]---02.0-[3b]--+-00.0  NVIDIA Corporation GA102GL [A40]
                        +-00.4  NVIDIA Corporation GA102GL [A40]
                        \-01.0  NVIDIA Corporation GA102GL [A40]
"""
    node = one(text)
    assert [gpu.label for gpu in node.gpus or ()] == ["0000:3b:00.0"]
    assert node.observations == (
        Observation(
            "gpu-virtual-function",
            ("0000:3b:00.4", "0000:3b:01.0"),
            "same name and bus as the GPU in place 00.0: its virtual functions",
        ),
    )


def test_a_virtual_function_of_a_nic_belongs_to_the_only_physical_one() -> None:
    text = r"""-[0000:3a]---02.0-[3b]--+-00.0  Mellanox Technologies MT2892 Family [ConnectX-6 Dx]
                        \-00.2  Mellanox Technologies ConnectX Family mlx5Gen Virtual Function
"""
    nics = one(text).nics
    assert nics is not None
    assert str(nics[1].virtual_function_of) == "0000:3b:00.0"
    two = text.replace("+-00.0", "+-00.0  Mellanox Technologies MT28 [ConnectX-6 Dx]\n                        +-00.1")
    assert isinstance((one(two).nics or ())[2].virtual_function_of, Unknown)


def test_an_amd_device_without_a_name_may_be_anything() -> None:
    text = r"""-[0000:00]-+-00.0  Intel Corporation Device 09a2
           \-01.0-[01]----00.0  Advanced Micro Devices, Inc. [AMD/ATI] Device 74b5
"""
    node = one(text)
    assert node.gpus == ()
    assert node.gaps[0].subjects == ("0000:01:00.0",)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA Corporation GA100 [A100 SXM4 40GB]", "gpu"),
        ("nVidia Corporation GP100GL [Tesla P100 SXM2 16GB] (rev a1)", "gpu"),
        ("NVIDIA Corporation Device [10de:2901]", "gpu"),
        ("NVIDIA Corporation GA100 [A100 NVSwitch]", "nvswitch"),
        ("NVIDIA Corporation Device 1af1", "nvswitch"),
        ("NVIDIA Corporation TU102 USB Type-C UCSI Controller", None),
        ("NVIDIA Corporation MCP55 SMBus (rev a3)", None),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]", "gpu"),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 HDMI/DP Audio", None),
        ("Intel Corporation Ponte Vecchio XT (1 Tile) [Data Center GPU Max 1100] [8086:0bda]", "gpu"),
        ("Intel Corporation Ethernet Controller E810-C for QSFP", "nic"),
        ("Mellanox Technologies MT43244 BlueField-3 integrated ConnectX-7 network controller", "nic"),
        ("Mellanox Technologies MT43244 BlueField-3 SoC Management Interface", None),
        ("Mellanox Technologies Device 1023", "nic"),
        ("Broadcom Inc. and subsidiaries BCM57508 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb/200Gb Ethernet", "nic"),
        ("Amazon.com, Inc. Elastic Fabric Adapter (EFA)", "nic"),
        ("Amazon.com, Inc. NVMe EBS Controller", "nvme"),
        ("Broadcom / LSI PCIe Switch management endpoint", None),
        ("Broadcom / LSI MegaRAID SAS-3 3108 [Invader]", None),
        ("ASPEED Technology, Inc. ASPEED Graphics Family (rev 52)", None),
        ("Intel Corporation C620 Series Chipset Family USB 3.0 xHCI Controller", None),
    ],
)
def test_names_tell_the_kind(name: str, kind: str | None) -> None:
    assert pci_ids.kind_of(name) == kind


def test_other_texts_are_no_tree() -> None:
    for text in ("", "a - [b] + c", "+-----+\n| GPU |\n+-----+", "diff\n-[x]\n+[y]"):
        assert not sniff(text)
        with pytest.raises(Unreadable):
            parse(text)


def test_after_lines_left_out_what_no_bus_range_confirms_is_an_assumption() -> None:
    text = r"""-[0000:00]-+-00.0  Intel Corporation Device 09a2
           +-01.0-[10-14]----00.0-[11-14]--+-00.0-[12-13]----00.0-[13]--+-00.0  NVIDIA Corporation GA102GL [A40]
           |                               \-01.0-[14]----00.0  NVIDIA Corporation GA102GL [A40]
           \-03.0-[20]----00.0  NVIDIA Corporation GA102GL [A40]
"""
    node = one(text)
    assert node.gpus is not None
    assert [gpu.label for gpu in node.gpus] == ["0000:13:00.0", "0000:14:00.0", "0000:20:00.0"]
    assert [assumption.subjects for assumption in node.assumptions] == [("0000:20:00.0",)]
    assert not node.whole
