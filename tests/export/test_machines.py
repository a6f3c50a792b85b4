"""Every machine in every format, re-read by our own readers and compared with its one description."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeGuard

import pytest

from gputopo.allocate.dra.read_slices import slice_of
from gputopo.allocate.koordinator.devices import MEMORY
from gputopo.allocate.koordinator.from_objects import devices_of
from gputopo.evidence.open import open_sources
from gputopo.evidence.piece import Piece
from gputopo.export import FORMATS, Choices, export
from gputopo.inspection import nodes
from gputopo.parsers import kube_objects, nccl_xml
from gputopo.records import GpuRecord, NicRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from gputopo.topology.node import NodeTopology
from tests.machines import MACHINES, Spelled
from tests.machines.letters import nvlinks
from tests.machines.machine import Gpu, Machine
from tests.machines.render_nccl_xml import render_nccl_xml

CHOICES = Choices(node_name="node-a")


_KNOWN: dict[str, NodeTopology] = {}  # nodes are frozen, and reading a sysfs root takes its time


def node_of(name: str, spelled: Spelled) -> NodeTopology:
    """From sysfs, NVML and a query for the memory; read once."""
    if name not in _KNOWN:
        _KNOWN[name] = _read(MACHINES[name], spelled(name))
    return _KNOWN[name]


def _read(machine: Machine, paths: dict[str, Path]) -> NodeTopology:
    rows = (f"{gpu.number}, {gpu.uuid}, {gpu.pci}, {gpu.memory_bytes >> 20} MiB" for gpu in machine.gpus)
    query = "\n".join(["index, uuid, pci.bus_id, memory.total [MiB]", *rows]) + "\n"
    pieces = open_sources([str(paths[one]) for one in ("sysfs-root", "nvml-recording")])
    [node] = nodes((*pieces, Piece("query.csv", query.encode())), merge=True)
    return node


def exported(name: str, to: str, spelled: Spelled, choices: Choices = CHOICES) -> str:
    return export(node_of(name, spelled), to, choices)


every_machine = pytest.mark.parametrize("name", MACHINES)


@every_machine
@pytest.mark.parametrize("to", FORMATS)
def test_the_same_evidence_gives_the_same_text(name: str, to: str, spelled: Spelled) -> None:
    if (name, to) in REFUSED:
        pytest.skip(REFUSED[name, to])
    node = node_of(name, spelled)
    text = export(node, to, CHOICES)
    assert text == export(node, to, CHOICES)
    assert text.endswith("\n")
    assert not re.search(r"\bNone\b|N/A|[ \t]$", text, re.MULTILINE)


REFUSED = {
    ("single-gpu", "koordinator"): "its kernel knows no NUMA node; koordlet's 0 would be a guess",
}


def numa_of(machine: Machine, gpu: Gpu) -> int | None:
    """Where the kernel says -1 of a GPU on a machine with one node, NVML still says that node."""
    return machine.numa_nodes[0].number if gpu.numa is None and len(machine.numa_nodes) == 1 else gpu.numa


def facts(one: GpuRecord | NicRecord) -> dict[str, Any]:
    """Of a record of a file of NCCL's: all but line, rank and the NVML half that a file may leave out."""
    said: dict[str, Any] = {
        "label": one.label, "pci": one.pci, "switches": tuple(one.chain or ())[1:], "pcie": one.pcie,
        "vendor": one.vendor,
    }  # fmt: skip
    if isinstance(one, NicRecord):
        return said | {"device": one.device, "port": one.port, "rate": one.rate_gbps}
    links = () if isinstance(one.links, Unknown) else one.links or ()
    ends = {(str(link.remote), link.remote_kind, link.times) for link in links}
    return said | {"index": one.nvml_index, "links": ends, "active": one.nvlinks_active}


def is_address(pci: object) -> TypeGuard[PciAddress]:
    return isinstance(pci, PciAddress)


