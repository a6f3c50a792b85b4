"""GT5xx: each rule where it must speak, and where its own "When it is silent" says that it must not."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.job_records import FrameworkRecord, JobLog, VisibleRecord
from gputopo.jobs.join import Asked
from gputopo.nccl_records import (
    AffinityRecord,
    CountsRecord,
    DeniedPairRecord,
    FabricStateRecord,
    GdrDistanceRecord,
    NetDeviceRecord,
    SearchRecord,
    Speaker,
    SystemLink,
    SystemRecord,
    WarningRecord,
)
from gputopo.records import Gap
from gputopo.rules.codes import MODULES, is_job_rule, load
from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.jobs.example import HOST, diagnosis, log, node
from gputopo.rules.jobs.rates import Rates
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import Islands, Mig, Nic, NodeTopology, NvLinks, Observed, Package

H100 = "NVIDIA H100 80GB HBM3"
GEFORCE = "NVIDIA GeForce RTX 4090"
SHM = "SHM/direct/direct"
OFF = {"NCCL_P2P_DISABLE": "1"}
UPLINK = SystemLink("CPU/0-0", "PCI", 0.2, "PCI/0-65000", "104c823200000000", 9)


def check(code: str, seen: Diagnosis) -> tuple[Finding, ...]:
    return tuple(load(code).check(seen))  # type: ignore[arg-type]


def asked(*gpus: int, tp: int | None = None, on: NodeTopology | None = None) -> Diagnosis:
    return diagnosis(on, asked=Asked(gpus=tuple(f"GPU{gpu}" for gpu in gpus), tensor_parallel=tp))


def bridged() -> NodeTopology:
    """GPU0-GPU1 with a bridge on socket 0, GPU2-GPU3 on socket 1."""
    made = node()
    couples = (("GPU0", "GPU1"), ("GPU2", "GPU3"))
    pairs = tuple(
        pair._replace(nvlinks=12, level="NV12") if (pair.a, pair.b) in couples else pair for pair in made.pairs
    )
    return made._replace(pairs=pairs, islands=Islands(nvlink=couples))


def hgx(**fields: Any) -> NodeTopology:
    return node(18, name=H100, nvlinks=NvLinks(18, 18, "switch"), **fields)


def counted(*gpus: int, nvls: int | None = 0, on: NodeTopology | None = None, **fields: Any) -> Diagnosis:
    said = log(*gpus, counts=(CountsRecord(16, 0, nvls, 16, 16, 30),), **fields)
    return diagnosis(on or hgx(), said)


def warned(kind: str, text: str) -> Any:
    return log(0, 2, warnings=(WarningRecord(text, "", kind, True, HOST, 40),))


def pods(via: str, *hosts: str) -> Diagnosis:
    said = log(0, 1, via=via)
    [group] = said.communicators
    ranks = tuple(one._replace(speaker=Speaker(host, 1)) for one, host in zip(group.ranks, hosts))
    return diagnosis(node(18), said._replace(communicators=(group._replace(ranks=ranks),)))


def mixed_models(*names: str) -> NodeTopology:
    on = node()
    return on._replace(gpus=tuple(gpu._replace(name=name) for gpu, name in zip(on.gpus, names)))


def visible(*devices: str, **fields: Any) -> FrameworkRecord:
    return FrameworkRecord(visible=(VisibleRecord(devices, "shell", line=2),), **fields)


def distance(gpu: str, *, enabled: bool = False, hca: str = "0") -> GdrDistanceRecord:
    return GdrDistanceRecord(gpu, hca, 3 if enabled else 7, 4, enabled, HOST, 30)


def fabric(*rows: tuple[str, int, int]) -> Any:
    """(uuid, clique, state) of each rank."""
    said = [
        FabricStateRecord(
            PciAddress.parse(f"0000:1{at}:00.0"), uuid, clique, state, "0x0", Speaker(f"n{at}", 1), 5 + at
        )
        for at, (uuid, clique, state) in enumerate(rows)
    ]
    return diagnosis(said=log(0, 1, fabric=tuple(said)))


def system(*links: SystemLink) -> Diagnosis:
    return diagnosis(said=log(0, 1, systems=(SystemRecord(None, None, (), links, (), True, HOST, 8),)))


def measured(reached: float | None, expected: float | None) -> Diagnosis:
    seen = diagnosis()
    seen.rates = Rates(reached, expected, 400.0)
    return seen


def p2p(status: str, on: NodeTopology) -> NodeTopology:
    return on._replace(pairs=tuple(pair._replace(p2p={"read": status}) for pair in on.pairs))


def mask(number: int, text: str, **of_gpus: Any) -> Diagnosis:
    said = log(0, 1, affinity=(AffinityRecord(number, text, HOST._replace(pid=100), 14),))
    return diagnosis(node(**of_gpus), said)


def balancing(on: NodeTopology) -> NodeTopology:
    seen = Observed("numa-balancing", (), "proc/sys/kernel/numa_balancing: 1", "s1", None)
    return on._replace(observations=(seen,))


def denied(nvlink: bool, **of_gpus: Any) -> Diagnosis:
    return diagnosis(node(4, **of_gpus), log(0, 1, denied=(DeniedPairRecord(0, 1, "nvmlDev", nvlink, HOST, 31),)))


def rdma(on: NodeTopology | None = None) -> NodeTopology:
    return (on or node())._replace(nics=(Nic("mlx5_0", device="mlx5_0", link_layer="InfiniBand"),))


def translating(
    enabled: bool, *, virtual: bool = True, acs: str = "ReqRedir+ CmpltRedir+ UpstreamFwd+", gdr: bool = True
) -> Diagnosis:
    """A job over two nodes; its NIC's ATS, and ACS of the port above."""
    seen = (
        Observed("acs-enabled", ("0000:05:00.0",), f"ACSCtl: {acs}", "s1", 3),
        Observed("ats", ("mlx5_0",), f"ATSCtl: Enable{'+' if enabled else '-'}", "s1", 9),
    )
    on = rdma()._replace(virtual=virtual, observations=seen)
    return diagnosis(on, log(0, 1, nodes=2, net_devices=(NET._replace(gdr=gdr),)))


