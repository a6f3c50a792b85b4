"""The 42 causes that NCCL's issue threads name: which rule tells each, from what, and what it must not accuse."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gputopo.evidence.piece import Piece
from gputopo.inspection import nodes
from gputopo.rules.codes import MODULES, load
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import (
    Bridge,
    Fabric,
    Gpu,
    Nic,
    NodeTopology,
    NumaNode,
    NvLinks,
    Observed,
    Package,
    Pair,
    Pcie,
)
from tests.nccl import files
from tests.rules.nodes import healthy_hgx
from tests.rules.test_job_rules import CASES

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
TABLE = SHARED / "data" / "nccl" / "rules.jsonl"
Made = Callable[[], Any]


class Cause(NamedTuple):
    """`fires`: a node or job of which the rule says it with `severity`; `spared`: one that it must not accuse.

    Both as (rule, what is judged); `also`: rules that tell a part of it.
    """

    rule: str
    severity: str
    fires: Made
    spared: Made
    also: tuple[str, ...] = ()


def severities(rule: str, judged: Any) -> set[str]:
    return {one.severity for one in load(rule).check(judged) if one.rule == rule}


def job(rule: str, what: str) -> Made:
    [made] = [made for said, _, made in CASES[rule] if said == what]
    return made  # type: ignore[no-any-return]


def xml(*inside: str, cpu: str = files.INTEL_SPR) -> Made:
    """A topology file, below one CPU."""
    text = files.system(files.cpu(0, cpu, *inside))
    return lambda: nodes([Piece("topo.xml", text.encode())])[0]


def observed(kind: str, text: str, *subjects: str, **fields: Any) -> Made:
    seen = Observed(kind, subjects, text, "s1", 3)
    gpus = tuple(Gpu(f"GPU{n}", nvml_index=n, name="NVIDIA A100-SXM4-80GB", parent="0000:19:00.0") for n in range(2))
    return lambda: NodeTopology(**({"gpus": gpus, "observations": (seen,)} | fields))


def switch(acs: str, **fields: Any) -> Made:
    """A GPU and a NIC below two ports of one switch."""
    bridges = tuple(
        Bridge(id, above, "switch")
        for id, above in (("0000:18:00.0", None), ("0000:19:00.0", "0000:18:00.0"), ("0000:19:01.0", "0000:18:00.0"))
    )
    nics = (Nic("mlx5_0", parent="0000:19:01.0"),)
    gpus = (Gpu("GPU0", parent="0000:19:00.0"),)
    return observed("acs-enabled", f"ACSCtl: {acs}", "0000:19:00.0", bridges=bridges, nics=nics, gpus=gpus, **fields)


def pair(level: PathLevel, nvlinks: int, model: str, **status: str) -> Made:
    two = Pair("GPU0", "GPU1", f"NV{nvlinks}" if nvlinks else level.name, level, nvlinks=nvlinks, p2p=dict(status))
    return lambda: NodeTopology(gpus=(Gpu("GPU0", name=model), Gpu("GPU1", name=model)), pairs=(two,))


def with_gpus(change: Callable[[Gpu], Gpu], **fields: Any) -> Made:
    def made() -> NodeTopology:
        node = healthy_hgx()
        return node._replace(gpus=tuple(change(gpu) for gpu in node.gpus), **fields)

    return made


def only(id: str, **fields: Any) -> Callable[[Gpu], Gpu]:
    return lambda gpu: gpu._replace(**fields) if gpu.id == id else gpu


def nearest(levels: Iterable[tuple[str, str, PathLevel]], near: dict[str, str]) -> Made:
    """GPU-NIC levels; `near`: the nearest NIC of each GPU."""
    pairs = tuple(Pair(gpu, nic, pcie=level) for gpu, nic, level in levels)
    gpus = tuple(Gpu(id, nearest_nics=(nic,)) for id, nic in near.items())
    nics = tuple(Nic(id) for id in dict.fromkeys(nic for _, nic, _ in levels))
    return lambda: NodeTopology(gpus=gpus, nics=nics, pairs=pairs)


def rates(*gbps: float) -> Made:
    gpus = tuple(Gpu(f"GPU{n}", nearest_nics=(f"mlx5_{n}",)) for n in range(len(gbps)))
    nics = tuple(Nic(f"mlx5_{n}", vendor="0x15b3", rate_gbps=rate) for n, rate in enumerate(gbps))
    return lambda: NodeTopology(gpus=gpus, nics=nics)


def sockets(nodes_a_socket: int) -> Made:
    count = 2 * nodes_a_socket
    numa = tuple(
        NumaNode(f"NUMA{n}", n, "cpu", CpuSet.of([n]), (f"PKG{n // nodes_a_socket}",)) for n in range(count)
    )
    packages = tuple(
        Package(f"PKG{n}", n, None, tuple(range(n * nodes_a_socket, (n + 1) * nodes_a_socket))) for n in range(2)
    )
    gpus = tuple(Gpu(f"GPU{n}", numa_nodes=(n,)) for n in range(count))
    return lambda: NodeTopology(packages=packages, numa_nodes=numa, gpus=gpus)


def guest(level: PathLevel) -> Made:
    two = Pair("GPU0", "GPU1", level.name, level, (level,), "printed")
    return lambda: NodeTopology(virtual=level is PathLevel.PHB, gpus=(Gpu("GPU0"), Gpu("GPU1")), pairs=(two,))


REDIRECT, VALID = "SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+", "SrcValid+ ReqRedir- CmpltRedir- UpstreamFwd-"
TRANSLATED = "18:00.0: group 12 (DMA-FQ), 3b:00.0: group 30 (DMA-FQ)"
ONE = files.gpu(0, 90, files.to_gpu(1, 4))
NIC, SWITCHED = files.nic(0, files.net(0, 200_000)), files.gpu(1, 90)
MANY = [files.pci(f"{n:04x}:01:00.0", "0x010802", files.GEN4) for n in range(130)]
PIX, PXB, NODE, PHB = PathLevel.PIX, PathLevel.PXB, PathLevel.NODE, PathLevel.PHB
A100, GEFORCE = "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090"


def row(busid: str, speed: str, width: int = 16) -> str:
    return files.pci(busid, "0x030200", speed, '<gpu dev="0" sm="90" rank="0" gdr="1"></gpu>', width=width)


CAUSES: dict[str, Cause] = {
    "ACS-ON-SWITCH": Cause("GT101", "error", switch(REDIRECT), switch(VALID)),
    "ACS-VM-ATS": Cause("GT528", "error", job("GT528", "off in a guest with redirects"),
                        job("GT528", "on in a guest with redirects")),
    "IOMMU-TRANSLATED": Cause(
        "GT103", "warning", observed("iommu-groups", TRANSLATED, "GPU0", "GPU1"),
        observed("iommu-groups", TRANSLATED, "GPU0", "GPU1",
                 packages=(Package("PKG0", 0, None, (0,), arch="aarch64"),))),
    "P2P-PCIE-DENIED": Cause("GT104", "warning", pair(PIX, 0, "NVIDIA L40S", read="CNS"),
                             pair(PIX, 0, "NVIDIA L40S", read="OK", atomics="NS"), ("GT504",)),
    "NVLINK-P2P-NOT-OK": Cause("GT512", "error", job("GT512", "denied with NVLinks"), job("GT512", "MIG"), ("GT105",)),
    "NVLINK-LINKS-MISSING": Cause(
        "GT111", "error", with_gpus(only("GPU3", nvlinks=NvLinks(12, 18, "switch"))),
        with_gpus(lambda gpu: gpu._replace(nvlinks=NvLinks(12, 18, "switch")))),
    "NVLINK-ROW-ABSENT-ONE-GPU": Cause(
        "GT111", "error",
        xml(*(files.gpu(n, 90, *([files.to_switch(18)] if n != 2 else [])) for n in range(4))),
        xml(files.gpu(0, 86, files.to_gpu(1, 4)), files.gpu(1, 86, files.to_gpu(0, 4)), files.gpu(2, 86))),
    "NVLINK-COUNT-IMPOSSIBLE": Cause(
        "GT015", "error", xml(files.gpu(0, 90, files.to_gpu(1, 4)), files.gpu(1, 90, files.to_gpu(0, 3))),
        xml(files.gpu(0, 90, files.to_gpu(1, 4)))),  # trimmed to one rank: the peer is not in it
    "FABRIC-NOT-COMPLETED": Cause(
        "GT130", "error", with_gpus(only("GPU0", fabric=Fabric("In Progress"))),
        with_gpus(only("GPU0", fabric=Fabric("Completed", "Success", 0, "00000000-0000-0000-0000-000000000000"))),
        ("GT525",)),
    "NVLS-UNAVAILABLE": Cause("GT514", "info", job("GT514", "four GPUs, where it brings nothing"),
                              job("GT514", "A100")),
    "PCIE-WIDTH-DOWN": Cause(
        "GT112", "error",
        lambda: NodeTopology(gpus=(Gpu("GPU0", parent="0000:10:00.0", pcie=Pcie(5, 8, 5, 16)),),
                             bridges=(Bridge("0000:10:00.0", None, "bridge", pcie=Pcie(5, 8, 5, 16)),)),
        lambda: NodeTopology(gpus=(Gpu("GPU0", parent="0000:10:00.0", pcie=Pcie(5, 8, 5, 16)),),
                             bridges=(Bridge("0000:10:00.0", None, "bridge", pcie=Pcie(5, 8, 5, 8)),))),
    "PCIE-SPEED-DOWN-UNDER-LOAD": Cause(
        "GT116", "error", observed("pcie-slow-at-p0", "P0, PCIe generation 1 of 4", "GPU1"),
        with_gpus(only("GPU0", pcie=Pcie(1, 16, 5, 16)))),  # idle
    "PCIE-EMULATED-SWITCH": Cause("GT524", "warning", job("GT524", "QEMU's switch"), job("GT524", "a real width"),
                                  ("GT015",)),
    "PCIE-SPEED-UNKNOWN": Cause("GT015", "info", xml(row("0000:10:00.0", "")), xml(row("0000:10:00.0", files.GEN5))),
    "VM-FLAT-TOPOLOGY": Cause("GT013", "warning", guest(PHB), guest(PIX)),
    "TOPOFILE-BUSID-MISMATCH": Cause("GT527", "error", job("GT527", "no such device"),
                                     job("GT527", "a vendor's made-up switch")),
    "TOPOFILE-NIC-AND-CHILD": Cause(
        "GT015", "error", xml(files.pci("0000:80:00.0", "0x020700", files.GEN5, "<nic></nic>", SWITCHED)),
        xml(files.switch(0, NIC, SWITCHED))),
    "TOPOFILE-DUP-BUSID": Cause("GT017", "warning", xml(NIC, NIC, SWITCHED), xml(NIC, files.nic(1), SWITCHED)),
    "TOPOFILE-BAD-SPEED-STRING": Cause(
        "GT015", "warning", xml(row("0000:10:00.0", "64 GT/s")), xml(row("0000:10:00.0", "32 GT/s PCIe/s"))),
    "TOPOFILE-TOO-BIG": Cause(
        "GT018", "warning", xml(files.gpu(0, 90), *MANY), xml(files.gpu(0, 90), SWITCHED, *MANY), ("GT526", "GT015")),
    "GDR-MODULE": Cause("GT522", "error", job("GT522", "two nodes"), job("GT522", "EFA"), ("GT102",)),
    "GDR-DISTANCE": Cause("GT521", "warning", job("GT521", "no NIC near"), job("GT521", "all near")),
    "NIC-FAR": Cause(
        "GT120", "info", nearest([("GPU0", "NIC0", PIX), ("GPU1", "NIC0", NODE)], {"GPU0": "NIC0", "GPU1": "NIC0"}),
        nearest([("GPU0", "NIC0", NODE), ("GPU1", "NIC0", NODE)], {"GPU0": "NIC0", "GPU1": "NIC0"}), ("GT408",)),
    "NIC-SHARED": Cause(
        "GT121", "warning",
        nearest([(f"GPU{n}", nic, at) for n in (0, 1) for nic, at in (("mlx5_0", PIX), ("mlx5_1", PXB))],
                {"GPU0": "mlx5_0", "GPU1": "mlx5_0"}),
        nearest([("GPU0", "mlx5_0", PIX), ("GPU1", "mlx5_0", PIX)], {"GPU0": "mlx5_0", "GPU1": "mlx5_0"})),
    "NIC-RATE": Cause("GT122", "warning", rates(400, 400, 200), rates(400, 400, 10)),
    "NET-SOCKET": Cause("GT520", "error", job("GT520", "two nodes over TCP"), job("GT520", "one node")),
    "PODS-ONE-GPU-EACH": Cause("GT506", "warning", job("GT506", "two pods over the network"),
                               job("GT506", "two pods with host IPC")),
    "SHM-FALLBACK": Cause("GT511", "error", job("GT511", "NVLink idle for no reason seen"),
                          job("GT511", "across sockets")),
    "SHM-SMALL": Cause("GT513", "error", job("GT513", "failed"), job("GT513", "another warning")),
    "SYS-NOT-MOUNTED": Cause("GT024", "error", observed("pci-class-missing", "there is no sys/class/pci_bus"),
                             observed("pci-numa-node-minus-one", "-1", "GPU0")),
    "RING-FALLBACK": Cause("GT515", "error", job("GT515", "no ring"), job("GT515", "no NVLS")),
    "TP-CROSS-SOCKET": Cause("GT501", "warning", job("GT501", "across sockets without NVLink"),
                             job("GT501", "every pair has NVLinks"), ("GT402",)),
    "TP-BREAKS-NVLINK-PAIR": Cause("GT502", "error", job("GT502", "a part of an island and one outside"),
                                   job("GT502", "whole islands, each its own group"), ("GT405",)),
    "CPU-AFFINITY": Cause("GT531", "warning", job("GT531", "one core"), job("GT531", "two cores near"), ("GT406",)),
    "NUMA-BALANCING": Cause("GT532", "info", job("GT532", "on, with a job"), job("GT532", "no job")),
    "NPS-SNC": Cause("GT115", "info", sockets(4), sockets(1)),
    "RELAXED-ORDERING": Cause("GT523", "warning", job("GT523", "off in a guest"), job("GT523", "bare metal")),
    "P2P-LEVEL-FORCED": Cause("GT510", "warning", job("GT510", "a level beyond the switch"),
                              job("GT510", "NVL on a fabric"), ("GT511",)),
    "SHARED-UPLINK": Cause("GT503", "info", job("GT503", "shared memory below one switch"),
                           job("GT503", "peer-to-peer below one switch")),
    "CUSTOM-AR-OFF": Cause("GT530", "info", job("GT530", "vLLM says so"), job("GT530", "it does not")),
    "AMD-FAMILYID": Cause(
        "GT015", "info",
        xml(ONE, cpu=files.AMD.replace('"25"', '"175"')), xml(ONE, cpu=files.AMD)),
    "TOPOFILE-SELF-NVLINK": Cause("GT015", "error", xml(files.gpu(0, 80, files.to_gpu(0, 12))),
                                  xml(files.gpu(0, 80, files.to_gpu(1, 12)))),
}  # fmt: skip


@pytest.mark.parametrize("id", CAUSES)
def test_a_known_cause_is_named_and_its_false_alarm_is_not_given(id: str) -> None:
    cause = CAUSES[id]
    assert cause.severity in severities(cause.rule, cause.fires())
    assert not severities(cause.rule, cause.spared()) & {"error", "warning", cause.severity}


@pytest.mark.skipif(not TABLE.is_file(), reason="no table of known causes beside the project")
def test_the_table_is_of_all_42() -> None:
    ids = [json.loads(line)["id"] for line in TABLE.read_text().splitlines()]
    assert sorted(ids) == sorted(CAUSES)
    assert len(ids) == 42


def test_each_rule_of_the_table_is_there() -> None:
    named = {code for cause in CAUSES.values() for code in (cause.rule, *cause.also)}
    assert named <= set(MODULES)
