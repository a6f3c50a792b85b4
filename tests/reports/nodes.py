"""Nodes written by hand: what the printed pictures and the documents are made of. Invented figures."""

from __future__ import annotations

from itertools import combinations

from gputopo.inspection import Inspection
from gputopo.rules.finding import Evidence, Finding, NotChecked
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import BY_NAME, PathLevel
from gputopo.topology.node import (
    Bridge,
    Conflict,
    Fabric,
    FabricIsland,
    Gpu,
    Islands,
    Link,
    Mig,
    Nic,
    NodeTopology,
    NoteAssumption,
    NoteUnknown,
    NumaNode,
    NvLinks,
    Nvme,
    NvSwitch,
    Observed,
    Package,
    Pair,
    PairLink,
    Pcie,
    Source,
    System,
    Value,
)


def cpus(text: str) -> CpuSet:
    parsed = CpuSet.parse_list(text)
    assert parsed is not None
    return parsed


def _levels(ids: list[str], level_of: dict[frozenset[str], str]) -> tuple[Pair, ...]:
    made = []
    for a, b in combinations(ids, 2):
        level = level_of.get(frozenset((a, b)))
        pcie = BY_NAME.get(level) if level is not None else None
        made.append(Pair(a, b, level, pcie, (pcie,) if pcie else tuple(PathLevel), "printed" if pcie else None, 0))
    return tuple(made)


def single() -> Inspection:
    """One GPU in a workstation, read live; nothing to say."""
    node = NodeTopology(
        name="bench-1",
        system=System(driver="570.124.06"),
        sources=(Source("sysfs-root", "/", "sysfs-root", "live", True),),
        packages=(Package("PKG0", 0, cpus("0-15"), (0,)),),
        numa_nodes=(NumaNode("NUMA0", 0, "cpu", cpus("0-15"), ("PKG0",), 64 * 2**30, {0: 10}),),
        bridges=(
            Bridge("pci0000:00", None, "hostBridge"),
            Bridge("0000:00:01.0", "pci0000:00", "bridge"),
        ),
        nvswitches=(),
        gpus=(
            Gpu(
                "GPU0", 0, uuid="GPU-1b5e", name="NVIDIA L4", vendor="nvidia", pci="0000:01:00.0",
                parent="0000:00:01.0", numa_nodes=(0,), packages=("PKG0",), cpus=cpus("0-15"),
                cpus_complete=True, pcie=Pcie(4, 16, 4, 16),
            ),
        ),
        nics=(),
        nvme=(Nvme("nvme0", "0000:02:00.0", None, "pci0000:00", (0,), ("PKG0",)),),
        islands=Islands(numa=(("GPU0",),), package=(("GPU0",),)),
    )  # fmt: skip
    return Inspection(node, (), ())


