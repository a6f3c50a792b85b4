"""GT101 to GT103: what keeps peer traffic from its short path, by evidence from root folders and from lspci."""

from __future__ import annotations

from pathlib import Path

import pytest

import gputopo
from gputopo.rules.finding import Finding
from gputopo.rules.run import run
from gputopo.terms.path_level import PathLevel
from gputopo.topology.gpudirect_conditions import NO_MODULE
from gputopo.topology.node import Bridge, Gpu, GpuDirect, Nic, NodeTopology, NvLinks, Nvme, Observed, Source
from tests.rules.nodes import all_pairs, found, says
from tests.topology.gpudirect_host import CLOSED, DT, PORTS, REDIRECT, SV, UF, Host, config


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def of(code: str, node: NodeTopology) -> list[Finding]:
    return [finding for finding in run(node)[0] if finding.rule == code]


def needed(code: str, node: NodeTopology) -> list[str]:
    return [one.needs for one in run(node)[1] if one.rule == code]


def test_a_host_with_everything_in_order_is_silent_and_lacks_nothing(host: Host) -> None:
    findings, not_checked = run(host.node(), select=["GT10"])
    assert (findings, not_checked) == ((), ())


# GT101


def test_redirects_above_a_gpu_are_an_error_with_the_words_as_evidence(host: Host) -> None:
    host.acs(REDIRECT, REDIRECT, 0)
    [finding] = of("GT101", host.node())
    assert (finding.severity, finding.subjects) == ("error", ("GPU0", "mlx5_0", "0000:1b:00.0"))
    assert finding.message.startswith(f"ACS at {PORTS[0]} and {PORTS[1]} sends the traffic between GPU0")
    assert says(finding, "ECAP_ACS")
    assert finding.evidence[0].text.startswith(f"{PORTS[0]}: ACSCtl: SrcValid+ TransBlk- ReqRedir+")


@pytest.mark.parametrize("word", [SV, SV | UF])
def test_source_validation_alone_is_no_fault(host: Host, word: int) -> None:
    host.acs(word, word, word)
    [finding] = of("GT101", host.node())
    assert finding.severity == "info"
    assert "redirects nothing" in finding.message


def test_a_disk_alone_beside_the_gpu_is_a_warning(host: Host) -> None:
    host.acs(0, 0, REDIRECT)
    [finding] = of("GT101", host.node())
    assert finding.severity == "warning"


def test_where_nobody_else_is_below_the_root_port_nothing_is_lost() -> None:
    ids = ("pci0000:16", "0000:16:01.0", "0000:17:00.0", "0000:18:00.0")
    chain = tuple(Bridge(id, above, "bridge") for id, above in zip(ids, (None, *ids)))
    word = Observed("acs-enabled", ("0000:18:00.0",), "ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+", "s1", 4)
    node = NodeTopology(gpus=(Gpu("GPU0", parent="0000:18:00.0"),), bridges=chain, observations=(word,))
    assert found("GT101", node) == ()


def test_ports_that_nobody_could_read_are_what_root_would_add(host: Host) -> None:
    host.not_root()
    node = host.node()
    assert of("GT101", node) == []
    assert needed("GT101", node) == ["ACS of the PCIe switch ports above GPUs (root: lspci -vvv)"]
    host.file("sys/class/dmi/id/sys_vendor", "QEMU")
    assert needed("GT101", host.node()) == []  # root of the guest would not know either


def test_a_gpu_that_is_passed_through_needs_acs(host: Host) -> None:
    host.acs(REDIRECT, REDIRECT, REDIRECT)
    host.bind(host.gpu_folder, "vfio-pci")
    [finding] = of("GT101", host.node())
    assert finding.severity == "info"
    assert "needs ACS" in finding.because


def test_translated_requests_keep_the_short_path(host: Host) -> None:
    host.acs(REDIRECT | DT, REDIRECT | DT, REDIRECT | DT)
    for folder in (host.nic_folder, host.disk_folder):
        host.raw(folder, config(ats=True))
    [finding] = of("GT101", host.node())
    assert (finding.severity, "DirectTrans and ATS" in finding.because) == ("info", True)
    host.raw(host.nic_folder, config(ats=False))
    assert of("GT101", host.node())[0].severity == "error"


def two_gpus(nvlinks: int | None) -> NodeTopology:
    bridges = tuple(Bridge(id, above, "switch") for id, above in (
        ("0000:18:00.0", None), ("0000:19:00.0", "0000:18:00.0"), ("0000:19:01.0", "0000:18:00.0")))  # fmt: skip
    word = Observed("acs-enabled", ("0000:19:00.0",), "ACSCtl: SrcValid+ ReqRedir+", "s1", 9)
    gpus = (Gpu("GPU0", parent="0000:19:00.0"), Gpu("GPU1", parent="0000:19:01.0"))
    pairs = all_pairs(("GPU0", "GPU1"), PathLevel.PIX, nvlinks=nvlinks)
    return NodeTopology(bridges=bridges, gpus=gpus, pairs=pairs, observations=(word,))


@pytest.mark.parametrize(("nvlinks", "severity"), [(0, "error"), (4, "info"), (None, "warning")])
def test_gpus_that_nvlink_joins_do_not_use_the_path(nvlinks: int | None, severity: str) -> None:
    [finding] = found("GT101", two_gpus(nvlinks))
    assert finding.severity == severity


