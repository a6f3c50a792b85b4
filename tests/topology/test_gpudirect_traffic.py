"""GPUDirect: what sends peer traffic off its short path, access control (ACS) and the IOMMU."""

from __future__ import annotations

from pathlib import Path

import pytest

import gputopo
from gputopo.parsers.sysfs_root.extended import acs_control, ats_enabled
from gputopo.topology.gpudirect_conditions import ACS_READ
from tests.topology.gpudirect_host import ARM, CR, DT, EC, GPU, PORTS, REDIRECT, RR, SV, TB, UF, UPSTREAM, Host, config


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


# Access control


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        (SV, "ready"),
        (UF, "ready"),
        (SV | UF | DT, "ready"),
        (RR, "not"),
        (CR, "not"),
        (EC, "not"),
        (RR | TB | DT, "not"),
    ],
)
def test_only_redirects_count(host: Host, word: int, verdict: str) -> None:
    host.acs(word, 0, 0)
    assert (host.rdma().verdict, host.gds().verdict) == (verdict, verdict)
    host.acs(0, word, 0)
    assert (host.rdma().verdict, host.gds().verdict) == (verdict, "ready")


def test_a_redirect_above_the_common_bridge_touches_nobody(host: Host) -> None:
    host.raw("sys/devices/pci0000:16/0000:16:01.0", config(acs=REDIRECT))
    assert host.rdma().verdict == "ready"


@pytest.mark.parametrize(("ats", "verdict"), [(True, "ready"), (False, "not"), (None, "unknown")])
def test_translated_requests_pass_a_port_with_direct_translated(host: Host, ats: bool | None, verdict: str) -> None:
    host.acs(REDIRECT | DT, REDIRECT | DT, 0)
    host.raw(host.nic_folder, config(ats=ats))
    path = host.rdma()
    assert path.verdict == verdict
    assert path.missing == (("ATS of the device (root: lspci -vvv)",) if ats is None else ())


@pytest.mark.parametrize(("nic", "words"), [(40, "one IOMMU group: probably off"), (41, "apart: probably on")])
def test_iommu_groups_are_a_hint_and_no_proof(host: Host, nic: int, words: str) -> None:
    """Groups are made at boot; ACS is often turned off afterwards, and a root port without ACS joins all below it."""
    host.not_root()
    host.groups("identity", gpu=40, nic=nic)
    path = host.rdma()
    assert (path.verdict, path.missing) == ("unknown", (ACS_READ,))
    assert words in path.because


def test_lspci_of_root_beside_the_tree_settles_acs(host: Host, tmp_path: Path) -> None:
    host.not_root()
    off = "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-"
    on = off.replace("ReqRedir-", "ReqRedir+")
    for words, verdict in ((off, "ready"), (on, "not")):
        listing = "".join(
            f"{port} PCI bridge [0604]: Broadcom / LSI PEX890xx PCIe Gen 5 Switch [1000:c030]\n"
            f"\tCapabilities: [b70 v1] Access Control Services\n\t\tACSCtl:\t{words}\n\n"
            for port in PORTS
        )
        listing += f"{GPU} 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330]\n\n"
        (tmp_path / "lspci.txt").write_text(listing)
        node = gputopo.load_node(str(host.root), str(tmp_path / "lspci.txt"))
        assert [path.verdict for path in node.gpudirect if path.kind == "rdma"] == [verdict]


# IOMMU


@pytest.mark.parametrize(
    ("kind", "options", "verdict"),
    [
        ("identity", "", "ready"),
        (None, "intel_iommu=on iommu=pt", "ready"),
        (None, "iommu.passthrough=1", "ready"),
        (None, "intel_iommu=on", "unknown"),
        (None, "iommu=pt iommu=nopt", "unknown"),
        ("DMA-FQ", "iommu=pt", "not"),  # what is in force wins over what was asked for
    ],
)
def test_the_iommu_is_off_or_passes_through(host: Host, kind: str | None, options: str, verdict: str) -> None:
    host.groups(kind)
    host.file("proc/cmdline", f"BOOT_IMAGE=/vmlinuz {options} ro")
    assert host.rdma().verdict == verdict


def test_on_arm_translation_is_the_design_of_grace_only(host: Host) -> None:
    host.file("proc/cpuinfo", ARM)
    host.groups("DMA")
    path = host.rdma()
    assert (path.verdict, path.missing) == ("unknown", ("C2C links of the GPU (NVML)",))


# The capabilities in config space


def test_capabilities_are_found_behind_others_and_lists_may_be_damaged() -> None:
    both = config(acs=REDIRECT, ats=True)
    assert acs_control(both) == "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-"
    assert ats_enabled(both) is True
    assert ats_enabled(config(ats=False)) is False
    assert (acs_control(config()), ats_enabled(config())) == ("", None)  # read to the end: it has none
    for cut in (0, 64, 256, 0x104, 0x146):
        assert acs_control(both[:cut]) is None
    circle = bytearray(both)
    circle[0x100:0x104] = (0x0003 | 0x100 << 20).to_bytes(4, "little")
    assert acs_control(bytes(circle)) is None
    assert acs_control(b"\xff" * 4096) is None  # a function that answers nothing


@pytest.mark.parametrize("port", [f"sys/devices/{UPSTREAM}/{PORTS[0]}", f"sys/devices/{UPSTREAM}/{PORTS[1]}"])
def test_one_port_that_was_not_read_leaves_it_open(host: Host, port: str) -> None:
    host.raw(port, config()[:64])
    assert (host.rdma().verdict, host.rdma().missing) == ("unknown", (ACS_READ,))