def bridged() -> Inspection:
    """Four GPUs on two sockets, NVLink bridges between two couples, one NIC, one narrow link."""
    numa = {"GPU0": 0, "GPU1": 0, "GPU2": 1, "GPU3": 1}
    gpus = tuple(
        Gpu(
            id, number, uuid=f"GPU-{number}", name="NVIDIA A40", vendor="nvidia", pci=f"0000:{bus}:00.0",
            parent=f"pci0000:{bus}", numa_nodes=(numa[id],), packages=(f"PKG{numa[id]}",),
            cpus=cpus("0-15" if numa[id] == 0 else "16-31"), cpus_complete=True,
            nvlinks=NvLinks(4, 4, "direct"), pcie=Pcie(1, 8 if id == "GPU2" else 16, 4, 16),
            nearest_nics=("NIC0",),
        )
        for number, (id, bus) in enumerate(zip(numa, ("21", "41", "a1", "c1")))
    )  # fmt: skip
    ids = [*numa, "NIC0"]
    pairs = []
    for a, b in combinations(ids, 2):
        far = numa.get(a, 0) != numa.get(b, 0)
        level = PathLevel.SYS if far else PathLevel.NODE
        pair = Pair(a, b, level.name, level, (level,), "tree", None if b == "NIC0" else 0, None, (), None, far, far)
        if (a, b) in (("GPU0", "GPU1"), ("GPU2", "GPU3")):
            pair = pair._replace(
                level="NV4", nvlinks=4, via_switch=False, links=(PairLink("nvlink", 4, "direct", 14.0625),)
            )
        pairs.append(pair)
    node = NodeTopology(
        name="a40-7",
        sources=(
            Source("sysfs-root", "a40-7.tar", "sysfs-root", "", True),
            Source("nvidia-smi-topo", "topo.txt", "nvidia-smi-topo", "", True),
        ),
        packages=(Package("PKG0", 0, cpus("0-15"), (0,)), Package("PKG1", 1, cpus("16-31"), (1,))),
        numa_nodes=(
            NumaNode("NUMA0", 0, "cpu", cpus("0-15"), ("PKG0",), 270_000_000_000, {0: 10, 1: 32}),
            NumaNode("NUMA1", 1, "cpu", cpus("16-31"), ("PKG1",), 270_000_000_000, {0: 32, 1: 10}),
        ),
        bridges=tuple(
            Bridge(f"pci0000:{bus}", None, "hostBridge", numa_nodes=(place // 2,))
            for place, bus in enumerate(("21", "41", "a1", "c1"))
        ),
        nvswitches=(),
        gpus=gpus,
        nics=(
            Nic(
                "NIC0", "mlx5_0", ("ens1f0",), 1, "0000:42:00.0", Pcie(4, 16, 4, 16), (), "mellanox",
                "pci0000:41", (0,), ("PKG0",), "Ethernet", 100.0, "up",
            ),
        ),
        pairs=tuple(pairs),
        islands=Islands(
            nvlink=(("GPU0", "GPU1"), ("GPU2", "GPU3")),
            numa=(("GPU0", "GPU1"), ("GPU2", "GPU3")),
            package=(("GPU0", "GPU1"), ("GPU2", "GPU3")),
        ),
        conflicts=(
            Conflict(
                ("GPU3",), "numaNodes", [1], (Value([1], "sysfs-root"), Value([0], "nvidia-smi-topo"))
            ),
        ),
    )  # fmt: skip
    findings = (
        Finding("GT113", "info", ("GPU0",), "GPU numbers follow NUMA", "ranks can be bound by counting"),
        Finding(
            "GT112", "error", ("GPU2",), "GPU2 runs PCIe x8; GPU and slot both allow x16",
            "host-to-GPU bandwidth is halved, NVLink is not affected", "",
            "reseat the card, check riser and cable",
            (Evidence("sysfs-root", None, "0000:a1:00.0 current_link_width 8, max_link_width 16"),),
        ),
    )  # fmt: skip
    return Inspection(node, findings, (NotChecked("GT101", "ACS (lspci -vvv as root)"),))


def pasted() -> Inspection:
    """Three GPUs out of a text: NUMA of one row lost, levels open, a device name with an escape in it."""
    open_levels = (PathLevel.NODE, PathLevel.SYS)
    near = (PathLevel.PIX,)
    pairs = (
        Pair("GPU0", "GPU1", "NV12", None, open_levels, None, 12, None),
        Pair("GPU0", "GPU2", "NV12", PathLevel.SYS, (PathLevel.SYS,), "third-device", 12, None),
        Pair("GPU0", "NIC0", "PIX", PathLevel.PIX, near, "printed"),
        Pair("GPU1", "GPU2", None, None, tuple(PathLevel), None, None, None),
        Pair("GPU1", "NIC0", None, None, open_levels, None),
        Pair("GPU2", "NIC0", "SYS", PathLevel.SYS, (PathLevel.SYS,), "printed"),
    )
    node = NodeTopology(
        sources=(Source("nvidia-smi-topo", "-", "nvidia-smi-topo", "line 12", False),),
        gpus=(
            Gpu("GPU0", 0, numa_nodes=(0,), cpus=cpus("0-31,64-95"), nearest_nics=("NIC0",)),
            Gpu("GPU1", 1),
            Gpu("GPU2", 2, numa_nodes=(1,), cpus=cpus("32-63"), cpus_complete=True, nearest_nics=("NIC0",)),
        ),
        nics=(Nic("NIC0", "mlx5_0\x1b[31m"),),
        pairs=pairs,
        islands=Islands(nvlink=(("GPU0", "GPU1", "GPU2"),), numa=(("GPU0",), ("GPU2",))),
        unknown=(
            NoteUnknown(("GPU0-GPU1",), "pcie", "topo -m hides it behind NV#", "nvidia-smi topo -mp"),
            NoteUnknown(("GPU1",), "row", "the row is cut", "nvidia-smi topo -m > FILE"),
            NoteUnknown(("GPU0", "GPU1", "GPU2"), "uuid", "no source prints the UUID", "nvidia-smi -L"),
            NoteUnknown(("GPU0", "GPU1", "GPU2"), "name", "no source prints the model", "nvidia-smi -L"),
            NoteUnknown(("node",), "packages", "no source tells the sockets", "lscpu"),
        ),
        assumptions=(NoteAssumption(("NIC0",), "the legend's order is that of the columns", "nvidia-smi-topo"),),
        observations=(Observed("row-cut", ("GPU1",), "GPU1 NV12", "nvidia-smi-topo", 14),),
    )
    findings = (
        Finding(
            "GT003", "warning", ("GPU1",), "the matrix is incomplete: row of GPU1 cut",
            "levels of this row are known from the other side only", "lines were lost when it was copied",
            "nvidia-smi topo -m > topo.txt", (Evidence("nvidia-smi-topo", 14, "GPU1\tNV12\t X \tN\x1b[0m"),),
        ),
    )  # fmt: skip
    return Inspection(node, findings, ())


def hgx(nics: int = 10) -> Inspection:
    """Eight GPUs behind NVSwitches, a NIC under each GPU's switch and further ones without a GPU."""
    buses = ("0f", "2d", "44", "5b", "89", "a8", "c0", "d8")
    roots = ("09", "27", "3e", "55", "83", "a2", "ba", "d2")
    bridges: list[Bridge] = []
    gpus: list[Gpu] = []
    wires: list[Nic] = []
    for at, (bus, root) in enumerate(zip(buses, roots)):
        switch = f"0000:{int(root, 16) + 2:02x}:00.0"
        own, other = f"0000:{int(bus, 16) - 1:02x}:00.0", f"0000:{int(bus, 16) - 1:02x}:01.0"
        bridges += [
            Bridge(f"pci0000:{root}", None, "hostBridge", numa_nodes=(at // 4,)),
            Bridge(switch, f"pci0000:{root}", "switch", "0x1000", "0xc030"),
            Bridge(own, switch, "switch"),
            Bridge(other, switch, "switch"),
        ]
        place = {"numa_nodes": (at // 4,), "packages": (f"PKG{at // 4}",)}
        gpus.append(
            Gpu(
                f"GPU{at}", at, uuid=f"GPU-{at:08x}", name="NVIDIA H100 80GB HBM3", vendor="nvidia",
                architecture="hopper", compute_capability="9.0", memory_bytes=85_520_809_984,
                pci=f"0000:{bus}:00.0", minor=at, module_id=at + 1, parent=own, driver="nvidia",
                cpus=cpus("0-55,112-167" if at < 4 else "56-111,168-223"), cpus_complete=True,
                nvlinks=NvLinks(18, 18, "switch"),
                links=tuple(Link(n, "active", 26.5625, f"NVSwitch{n % 4}", "switch") for n in range(18)),
                fabric=Fabric("Completed", "Success"), pcie=Pcie(5, 16, 5, 16),
                nearest_nics=(f"NIC{at}",), aliases=(f"nvidia{at}",), **place,
            )
        )  # fmt: skip
        wires.append(
            Nic(
                f"NIC{at}", f"mlx5_{at}", (f"ib{at}",), 1, f"0000:{int(bus, 16) + 1:02x}:00.0", Pcie(5, 16, 5, 16),
                (), "mellanox", other, link_layer="InfiniBand", rate_gbps=400.0, state="up", **place,
            )
        )  # fmt: skip
    for at in range(8, nics):
        side = (at - 8) % 2
        root = f"pci0000:{('70', 'e8')[side]}"
        if root not in {bridge.id for bridge in bridges}:
            bridges.append(Bridge(root, None, "hostBridge", numa_nodes=(side,)))
        wires.append(
            Nic(
                f"NIC{at}", f"mlx5_{at}", (f"eth{at}",), 1, f"0000:{('71', 'e9')[side]}:00.{(at - 8) // 2}", None, (),
                "mellanox", root, (side,), (f"PKG{side}",), "Ethernet", 100.0, "up",
            )
        )  # fmt: skip
    node = NodeTopology(
        name="gpu-a17", taken_at="2026-11-29T03:12:07Z", boot_id="5f0e6c1a", view="host", virtual=False,
        system=System("HGX", "6.8.0", "570.124.06", "12.8"), allowed_cpus=cpus("0-223"),
        sources=(Source("sysfs-root", "a17.tar.xz", "sysfs-root", "", True),
                 Source("nvml-recording", "a17.tar.xz", "nvml-recording", "", True)),
        packages=(Package("PKG0", 0, cpus("0-55,112-167"), (0,), "GenuineIntel", 6, 143, "x86_64"),
                  Package("PKG1", 1, cpus("56-111,168-223"), (1,), "GenuineIntel", 6, 143, "x86_64")),
        numa_nodes=tuple(
            NumaNode(f"NUMA{n}", n, "cpu", cpus(("0-55,112-167", "56-111,168-223")[n]), (f"PKG{n}",),
                     1_081_101_176_832, {0: 10 if n == 0 else 21, 1: 21 if n == 0 else 10})
            for n in range(2)
        ),
        bridges=tuple(bridges),
        nvswitches=tuple(NvSwitch(f"NVSwitch{n}", f"0000:0{n + 3}:00.0") for n in range(4)),
        gpus=tuple(gpus), nics=tuple(wires), nvme=(), pairs=_hgx_pairs(gpus, wires),
        islands=Islands(
            nvlink=(tuple(gpu.id for gpu in gpus),),
            fabric=(FabricIsland("5f0e6c1a-77aa-4d10-9f5e-0d3b8f6a1c22", 3, tuple(gpu.id for gpu in gpus)),),
            numa=(tuple(g.id for g in gpus[:4]), tuple(g.id for g in gpus[4:])),
            package=(tuple(g.id for g in gpus[:4]), tuple(g.id for g in gpus[4:])),
        ),
        provenance={"GPU0": {"pci": "sysfs-root", "uuid": "nvml-recording"}},
    )  # fmt: skip
    return Inspection(node, (), (NotChecked("GT101", "ACS (lspci -vvv as root)"),))


def _hgx_pairs(gpus: list[Gpu], nics: list[Nic]) -> tuple[Pair, ...]:
    made = []
    for a, b in combinations([*gpus, *nics], 2):
        far = a.numa_nodes != b.numa_nodes
        same_switch = isinstance(b, Nic) and isinstance(a, Gpu) and a.id[3:] == b.id[3:]
        level = PathLevel.PIX if same_switch else PathLevel.SYS if far else PathLevel.NODE
        pair = Pair(a.id, b.id, level.name, level, (level,), "tree", cross_package=far, cross_numa=far)
        if isinstance(b, Gpu):
            pair = pair._replace(
                level="NV18", nvlinks=18, via_switch=True, links=(PairLink("nvlink", 18, "switch", 26.5625),)
            )
        made.append(pair)
    return tuple(made)


def mig() -> Inspection:
    """A GPU cut into MIG devices, beside one of an unknown model."""
    inspection = single()
    gpu = inspection.node.gpus[0]._replace(mig=(Mig("MIG-a", "1g.6gb", 7, 0, 0), Mig("MIG-b", "1g.6gb", 8, 0, 1)))
    pairs = _levels(["GPU0", "GPU1"], {frozenset(("GPU0", "GPU1")): "PHB"})
    return inspection._replace(node=inspection.node._replace(gpus=(gpu, Gpu("GPU1", 1)), pairs=pairs))