NET = NetDeviceRecord("mlx5_0", "IB", 0, gdr=False, line=12)
LOCAL8 = CpuSet.of(range(8))

# code: (what it is, severity or None for silence, the job)
CASES: dict[str, list[tuple[str, str | None, Any]]] = {
    "GT501": [
        ("across sockets without NVLink", "warning", lambda: asked(0, 2)),
        ("inside one socket", None, lambda: asked(0, 1)),
        ("every pair has NVLinks", None, lambda: asked(0, 2, on=node(18))),
        ("all GPUs of the node", None, lambda: asked(0, 1, 2, 3)),
        ("no better set of its size", None, lambda: asked(0, 1, 2)),
        ("a group of the whole node", "warning", lambda: asked(0, 2, 1, 3, tp=2)),
        ("nobody says which GPUs", None, diagnosis),
    ],
    "GT502": [
        ("a part of an island and one outside", "error", lambda: asked(0, 1, 2, on=bridged())),
        ("two of different islands", "error", lambda: asked(0, 2, on=bridged())),
        ("one island", None, lambda: asked(0, 1, on=bridged())),
        ("whole islands, each its own group", None, lambda: asked(0, 1, 2, 3, tp=2, on=bridged())),
        ("whole islands in crossed groups", "error", lambda: asked(0, 2, 1, 3, tp=2, on=bridged())),
        ("all GPUs without groups", None, lambda: asked(0, 1, 2, 3, on=bridged())),
        ("no NVLink on the node", None, lambda: asked(0, 2)),
        ("a fabric", None, lambda: asked(0, 2, on=node(18))),
    ],
    "GT503": [
        ("shared memory below one switch", "info", lambda: diagnosis(said=log(0, 1, via=SHM))),
        ("the driver refuses copies", "info", lambda: asked(0, 1, on=p2p("GNS", node()))),
        ("peer-to-peer below one switch", None, lambda: diagnosis(said=log(0, 1))),
        ("nothing says", None, lambda: asked(0, 1)),
        ("NVLink", None, lambda: diagnosis(node(4), log(0, 1, via=SHM))),
        ("different switches", None, lambda: diagnosis(said=log(0, 2, via=SHM))),
    ],
    "GT504": [
        ("GeForce", "info", lambda: diagnosis(node(name=GEFORCE))),
        ("GeForce with a bridge", None, lambda: diagnosis(node(4, name="NVIDIA GeForce RTX 3090"))),
        ("a patched driver", None, lambda: diagnosis(p2p("OK", node(name=GEFORCE)))),
        ("NCCL connects by P2P", None, lambda: diagnosis(node(name=GEFORCE), log(0, 1))),
        ("another class", None, lambda: diagnosis(node(name="NVIDIA L40S"))),
        ("not known", None, diagnosis),
        ("one card", None, lambda: asked(0, on=node(name=GEFORCE))),
    ],
    "GT505": [
        ("several models by number", "warning",
         lambda: diagnosis(mixed_models("Tesla T4", H100, H100, H100), framework=visible("0"))),
        ("one model", None, lambda: diagnosis(mixed_models(H100, H100, H100, H100), framework=visible("0"))),
        ("the order is set", None, lambda: diagnosis(
            mixed_models("Tesla T4", H100, H100, H100), framework=visible("0", device_order="PCI_BUS_ID"))),
        ("UUIDs", None, lambda: diagnosis(
            mixed_models("Tesla T4", H100, H100, H100), framework=visible("GPU-11111111-0000-0000-0000-000000000000"))),
        ("nothing chosen", None, lambda: diagnosis(mixed_models("Tesla T4", H100, H100, H100))),
    ],
    "GT506": [
        ("two pods over the network", "warning", lambda: pods("NET/Socket/0", "pod-0", "pod-1")),
        ("two pods with host IPC", None, lambda: pods(SHM, "pod-0", "pod-1")),
        ("one pod", None, lambda: pods("NET/Socket/0", "pod-0", "pod-0")),
    ],
    "GT507": [
        ("MIG", "info", lambda: diagnosis(node(mig=(Mig(uuid="MIG-1"),)), log(0, 1, via=SHM))),
        ("whole GPUs", None, lambda: diagnosis(said=log(0, 1, via=SHM))),
    ],
    "GT510": [
        ("a level beyond the switch", "warning",
         lambda: diagnosis(said=log(1, 2, via="P2P/IPC", env={"NCCL_P2P_LEVEL": "SYS"}))),
        ("a default beyond it", "warning", lambda: diagnosis(said=log(1, 2, via="P2P/IPC", version="2.8.3"))),
        ("off, without peer lines", "error", lambda: diagnosis(node(18), log(0, 1, env=OFF, peers=()))),
        ("off below a switch", "warning", lambda: diagnosis(said=log(0, 1, env=OFF, peers=()))),
        ("off where nothing had it", None, lambda: diagnosis(said=log(0, 2, env=OFF, peers=()))),
        ("0 is not off", None, lambda: diagnosis(node(18), log(0, 1, env={"NCCL_P2P_DISABLE": "0"}, peers=()))),
        ("NVL on a fabric", None, lambda: diagnosis(node(18), log(0, 2, env={"NCCL_P2P_LEVEL": "NVL"}))),
        ("SYS on a fabric", None, lambda: diagnosis(node(18), log(0, 2, env={"NCCL_P2P_LEVEL": "SYS"}))),
        ("P2P below a switch", None, lambda: diagnosis(said=log(0, 1))),
        ("shared memory across sockets", None, lambda: diagnosis(said=log(0, 2, via=SHM))),
    ],
    "GT511": [
        ("NVLink idle by a setting", "error", lambda: diagnosis(node(18), log(1, 2, via=SHM, env=OFF))),
        ("NVLink idle for no reason seen", "error", lambda: diagnosis(node(18), log(1, 2, via=SHM))),
        ("a switch, by a setting", "warning", lambda: diagnosis(said=log(0, 1, via=SHM, env=OFF))),
        ("a switch, for no reason seen", "error", lambda: diagnosis(said=log(0, 1, via=SHM))),
        ("across sockets", None, lambda: diagnosis(said=log(0, 2, via=SHM))),
        ("GeForce", None, lambda: diagnosis(node(name=GEFORCE), log(0, 1, via=SHM))),
        ("refused by the driver", None, lambda: diagnosis(p2p("CNS", node()), log(0, 1, via=SHM))),
        ("MIG", None, lambda: diagnosis(node(mig=(Mig(uuid="MIG-1"),)), log(0, 1, via=SHM))),
        ("P2P", None, lambda: diagnosis(node(18), log(0, 1))),
    ],
    "GT512": [
        ("denied with NVLinks", "error", lambda: denied(True)),
        ("denied without", None, lambda: denied(False)),
        ("MIG", None, lambda: denied(True, mig=(Mig(uuid="MIG-1"),))),
    ],
    "GT513": [
        ("failed", "error", lambda: diagnosis(said=warned("shm", "Error while creating shared memory"))),
        ("another warning", None, lambda: diagnosis(said=warned("net", "no route to host"))),
        ("no log", None, diagnosis),
    ],
    "GT514": [
        ("four GPUs, where it brings nothing", "info", lambda: counted(0, 1, 2, 3)),
        ("A100", None, lambda: counted(0, 1, 2, 3, on=node(12, name="NVIDIA A100-SXM4-80GB",
                                                          nvlinks=NvLinks(12, 12, "switch")))),
        ("bridged", None, lambda: counted(0, 1, 2, 3, on=node(18, name=H100, nvlinks=NvLinks(18, 18, "peer")))),
        ("NCCL 2.17", None, lambda: counted(0, 1, 2, 3, version="2.17.1")),
        ("two nodes", None, lambda: counted(0, 1, 2, 3, nodes=2)),
        ("two GPUs", None, lambda: counted(0, 1)),
        ("off by a setting", None, lambda: counted(0, 1, 2, 3, env={"NCCL_NVLS_ENABLE": "0"})),
        ("a consequence of P2P off", None, lambda: counted(0, 1, 2, 3, env=OFF)),
        ("in use", None, lambda: counted(0, 1, 2, 3, nvls=16)),
        ("before the line had it", None, lambda: counted(0, 1, 2, 3, nvls=None)),
    ],
    "GT515": [
        ("no ring", "error", lambda: diagnosis(said=log(0, 1, fallbacks=((4, 25),)))),
        ("a ring at 0.1", "error", lambda: diagnosis(said=log(
            0, 1, searches=(SearchRecord(4, 0, 1, 0.1, 0.1, "SYS", "SYS", 1, line=9),)))),
        ("no NVLS", None, lambda: diagnosis(said=log(0, 1, fallbacks=((5, 25),)))),
        ("one GPU", None, lambda: diagnosis(said=log(0, fallbacks=((4, 25),)))),
        ("a ring", None, lambda: diagnosis(said=log(
            0, 1, searches=(SearchRecord(4, 0, 12, 30.0, 30.0, "NVL", "PIX", 1, line=9),)))),
    ],
    "GT516": [
        ("three links", "info", lambda: asked(0, 1, on=node(3))),
        ("one link", None, lambda: asked(0, 1, on=node(1))),
        ("four links", None, lambda: asked(0, 1, on=node(4))),
        ("into a switch", None, lambda: asked(0, 1, on=node(17)._replace(pairs=tuple(
            pair._replace(via_switch=True) for pair in node(17).pairs)))),
        ("POWER9", None, lambda: asked(0, 1, on=node(3)._replace(
            packages=(Package("PKG0", 0, None, (0,), arch="ppc64le"),)))),
    ],
    "GT520": [
        ("two nodes over TCP", "error", lambda: diagnosis(rdma(), log(0, 1, network="Socket", nodes=2))),
        ("one node", None, lambda: diagnosis(rdma(), log(0, 1, network="Socket"))),
        ("no RDMA NIC", None, lambda: diagnosis(said=log(0, 1, network="Socket", nodes=2))),
        ("InfiniBand", None, lambda: diagnosis(rdma(), log(0, 1, network="IB", nodes=2))),
    ],
    "GT521": [
        ("no NIC near", "warning", lambda: diagnosis(said=log(
            0, 1, version="2.18.5", gdr_distances=(distance("11000"),)))),
        ("another NIC is", "info", lambda: diagnosis(said=log(
            0, 1, version="2.18.5", gdr_distances=(distance("11000"), distance("11000", enabled=True, hca="1"))))),
        ("all near", None, lambda: diagnosis(said=log(0, 1, gdr_distances=(distance("11000", enabled=True),)))),
    ],
    "GT522": [
        ("two nodes", "error", lambda: diagnosis(said=log(0, 1, net_devices=(NET,), nodes=2))),
        ("one node", "info", lambda: diagnosis(said=log(0, 1, net_devices=(NET,)))),
        ("enabled", None, lambda: diagnosis(said=log(0, 1, net_devices=(NET._replace(gdr=True),), nodes=2))),
        ("EFA", None, lambda: diagnosis(said=log(0, 1, net_devices=(NET._replace(net="Libfabric"),), nodes=2))),
    ],
    "GT523": [
        ("off in a guest", "warning", lambda: diagnosis(node()._replace(virtual=True), log(
            0, 1, env={"NCCL_IB_PCI_RELAXED_ORDERING": "0"}, nodes=2))),
        ("not offered in a guest", "warning", lambda: diagnosis(
            node()._replace(virtual=True), log(0, 1, relaxed_ordering=False, nodes=2))),
        ("bare metal", None, lambda: diagnosis(node()._replace(virtual=False), log(
            0, 1, relaxed_ordering=False, nodes=2))),
        ("one node", None, lambda: diagnosis(node()._replace(virtual=True), log(0, 1, relaxed_ordering=False))),
        ("on", None, lambda: diagnosis(node()._replace(virtual=True), log(0, 1, relaxed_ordering=True, nodes=2))),
    ],
    "GT524": [
        ("QEMU's switch", "warning", lambda: system(UPLINK)),
        ("NVLink and a NIC below", "info", lambda: system(
            UPLINK, UPLINK._replace(parent="PCI/0-65000", kind="PCI", gbps=48.0, child="GPU/0-68000", detail="0"),
            UPLINK._replace(parent="PCI/0-65000", kind="PCI", gbps=48.0, child="NIC/0-67000", detail=""),
            UPLINK._replace(parent="GPU/0-68000", kind="NVL", gbps=360.0, child="NVS/0-0", detail=""))),
        ("a real width", None, lambda: system(UPLINK._replace(gbps=48.0))),
    ],
    "GT525": [
        ("not completed", "error", lambda: fabric(("0.0", 0, 2))),
        ("two domains", "info", lambda: fabric(("1.1", 32766, 3), ("2.1", 32766, 3))),
        ("one domain", None, lambda: fabric(("1.1", 7, 3), ("1.1", 7, 3))),
        ("an HGX board", None, lambda: fabric(("0.0", 0, 3), ("0.0", 0, 3))),
        ("no lines", None, lambda: diagnosis(said=log(0, 1))),
    ],
    "GT526": [
        ("too many", "error", lambda: diagnosis(said=warned("xml-limit", "too many XML nodes (max 256)")._replace(
            xml_node_limit=256))),
        ("no line", None, lambda: diagnosis(said=log(0, 1))),
    ],
    "GT527": [
        ("no such device", "error", lambda: diagnosis(said=warned(
            "missing-device", "Could not find real path of /sys/class/pci_bus/0000:9f/../../0000:9f:00.0")._replace(
            missing_devices=("0000:9f:00.0",)))),
        ("one that the node has", None, lambda: diagnosis(said=log(0, 1, missing_devices=("0000:12:00.0",)))),
        ("a vendor's made-up switch", None, lambda: diagnosis(said=log(0, 1, missing_devices=("ffff:ff:01.0",)))),
        ("none", None, lambda: diagnosis(said=log(0, 1))),
    ],
    "GT528": [
        ("off in a guest with redirects", "error", lambda: translating(False)),
        ("on in a guest with redirects", None, lambda: translating(True)),
        ("off on bare metal", None, lambda: translating(False, virtual=False)),
        ("off where nothing redirects", None, lambda: translating(False, acs="SrcValid+ ReqRedir- CmpltRedir-")),
        ("off, and the job does not use it with GDR", None, lambda: translating(False, gdr=False)),
    ],
    "GT530": [
        ("vLLM says so", "info", lambda: diagnosis(framework=FrameworkRecord(
            ("vllm",), custom_allreduce_off=("not supported on more than two PCIe-only GPUs", 3)))),
        ("it does not", None, lambda: diagnosis(framework=FrameworkRecord(("vllm",)))),
    ],
    "GT531": [
        ("one core", "warning", lambda: mask(0, "1", cpus=LOCAL8)),
        ("no CPU near", "warning", lambda: mask(0, "ff00", cpus=LOCAL8)),
        ("two cores near", None, lambda: mask(0, "3", cpus=LOCAL8)),
        ("where the GPU's CPUs are not known", None, lambda: mask(0, "ff00")),
    ],
    "GT532": [
        ("on, with a job", "info", lambda: diagnosis(balancing(node()), log(0, 1))),
        ("no job", None, lambda: diagnosis(balancing(node()))),
        ("not read", None, lambda: diagnosis(said=log(0, 1))),
    ],
    "GT540": [
        ("a tenth", "warning", lambda: measured(24.0, 240.0)),
        ("two thirds", None, lambda: measured(160.0, 240.0)),
        ("nothing expected", None, lambda: measured(1.0, None)),
        ("nothing measured", None, lambda: measured(None, 240.0)),
    ],
    "GT550": [
        ("other bus ids", "warning", lambda: diagnosis(said=log(7, 8))),
        ("its own", None, lambda: diagnosis(said=log(0, 1))),
        ("a log without ranks", None, lambda: diagnosis(said=log())),
    ],
    "GT551": [
        ("cut", "info", lambda: diagnosis(said=log(
            0, 1, whole=False, gaps=(Gap((), "ranks", "ranks 2 and 3 are not in it", "the whole log", 40),)))),
        ("whole", None, lambda: diagnosis(said=log(0, 1))),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("code", "severity", "job"),
    [
        pytest.param(code, severity, job, id=f"{code} {what}")
        for code, rows in CASES.items()
        for what, severity, job in rows
    ],
)
def test_a_rule_speaks_where_it_must_and_is_silent_where_it_says(code: str, severity: str | None, job: Any) -> None:
    found = check(code, job())
    assert {one.severity for one in found} == ({severity} if severity else set()), [one.message for one in found]
    for one in found:
        assert one.rule == code
        assert one.matters
        assert one.remedy
        assert one.evidence
        assert "\n" not in one.message + one.matters + one.remedy


def two_jobs(*second: int, host: str = "node-a") -> Diagnosis:
    seen = diagnosis(said=log(0, 1))
    other = log(*second)
    both = seen.job.logs[0]._replace(log=JobLog(("nccl-log",), (log(0, 1), other)))
    seen.job = seen.job._replace(logs=(both,))
    return seen


def test_several_jobs_are_said_to_be_several_and_one_is_not() -> None:
    [found] = check("GT552", two_jobs(2, 3))
    assert found.severity == "warning"
    assert check("GT552", diagnosis(said=log(0, 1))) == ()
    assert check("GT552", two_jobs(2)) == ()  # a job of one rank has no collective to be mixed up


def test_every_rule_over_jobs_has_cases_of_both_kinds() -> None:
    codes = {code for code in MODULES if is_job_rule(code)}
    assert codes == set(CASES) | {"GT552"}
    for code, rows in CASES.items():
        assert any(severity for _, severity, _ in rows), code
        assert any(severity is None for _, severity, _ in rows), code


def test_a_pxb_pair_is_denied_by_pix() -> None:
    on = node()
    far = on._replace(pairs=tuple(
        pair._replace(pcie=PathLevel.PXB, level="PXB") if pair.level == "PIX" else pair for pair in on.pairs
    ))  # fmt: skip
    [found] = check("GT511", diagnosis(far, log(0, 1, via=SHM, env={"NCCL_P2P_LEVEL": "PIX"})))
    assert "NCCL_P2P_LEVEL=PIX" in found.message
    [found] = check("GT511", diagnosis(far, log(0, 1, via=SHM, env={"NCCL_P2P_LEVEL": "2"})))
    assert "no setting in the log explains it" in found.because


@pytest.mark.parametrize("gpu", ["11000", "1", "GPU/0-11000"])
def test_a_distance_names_the_gpu_by_bus_id_or_rank(gpu: str) -> None:
    """Ranks 0 and 1 are on GPU0 and GPU1."""
    [found] = check("GT521", diagnosis(said=log(0, 1, version="2.27.3", gdr_distances=(distance(gpu),))))
    assert found.subjects == ("GPU1",)
