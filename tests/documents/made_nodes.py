"""Nodes made at random: every field a value or unknown, ids that hold together.

A strategy is checked when it is first drawn from, which takes longer than to draw: each is made once.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.path_level import LEVELS
from gputopo.topology import node as model

text = st.text(max_size=8) | st.sampled_from(["NV18", "mlx5_0", "0000:0f:00.0", "\x1b[31m", "\u202e", "\x85"])
whole = st.integers(0, 2**40)
number = st.floats(0, 1e6, allow_nan=False) | st.integers(0, 1000).map(float)
cpus = st.frozensets(st.integers(0, 300), max_size=6).map(CpuSet.of)
level = st.sampled_from(LEVELS)
json_value = st.none() | text | whole | st.lists(whole, max_size=3) | st.dictionaries(text, whole, max_size=2)


def maybe(strategy: Any) -> Any:
    return st.none() | strategy


def many(strategy: Any, most: int = 2) -> Any:
    return st.lists(strategy, max_size=most).map(tuple)


record = st.builds
numbers = maybe(many(whole))
pcie = maybe(
    record(model.Pcie, generation=maybe(whole), width=maybe(whole), max_generation=maybe(whole), max_width=maybe(whole))
)
links = many(
    record(
        model.Link, number=maybe(whole), state=maybe(text), gbps=maybe(number), remote=maybe(text),
        remote_kind=maybe(text), times=st.integers(1, 18),
    )
)  # fmt: skip
fabric = record(
    model.Fabric, state=maybe(text), status=maybe(text), cluster_uuid=maybe(text), clique_id=maybe(whole),
    health=maybe(text),
)  # fmt: skip
mig = record(
    model.Mig, uuid=maybe(text), profile=maybe(text), gpu_instance=maybe(whole), compute_instance=maybe(whole),
    number=maybe(whole),
)  # fmt: skip
place = {"parent": maybe(text), "numa_nodes": numbers, "packages": maybe(many(text)), "pcie": pcie, "pci": maybe(text)}


@cache
def _gpu(id: str, nics: tuple[str, ...], nvme: tuple[str, ...]) -> Any:
    via = maybe(st.sampled_from(["direct", "switch", "mixed"]))
    return record(
        model.Gpu, id=st.just(id), nvml_index=maybe(whole), uuid=maybe(text), name=maybe(text), vendor=maybe(text),
        architecture=maybe(text), compute_capability=maybe(text), memory_bytes=maybe(whole), minor=maybe(whole),
        module_id=maybe(whole), driver=maybe(text), cpus=maybe(cpus), cpus_complete=maybe(st.booleans()),
        memory_numa_node=maybe(whole),
        nvlinks=maybe(record(model.NvLinks, active=maybe(whole), total=maybe(whole), via=via)),
        links=links, c2c=maybe(st.dictionaries(text, number, max_size=2)), fabric=maybe(fabric), mig=many(mig),
        nearest_nics=st.just(nics), nearest_nvme=st.just(nvme), aliases=many(text), **place,
    )  # fmt: skip


@cache
def _nic(id: str) -> Any:
    return record(
        model.Nic, id=st.just(id), device=maybe(text), netdevs=many(text), port=maybe(whole), members=many(text),
        vendor=maybe(text), link_layer=maybe(text), rate_gbps=maybe(number),
        state=maybe(st.sampled_from(["up", "down"])), virtual_function_of=maybe(text), aliases=many(text), **place,
    )  # fmt: skip


@cache
def _pair(a: str, b: str) -> Any:
    link = record(
        model.PairLink, kind=text, times=maybe(whole), via=maybe(st.sampled_from(["direct", "switch"])),
        gbps_per_link=maybe(number),
    )  # fmt: skip
    return record(
        model.Pair, a=st.just(a), b=st.just(b), level=maybe(text), pcie=maybe(level), pcie_candidates=many(level),
        pcie_basis=maybe(st.sampled_from(["printed", "tree", "numa", "third-device"])), nvlinks=maybe(whole),
        via_switch=maybe(st.booleans()), links=many(link), p2p=maybe(st.dictionaries(text, text, max_size=2)),
        cross_package=maybe(st.booleans()), cross_numa=maybe(st.booleans()), bandwidth_gbytes=maybe(number),
    )  # fmt: skip


@cache
def _islands(ids: tuple[str, ...]) -> Any:
    groups = st.sampled_from([(), (ids,)] if ids else [()])
    fabric_islands = many(
        record(model.FabricIsland, cluster_uuid=maybe(text), clique_id=maybe(whole), gpus=st.just(ids))
    )
    return record(
        model.Islands, nvlink=groups, fabric=fabric_islands, pcie_switch=groups, pcie_root=groups, numa=groups,
        package=groups,
    )  # fmt: skip


subjects = many(text)
value = record(model.Value, value=json_value, source=text)
source = record(model.Source, id=text, name=text, format=text, where=text, whole=st.booleans())
bridge = record(
    model.Bridge, id=text, parent=maybe(text), kind=maybe(st.sampled_from(["hostBridge", "bridge", "switch"])),
    vendor=maybe(text), device=maybe(text), numa_nodes=numbers, pcie=pcie,
)  # fmt: skip
package = record(
    model.Package, id=text, number=whole, cpus=maybe(cpus), numa_nodes=numbers, vendor=maybe(text),
    family=maybe(whole), model=maybe(whole), arch=maybe(text),
)  # fmt: skip
numa_node = record(
    model.NumaNode, id=text, number=whole, kind=maybe(st.sampled_from(["cpu", "gpu-memory", "memory"])),
    cpus=maybe(cpus), packages=maybe(many(text)), memory_bytes=maybe(whole),
    distances=maybe(st.dictionaries(st.integers(0, 255), whole, max_size=3)),
)  # fmt: skip
before_devices: dict[str, Any] = {
    "name": maybe(text), "taken_at": maybe(text), "boot_id": maybe(text),
    "view": maybe(st.sampled_from(["host", "container"])), "virtual": maybe(st.booleans()),
    "system": maybe(record(model.System, product=maybe(text), kernel=maybe(text), driver=maybe(text),
                           cuda=maybe(text))),
    "allowed_cpus": maybe(cpus), "sources": many(source, 1), "packages": maybe(many(package, 1)),
    "numa_nodes": maybe(many(numa_node, 1)), "bridges": many(bridge, 1),
    "nvswitches": maybe(many(record(model.NvSwitch, id=text, pci=maybe(text)), 1)),
}  # fmt: skip
after_devices: dict[str, Any] = {
    "conflicts": many(record(model.Conflict, subjects=subjects, attribute=text, used=json_value, values=many(value))),
    "unknown": many(record(model.NoteUnknown, subjects=subjects, attribute=text, reason=text, settled_by=text)),
    "assumptions": many(record(model.NoteAssumption, subjects=subjects, text=text, source=maybe(text))),
    "observations": many(record(model.Observed, kind=text, subjects=subjects, text=text, source=text,
                                line=maybe(whole))),
    "provenance": st.dictionaries(text, st.dictionaries(text, text, max_size=2), max_size=2),
}  # fmt: skip


@cache
def _devices(gpus: tuple[str, ...], nics: tuple[str, ...], nvme: tuple[str, ...]) -> dict[str, Any]:
    nvme_kind = record(model.Nvme, id=st.just("nvme0"), **place)
    return {
        "gpus": st.tuples(*(_gpu(id, nics, nvme) for id in gpus)),
        "nics": st.tuples(*map(_nic, nics)) if nics else st.sampled_from([None, ()]),
        "nvme": st.tuples(nvme_kind) if nvme else st.sampled_from([None, ()]),
        "pairs": st.tuples(*(_pair(a, b) for a, b in combinations((*gpus, *nics), 2))),
        "islands": _islands(gpus),
    }


@st.composite
def json_nodes(draw: Any) -> model.NodeTopology:
    gpus = tuple(f"GPU{at}" for at in range(draw(st.integers(0, 3))))
    nics = tuple(f"NIC{at}" for at in range(draw(st.integers(0, 2))))
    nvme = ("nvme0",) if draw(st.booleans()) else ()
    fields = before_devices | _devices(gpus, nics, nvme) | after_devices
    return model.NodeTopology(**{name: draw(strategy) for name, strategy in fields.items()})
