"""Machines of any size to be drawn, and the sources whose pictures are looked through."""

from __future__ import annotations

import os
from functools import lru_cache
from itertools import combinations
from pathlib import Path

from gputopo.evidence.open import open_sources
from gputopo.inspection import nodes
from gputopo.topology.node import Bridge, Gpu, Nic, NodeTopology, NumaNode, NvLinks, Nvme, Package, Pair, PairLink
from tests.reports.nodes import cpus

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
DATA = SHARED / "data"
# One of every kind that looks different: trees of ports and of switches, cut matrices, other vendors, many of all.
RECORDED = (
    "sysfs/hwloc-xml/dgx2-16v100.xml", "sysfs/hwloc-xml/many-vfs.xml", "sysfs/hwloc/nec-8ve-2plx-2ib-el7.tar.xz",
    "sysfs/hwloc/power9-6v100-gpu-numa-nodes.tar.xz", "sysfs/hwloc/nehalem-4n-numa-minus1-qib.tar.xz",
    "sysfs/hwloc/fake-2pkg-16node-dies.tar.xz", "sysfs/hwloc/snb-2s-mlx4-mic-nvme.tar.xz",
    "topo-dumps/028-gb200x4-gpu-numa-id.txt", "topo-dumps/002-a100x8-17nic-singlenuma.txt",
    "topo-dumps/048-dgx2-16gpu-cut.txt", "topo-dumps/054-h-x8-snc4-uneven-cut.txt",
    "topo-dumps/072-x8-6plus2-sockets.txt", "nccl/xml/oci-h100-bm.xml", "nccl/xml/b200-vm-badnvlink.xml",
    "nccl/xml/rccl-topo_16p1h.xml", "nccl/xml/gb300-2tray-missing-nvlink-excerpt.xml", "nccl/xml/azure-ndv4.xml",
)  # fmt: skip
LINKS = ("none", "cables", "fabric", "unclear", "uneven")


@lru_cache(64)
def node_of(source: str) -> NodeTopology:
    """The (first) node of a source."""
    return nodes(open_sources([source]))[0]


def machine(
    sockets: int = 2, numa: int = 2, gpus: int = 8, nics: int = 4, nvme: int = 2, tree: bool = True,
    links: str = "none",
) -> NodeTopology:  # fmt: skip
    """Devices spread evenly; two GPUs share a switch, two switches a root complex, NICs come under the GPUs' switches.

    tree: the bridges are in the evidence; without it only letters are. links: of LINKS.
    """
    places = {f"GPU{at}": (at * numa // gpus, at // 4, at // 2) for at in range(gpus)}
    for at in range(nics):
        near = at * gpus // nics if gpus else 0
        places[f"NIC{at}"] = (near * numa // gpus if gpus else at % numa, near // 4, near // 2)
    for at in range(nvme):
        places[f"nvme{at}"] = (at % numa, 90 + at % numa, 90 + at % numa)
    bridges: dict[str, Bridge] = {}

    def parent(id: str) -> str | None:
        node, root, switch = places[id]
        if not tree:
            return None
        top, low = f"pci{node:04x}:{root:02x}", f"{node:04x}:{root:02x}:{switch:02x}.0"
        bridges[top] = Bridge(top, None, "hostBridge", numa_nodes=(node,))
        bridges[low] = Bridge(low, top, "switch")
        return low

    def where(id: str) -> dict[str, object]:
        node = places[id][0]
        return {"parent": parent(id), "numa_nodes": (node,), "packages": (f"PKG{node * sockets // numa}",)}

    ids = [id for id in places if not id.startswith("nvme")]
    return NodeTopology(
        name="drawn",
        packages=tuple(Package(f"PKG{at}", at, None, None, "Maker", arch="x86_64") for at in range(sockets)),
        numa_nodes=tuple(
            NumaNode(f"NUMA{at}", at, "cpu", cpus(f"{at * 16}-{at * 16 + 15}"), (f"PKG{at * sockets // numa}",), 2**38)
            for at in range(numa)
        ),
        gpus=tuple(
            Gpu(f"GPU{at}", at, name="NVIDIA H100", vendor="nvidia", pci=f"0000:{at + 1:02x}:00.0", **where(f"GPU{at}"),  # type: ignore[arg-type]
                nvlinks=NvLinks(*_totals(links, at), None))
            for at in range(gpus)
        ),
        nics=tuple(
            Nic(f"NIC{at}", f"mlx5_{at}", pci=f"0000:{at + 65:02x}:00.0", rate_gbps=400.0, link_layer="InfiniBand",
                **where(f"NIC{at}"))  # type: ignore[arg-type]
            for at in range(nics)
        ),
        nvme=tuple(Nvme(f"nvme{at}", f"0000:{at + 129:02x}:00.0", **where(f"nvme{at}")) for at in range(nvme)),  # type: ignore[arg-type]
        bridges=tuple(bridges.values()),
        pairs=tuple(_pair(a, b, places, links, gpus) for a, b in combinations(ids, 2)),
    )  # fmt: skip


def _pair(a: str, b: str, places: dict[str, tuple[int, int, int]], links: str, gpus: int) -> Pair:
    from gputopo.terms.path_level import PathLevel

    (node, root, switch), (other_node, other_root, other_switch) = places[a], places[b]
    level = PathLevel.SYS if node != other_node else PathLevel.NODE
    if node == other_node and root == other_root:
        level = PathLevel.PIX if switch == other_switch else PathLevel.PHB
    pair = Pair(a, b, level.name, level, (level,), "printed")
    if not (a.startswith("GPU") and b.startswith("GPU")):
        return pair
    first, second = int(a[3:]), int(b[3:])
    if links == "cables" and (first ^ second) in (1, 3, 4):
        times = 2 if (first ^ second) == 1 else 1
        return pair._replace(nvlinks=times, via_switch=False, links=(PairLink("nvlink", times, "direct"),))
    if links in ("fabric", "uneven"):
        times = 17 if links == "uneven" and (first == 0 or second == 0) else 18
        return pair._replace(nvlinks=times, via_switch=True, links=(PairLink("nvlink", times, "switch"),))
    if links == "unclear":
        return pair._replace(nvlinks=4, via_switch=None, links=(PairLink("nvlink", 4, None),))
    return pair._replace(nvlinks=0)


def _totals(links: str, at: int) -> tuple[int | None, int | None]:
    return {"uneven": (17 if at == 0 else 18, 18), "fabric": (18, 18)}.get(links, (None, None))