def test_an_excerpt_of_lspci_is_not_called_an_error(tmp_path: Path) -> None:
    text = (
        "0000:3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 80GB] [10de:20b5] (rev a1)\n"
        "\tKernel driver in use: nvidia\n\n"
        "0000:9a:04.0 PCI bridge [0604]: Broadcom / LSI PEX890xx [1000:c030] (rev b0)\n"
        "\tCapabilities: [b70 v1] Access Control Services\n"
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    )
    (tmp_path / "lspci.txt").write_text(text)
    [finding] = of("GT101", gputopo.load_node(str(tmp_path / "lspci.txt")))
    assert finding.severity == "warning"
    assert "whether a GPU is below is not in this text" in finding.message
    assert finding.evidence[0].line == 4  # where the port begins


def test_the_gravest_neighbour_decides_and_devices_stand_in_node_order() -> None:
    bridges = tuple(Bridge(id, above, "switch") for id, above in (
        ("0000:18:00.0", None), ("0000:19:00.0", "0000:18:00.0"), ("0000:19:01.0", "0000:18:00.0")))  # fmt: skip
    word = Observed("acs-enabled", ("0000:19:01.0",), "ACSCtl: ReqRedir+", "s1", 9)
    node = NodeTopology(
        sources=(Source("s1", "lspci.txt", "lspci-vvv", "", True),), bridges=bridges, observations=(word,),
        gpus=(Gpu("GPU0", parent="0000:19:00.0"),), nvme=(Nvme("0000:1b:00.0", parent="0000:19:01.0"),),
        nics=(Nic("mlx5_0", parent="0000:19:01.0"),),
    )  # fmt: skip
    [finding] = found("GT101", node)
    assert finding.subjects == ("GPU0", "mlx5_0", "0000:1b:00.0")
    assert finding.severity == "error"


# GT102


def test_without_a_module_gpudirect_rdma_cannot_work(host: Host) -> None:
    host.file("proc/modules", "nvidia 9711616 0 - Live 0x0")
    host.file("proc/driver/nvidia/version", CLOSED)
    [finding] = of("GT102", host.node())
    assert (finding.severity, finding.subjects) == ("info", ("GPU0", "mlx5_0"))
    assert says(finding, "modprobe nvidia-peermem")
    assert says(finding, "open kernel modules")
    assert {one.text for one in finding.evidence} >= {
        "nvidia_peermem is not loaded", "the proprietary kernel module of NVIDIA",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("because", "fires"),
    [
        (NO_MODULE, True),
        (f"{NO_MODULE}; ACS sends the traffic between them up to the CPU", True),
        (f"SYS: NCCL's default ends at PXB (NCCL_NET_GDR_LEVEL); {NO_MODULE}", False),
        (f"NVIDIA GeForce RTX 4090 is a consumer GPU; {NO_MODULE}", False),
        ("the IOMMU translates (group type DMA)", False),
    ],
)
def test_a_module_is_named_only_where_it_would_help(because: str, fires: bool) -> None:
    node = NodeTopology(gpus=(Gpu("GPU0"),), gpudirect=(GpuDirect("GPU0", "mlx5_0", "rdma", "not", because),))
    assert bool(found("GT102", node)) is fires


def test_what_was_not_read_is_asked_for_once(host: Host) -> None:
    host.not_root()
    for path in ("proc/modules", "proc/driver/nvidia/version", "sys/kernel/iommu_groups"):
        host.remove(path)
    [needs] = needed("GT102", host.node())
    assert needs.startswith("GPUDirect RDMA: loaded modules (lsmod)")
    assert "ACS" not in needs  # GT101 asks for it
    assert "iommu" not in needs


# GT103


def test_translation_on_bare_metal_is_a_warning(host: Host) -> None:
    host.groups("DMA-FQ")
    [finding] = of("GT103", host.node())
    assert (finding.severity, finding.message) == ("warning", "the IOMMU translates for GPU0 (group type DMA-FQ)")
    assert "iommu=pt" in finding.remedy
    assert any("group 40 (DMA-FQ)" in one.text for one in finding.evidence)


def test_where_all_gpus_have_nvlink_only_nics_are_touched() -> None:
    gpus = tuple(Gpu(f"GPU{n}", nvlinks=NvLinks(18, 18, "switch")) for n in (0, 1))
    seen = Observed("iommu-groups", ("GPU0", "GPU1"), "a: group 1 (DMA), b: group 2 (DMA)", "s1", None)
    node = NodeTopology(gpus=gpus, observations=(seen,), pairs=all_pairs(("GPU0", "GPU1"), PathLevel.NODE, nvlinks=18))
    [finding] = found("GT103", node)
    assert (finding.severity, finding.subjects) == ("info", ("GPU0", "GPU1"))


@pytest.mark.parametrize("change", ["identity", "guest", "vfio", "no groups"])
def test_pass_through_guests_and_given_away_gpus_are_silent(host: Host, change: str) -> None:
    if change != "no groups":
        host.groups("identity" if change == "identity" else "DMA")
    if change == "guest":
        host.file("sys/class/dmi/id/sys_vendor", "QEMU")
    if change == "vfio":
        host.bind(host.gpu_folder, "vfio-pci")
    assert (of("GT103", host.node()), needed("GT103", host.node())) == ([], [])


def test_a_group_without_type_is_not_checked_unless_an_option_tells(host: Host) -> None:
    host.groups(None)
    [needs] = needed("GT103", host.node())
    assert "iommu_groups/*/type" in needs
    host.file("proc/cmdline", "ro intel_iommu=on iommu=pt")
    assert needed("GT103", host.node()) == []


def test_a_single_gpu_without_nics_has_no_peer() -> None:
    seen = Observed("iommu-groups", ("GPU0",), "a: group 1 (DMA)", "s1", None)
    alone = NodeTopology(gpus=(Gpu("GPU0"),), observations=(seen,))
    assert found("GT103", alone) == ()
    assert found("GT103", alone._replace(nics=(Nic("mlx5_0", "mlx5_0"),))) != ()