@every_machine
def test_nccl_xml_is_what_nccl_itself_would_write(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    [ours] = nccl_xml.parse(exported(name, "nccl-xml", spelled))
    [real] = nccl_xml.parse(render_nccl_xml(machine))
    assert [facts(gpu) for gpu in ours.gpus or ()] == [facts(gpu) for gpu in real.gpus or ()]
    said = {gpu.label: None if isinstance(gpu.numa_nodes, Unknown) else gpu.numa_nodes for gpu in ours.gpus or ()}
    numas = {gpu.pci: numa_of(machine, gpu) for gpu in machine.gpus}
    assert said == {pci: None if numa is None else (numa,) for pci, numa in numas.items()}
    for_sure = {nic.device: facts(nic) for nic in real.nics or ()}
    cards = {nic.pci.card: (facts(nic)["switches"], nic.pcie) for nic in real.nics or () if is_address(nic.pci)}
    assert {nic.pci.card: (facts(nic)["switches"], nic.pcie) for nic in ours.nics or () if is_address(nic.pci)} == cards
    assert all(facts(nic) == for_sure[nic.device] for nic in ours.nics or () if nic.device)
    assert {(one.label, one.parent, one.pcie) for one in ours.bridges} == {
        (one.label, one.parent, one.pcie) for one in real.bridges
    }
    cpus = {one.number: one.cpus for one in ours.numa_nodes or ()}
    assert all(cpus[one.number] == one.cpus for one in real.numa_nodes or ())
    assert {odd.kind for odd in ours.observations} <= {"cpu-model"}


def direct_links(machine: Machine, a: Gpu, b: Gpu) -> int:
    return 0 if not dict(a.peers).get(b.number) else nvlinks(machine, a, b)[0]


@every_machine
def test_gres_conf_has_a_line_a_gpu_in_bus_order_with_direct_links(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    lines = [line for line in exported(name, "gres.conf", spelled).splitlines() if not line.startswith("#")]
    assert lines[0] == "AutoDetect=off"
    rows = [dict(word.split("=", 1) for word in line.split()) for line in lines[1:]]
    order = sorted(machine.gpus, key=lambda gpu: gpu.pci)
    assert [row["File"] for row in rows] == [f"/dev/nvidia{gpu.number}" for gpu in order]
    assert [row["Links"] for row in rows] == [
        ",".join(str(-1 if a is b else direct_links(machine, a, b)) for b in order) for a in order
    ]
    assert {row["Name"] for row in rows} == {"gpu"}
    assert all("Cores" not in row for row in rows)


def test_gres_conf_counts_cores_socket_after_socket(spelled: Spelled) -> None:
    text = exported("hgx-h100", "gres.conf", spelled, Choices(threads_per_core=2))
    assert re.findall(r"File=(\S+) Cores=(\S+)", text) == [
        *((f"/dev/nvidia{at}", "0-55") for at in range(4)), *((f"/dev/nvidia{at}", "56-111") for at in range(4, 8))
    ]  # fmt: skip


@every_machine
def test_a_resource_slice_reads_back_with_uuid_address_root_and_memory(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    [one] = kube_objects.read(exported(name, "resourceslice", spelled))
    found = slice_of(one)
    assert (found.driver, found.pool, found.node_name, found.slice_count) == ("gpu.nvidia.com", "node-a", "node-a", 1)
    said = {
        device.name: [
            device.attributes["uuid"].value,
            device.attributes["resource.kubernetes.io/pciBusID"].value,
            device.attributes["resource.kubernetes.io/pcieRoot"].value,
            device.capacity["memory"].value.number,
        ]
        for device in found.devices
    }
    roots = {gpu.number: root_of(machine, gpu.parent) for gpu in machine.gpus}
    assert said == {
        f"gpu-{gpu.number}": [gpu.uuid, gpu.pci, roots[gpu.number], gpu.memory_bytes >> 20 << 20]
        for gpu in machine.gpus
    }
    versions = {str(device.attributes["driverVersion"].value) for device in found.devices}
    assert versions == {".".join(str(int(part)) for part in [*machine.driver.split("."), "0"][:3])}


def root_of(machine: Machine, parent: str) -> str:
    """The host bridge above a bridge, or the parent itself where it is one."""
    parents = {bridge.pci: bridge.parent for bridge in machine.bridges}
    while parent in parents:
        parent = parents[parent]
    return parent


@every_machine
def test_a_koordinator_device_reads_back_with_minor_root_and_node(name: str, spelled: Spelled) -> None:
    if (name, "koordinator") in REFUSED:
        pytest.skip(REFUSED[name, "koordinator"])
    machine = MACHINES[name]
    [one] = kube_objects.read(exported(name, "koordinator", spelled))
    assert one.name == "node-a"
    said = [
        (device.minor, device.id, device.place and tuple(device.place), device.total[MEMORY])
        for device in devices_of(one).of("gpu")
    ]
    memory = {gpu.number: Fraction(gpu.memory_bytes >> 20 << 20) for gpu in machine.gpus}
    assert said == [
        (gpu.number, gpu.uuid, (numa_of(machine, gpu), root_of(machine, gpu.parent)), memory[gpu.number])
        for gpu in machine.gpus
    ]
    nics = {(device.id, device.place and device.place.pcie) for device in devices_of(one).of("rdma")}
    assert nics == {(nic.pci, root_of(machine, nic.parent)) for nic in machine.rdma_nics}


@every_machine
def test_nfd_features_are_lines_that_nfd_worker_takes(name: str, spelled: Spelled) -> None:
    machine = MACHINES[name]
    lines = [line for line in exported(name, "nfd", spelled).splitlines() if not line.startswith("#")]
    prefix = "feature.node.kubernetes.io/"
    assert all(line.startswith(prefix) for line in lines)
    said = dict(line.removeprefix(prefix).split("=", 1) for line in lines)
    assert all(re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", word) for word in said)
    assert all(re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", word) for word in said.values())
    assert said["gputopo-gpu.count"] == str(len(machine.gpus))
    direct, switched = any(gpu.peers for gpu in machine.gpus), any(gpu.fabric for gpu in machine.gpus)
    assert said["gputopo-gpu.nvlink"] == ("switch" if switched else "direct" if direct else "none")
    assert said["gputopo-rdma.count"] == str(len(machine.rdma_nics))
    numas = {numa_of(machine, gpu) for gpu in machine.gpus}
    assert said.get("gputopo-gpu.numa-nodes") == (None if None in numas else str(len(numas)))
