"""Rows of other tools: rocm-smi, amd-smi, ibdev2netdev, lspci, numactl, lscpu, nvidia-bug-report."""

from __future__ import annotations

import re

from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress
from tests.replay_kinds.smi_sisters.answers import Answer, Comparison, Expected, Wrong, known, system


def _compare_gpus(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    if "p2p" not in expected:
        wrong.unless_equal("gpus", expected["gpus"], [gpu.label for gpu in node.gpus or ()])
        lost = {label for gap in node.gaps if gap.attribute == "row" for label in gap.subjects}
        wanted = {*expected.get("incomplete_rows", ()), *expected.get("missing_rows", ())}
        wrong.unless_equal("rows told as gaps", wanted, lost)


def _table(key: str) -> Comparison:
    """A table between GPUs, from the observations `weight 15, hops 1, link type XGMI` of each pair."""
    name = key.replace("_", " ")

    def compare_table(expected: Expected, got: Answer, wrong: Wrong) -> None:
        said: dict[tuple[str, ...], str] = {}
        for seen in got.nodes[0].observations:
            for part in seen.text.split(", ") if seen.kind == "link-type" else ():
                if part.startswith(f"{name} "):
                    said[seen.subjects] = part[len(name) + 1 :]
                    said.setdefault(seen.subjects[::-1], part[len(name) + 1 :])
        for a, row in expected[key].items():
            for b, cell in row.items():
                if a != b:
                    wrong.unless_equal(f"{key} {a},{b}", None if cell is None else str(cell), said.get((a, b)))

    return compare_table


def _compare_numa(expected: Expected, got: Answer, wrong: Wrong) -> None:
    for gpu in got.nodes[0].gpus or ():
        texts = {expected[key].get(gpu.label) for key in ("numa_node", "numa_affinity") if key in expected} - {None}
        wanted = tuple(int(text) for text in texts) if len(texts) == 1 else None
        wrong.unless_equal(f"NUMA of {gpu.label}", wanted, known(gpu.numa_nodes))


def _compare_minus_one(expected: Expected, got: Answer, wrong: Wrong) -> None:
    for label, text in expected["numa_affinity_printed"].items():
        seen = [one.text for one in got.nodes[0].observations if one.subjects == (label,) and text in one.text]
        wrong.unless_equal(f"{text} of {label} seen", True, bool(seen))


def _compare_ports(expected: Expected, got: Answer, wrong: Wrong) -> None:
    said = [(nic.device, nic.port, nic.netdevs, nic.state) for nic in got.nodes[0].nics or ()]
    wanted = [(port["device"], port["port"], (port["netdev"],), port["state"].lower()) for port in expected["ports"]]
    wrong.unless_equal("ports", wanted, said)


def _compare_pci_devices(expected: Expected, got: Answer, wrong: Wrong) -> None:
    from gputopo.parsers.lspci_vvv.listing import listings

    said = [
        (one.address, one.class_name, re.sub(r" \(rev \w+\)\Z", "", one.name)) for one in listings(got.text)[0]
    ]
    wanted = [(PciAddress.parse(one["bdf"]), one["class"], one["name"]) for one in expected["pci_devices"]]
    wrong.unless_equal("pci_devices", wanted, said)


def _compare_tree(expected: Expected, got: Answer, wrong: Wrong) -> None:
    from gputopo.parsers.pci_tree import trees

    tree = trees(got.text)[0]
    wrong.unless_equal("pci_roots", expected["pci_roots"], list(tree.roots))
    wrong.unless_equal("pci_tree", expected["pci_tree"], {one.label: one.parent for one in tree.functions})
    if "pci_names" in expected:
        names = {one.label: one.name for one in tree.functions if one.name}
        wrong.unless_equal("pci_names", expected["pci_names"], names)
    wrong.unless_equal("empty_buses", expected.get("empty_buses", []), list(tree.empty_buses))
    chains = {one.label: one.chain for one in (*(got.nodes[0].gpus or ()), *(got.nodes[0].nvme or ()))}
    for label, chain in chains.items():
        parent = expected["pci_tree"][label]
        wrong.unless_equal(f"{label} below", parent, chain[-1] if isinstance(chain, tuple) and parent else None)


def _addresses(key: str, table: str) -> Comparison:
    return lambda expected, got, wrong: wrong.unless_equal(
        key,
        [PciAddress.parse(text) for text in expected[key]],
        [record.pci for record in getattr(got.nodes[0], table) or ()],
    )


def _compare_nodes(expected: Expected, got: Answer, wrong: Wrong) -> None:
    numa = {node.number: node for node in got.nodes[0].numa_nodes or ()}
    wrong.unless_equal("nodes", expected["nodes"], len(numa))
    cpus = {number: node.cpus for number, node in numa.items() if isinstance(node.cpus, CpuSet)}
    if "nodes_with_cpus" in expected:
        wrong.unless_equal("nodes_with_cpus", expected["nodes_with_cpus"], [n for n, own in cpus.items() if own])
    if "node_cpus" in expected:
        wanted = {int(number): CpuSet.parse_list(text) for number, text in expected["node_cpus"].items()}
        wrong.unless_equal("node_cpus", wanted, cpus)
    for key, field, unit in (("node_size_mb", "memory_bytes", 2**20), ("distances", "distances", None)):
        if key in expected:
            said = {str(n): value for n, node in numa.items() if (value := known(getattr(node, field))) is not None}
            shown = {
                n: value // unit if unit else {str(to): far for to, far in value.items()} for n, value in said.items()
            }
            wrong.unless_equal(key, expected[key], shown)


def _compare_report(expected: Expected, got: Answer, wrong: Wrong) -> None:
    from gputopo.parsers.nvidia_bug_report import sections

    node = got.nodes[0]
    seen = [one.text for one in node.observations if expected["report_version"] in one.text]
    wrong.unless_equal("report_version seen", True, bool(seen))
    contents = {section.title: section.text.strip() for section in sections(got.text)}
    for path, content in expected["files"].items():
        wrong.unless_equal(path, content, contents.get(path))
    wrong.unless_equal("topo_dumps", expected["topo_dumps"] > 0, "nvidia-smi-topo" in got.formats)


COMPARISONS: dict[str, Comparison] = {
    "gpus": _compare_gpus,
    "weight": _table("weight"),
    "hops": _table("hops"),
    "link_type": _table("link_type"),
    "access": _table("access"),
    "numa_bw": _table("numa_bw"),
    "numa_node": _compare_numa,
    "numa_affinity_printed": _compare_minus_one,
    "ports": _compare_ports,
    "pci_devices": _compare_pci_devices,
    "pci_tree": _compare_tree,
    "pci_gpus": _addresses("pci_gpus", "gpus"),
    "pci_nics": _addresses("pci_nics", "nics"),
    "pci_nvswitches": _addresses("pci_nvswitches", "nvswitches"),
    "nodes": _compare_nodes,
    "report_version": _compare_report,
    "report_date": system("report_date", "taken_at"),
    "host": system("host", "name"),
    "kernel": system("kernel", "kernel"),
}
