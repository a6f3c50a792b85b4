"""Rows of nvidia-smi's other commands: p2p, nvlink, -L, --query-gpu, -q."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from tests.replay_kinds.smi_sisters.answers import Answer, Comparison, Expected, Wrong, known, system


def _compare_p2p(expected: Expected, got: Answer, wrong: Wrong) -> None:
    wrong.unless_equal("dumps", expected.get("dumps", 1), len(got.nodes))
    tables = (("gpus", "p2p"), ("second_gpus", "second_p2p"))
    for node, (labels, key) in zip(got.nodes, tables):
        if key not in expected:
            continue
        wrong.unless_equal(labels, expected[labels], [gpu.label for gpu in node.gpus or ()])
        wrong.unless_equal("whole", expected["matrix_complete"], node.whole)
        table = expected[key]
        typed = f" {table['kind']}" if table["kind_in_text"] else ""
        wrong.unless_equal("command", f"topo -p2p{typed}", node.command)
        names = {"r": "read", "w": "write", "n": "nvlink", "a": "atomics", "p": "prop"}
        kind = names.get(table["kind"], "unstated") if table["kind_in_text"] else "unstated"
        pairs = {frozenset((pair.a, pair.b)): pair.p2p for pair in node.pairs}
        for a, row in table["matrix"].items():
            for b, cell in row.items():
                if a != b:
                    wrong.unless_equal(f"{a},{b}", {kind: cell}, pairs.get(frozenset((a, b))))


def _compare_devices(expected: Expected, got: Answer, wrong: Wrong) -> None:
    gpus = got.nodes[0].gpus or ()
    wrong.unless_equal("number of devices", len(expected["devices"]), len(gpus))
    for device, gpu in zip(expected["devices"], gpus):
        for key, value in device.items():
            if key in _DEVICE:
                wrong.unless_equal(f"{key} of {gpu.label}", value, _DEVICE[key](gpu, value))


def _address(gpu: GpuRecord, printed: str) -> str | None:
    return printed if gpu.pci is not None and gpu.pci == PciAddress.parse(printed) else None


def _link(gpu: GpuRecord, field: str) -> int | None:
    return getattr(known(gpu.pcie), field, None)


# `brand` and `driver_model` are no facts of the topology and are not kept.
_DEVICE: dict[str, Callable[[GpuRecord, Any], Any]] = {
    "index": lambda gpu, _: known(gpu.nvml_index),
    "name": lambda gpu, _: known(gpu.name),
    "uuid": lambda gpu, _: known(gpu.uuid),
    "pci_bus_id": _address,
    "architecture": lambda gpu, _: known(gpu.architecture),
    "mig_mode": lambda gpu, _: "Disabled" if gpu.mig == () else None if gpu.mig is None else "Enabled",
    "pcie_gen_current": lambda gpu, _: _link(gpu, "generation"),
    "pcie_gen_max": lambda gpu, _: _link(gpu, "max_generation"),
    "pcie_width_current": lambda gpu, _: _link(gpu, "width"),
}


def _compare_links(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    incomplete = set(expected.get("incomplete_rows", ()))
    told = {label for gap in node.gaps if gap.attribute == "links" for label in gap.subjects}
    wrong.unless_equal("incomplete_rows", incomplete, told)
    for gpu in node.gpus or ():
        index = gpu.label[3:]
        links = gpu.links if isinstance(gpu.links, tuple) else None
        count = gpu.nvlinks_total if links is None else len(links)
        wrong.unless_equal(f"links of {gpu.label}", expected["links"].get(index), count)
        if gpu.label in incomplete:
            counts = (gpu.nvlinks_active, gpu.nvlinks_total)
            wrong.unless_equal(f"count of {gpu.label} unknown", True, all(isinstance(n, Unknown) for n in counts))
        if "link_speeds_GBps" in expected:
            speeds = [link.gbps for link in links or ()]
            wrong.unless_equal(f"speeds of {gpu.label}", expected["link_speeds_GBps"][index], speeds)
        if "link_remotes" in expected:
            ends = [(link.remote, link.remote_link if link.remote else None) for link in links or ()]
            printed = [(PciAddress.parse(end["pci"]), end["link"]) for end in expected["link_remotes"][index]]
            wrong.unless_equal(f"ends of {gpu.label}", [(a, n if a else None) for a, n in printed], ends)
            hidden = expected.get("remote_unknown")
            hidden = hidden.get(index) if isinstance(hidden, dict) else hidden
            wrong.unless_equal(f"hidden ends of {gpu.label}", hidden, sum(end is None for end, _ in ends))
        if "link_capabilities" in expected:
            wrong.unless_equal("capabilities", expected["link_capabilities"][index], _capabilities(node, gpu.label))


def _capabilities(node: NodeRecords, label: str) -> dict[str, dict[str, int]]:
    form = re.compile(r"(.*): true (\d+), false (\d+)\Z")
    found = {}
    for seen in node.observations:
        match = form.match(seen.text) if seen.kind == "nvlink-capability" and seen.subjects == (label,) else None
        if match:
            found[match[1]] = {"true": int(match[2]), "false": int(match[3])}
    return found


def _compare_errors(expected: Expected, got: Answer, wrong: Wrong) -> None:
    for error in expected["errors"]:
        said = [seen.text for seen in got.nodes[0].observations
                if seen.kind == error["error"] and seen.subjects == (f"GPU{error['gpu']}",)]  # fmt: skip
        wrong.unless_equal(error["error"], True, any(error["message_contains"] in text for text in said))


def _compare_mig(expected: Expected, got: Answer, wrong: Wrong) -> None:
    listed = [mig for gpu in got.nodes[0].gpus or () if isinstance(gpu.mig, tuple) for mig in gpu.mig]
    wanted = expected["mig_devices"]
    wrong.unless_equal("mig_devices", wanted if isinstance(wanted, int) else len(wanted), len(listed))


def _compare_fields(expected: Expected, got: Answer, wrong: Wrong) -> None:
    from gputopo.parsers.nvidia_smi_list.query import find_tables

    tables = find_tables(got.text.splitlines())
    wrong.unless_equal("fields", [expected["fields"]], [table.fields for table in tables])


def _compare_attached(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    wrong.unless_equal("attached_gpus", (expected["attached_gpus"], True), (len(node.gpus or ()), node.gpus_complete))


COMPARISONS: dict[str, Comparison] = {
    "p2p": _compare_p2p,
    "devices": _compare_devices,
    "links": _compare_links,
    "errors": _compare_errors,
    "mig_devices": _compare_mig,
    "fields": _compare_fields,
    "driver_version": system("driver_version", "driver"),
    "cuda_version": system("cuda_version", "cuda"),
    "attached_gpus": _compare_attached,
}
