"""`smi-sisters`: what stands beside a `topo -m` dump, read by hand (topo-dumps/other/index.jsonl and its files).

A row with a `format` is answered by that format's parser, a row with an `error` by the whole way a text
takes. Texts of tools that no format id fits (a clone's matrix) must give no node, or the right one.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.parsers import recognise
from gputopo.records import GpuRecord, NodeRecords
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Unknown
from tests.replay_kinds import topo_dumps

Expected = dict[str, Any]
MODULES = {
    "nvidia-smi-topo": "nvidia_smi_topo",
    "nvidia-smi-p2p": "nvidia_smi_p2p",
    "nvidia-smi-nvlink": "nvidia_smi_nvlink",
    "nvidia-smi-q": "nvidia_smi_q",
    "nvidia-smi-list": "nvidia_smi_list",
    "rocm-smi-topo": "rocm_smi_topo",
    "amd-smi-topo": "amd_smi_topo",
    "ibdev2netdev": "ibdev2netdev",
    "lspci-tv": "lspci_tv",
    "lspci": "lspci_vvv",  # plain: no id of its own
    "numactl-hardware": "numactl_hardware",
    "lscpu": "lscpu",
    "nvidia-bug-report": "nvidia_bug_report",
}
IGNORED = {
    "legend_symbols": "which letters a legend explains is no property of the node",
    "rc": "the exit status of the run is not in the text",
    "help_options": "a help text holds no node; that it is refused with its own words is compared",
    "nearest_levels": "as help_options",
    "p2p_kinds": "as help_options",
    "rear_groups": "a clone's own section; that no node comes out of its text is compared",
}
COMPARED = frozenset(
    (
        "format", "error", "message_contains", "truncated", "dumps", "incomplete_rows", "missing_rows",
        "matrix_complete", "gpus", "nic_columns", "heads", "matrix", "cpu_affinity", "numa_affinity", "gpu_numa_id",
        "cpu_affinity_maybe_truncated", "nic_legend", "p2p", "second_gpus", "second_p2p", "devices", "links",
        "link_speeds_GBps", "link_capabilities", "link_remotes", "remote_unknown", "errors", "mig_devices", "fields",
        "driver_version", "cuda_version", "attached_gpus", "weight", "hops", "link_type", "access", "numa_bw",
        "numa_node", "numa_affinity_printed", "ports", "pci_devices", "pci_roots", "pci_tree", "pci_names",
        "empty_buses", "pci_gpus", "pci_nics", "pci_nvswitches", "nodes", "nodes_with_cpus", "node_cpus",
        "node_size_mb", "distances", "report_version", "report_date", "host", "kernel", "files", "topo_dumps",
        "row_cells", "self_column",
    )
)  # fmt: skip


class SisterCase(NamedTuple):
    name: str
    expected: Expected
    text: str


class Answer(NamedTuple):
    formats: tuple[str, ...]  # as recognised
    nodes: tuple[NodeRecords, ...]
    error: str  # why there is no node
    text: str


def cases(path: Path) -> Iterator[SisterCase]:
    """The rows of an index.jsonl; files stand beside it."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield SisterCase(
            row["file"], row["expected"], (path.parent / row["file"]).read_bytes().decode("utf-8", "replace")
        )


def answer(case: SisterCase) -> Answer:
    formats = recognise.recognise(case.text)
    module = _module(case.expected)
    if module is not None:
        return Answer(formats, tuple(module.parse(case.text)), "", case.text)
    try:
        return Answer(formats, recognise.parse(Piece(case.name, case.text.encode())), "", case.text)
    except GputopoError as error:
        return Answer(formats, (), str(error), case.text)


def _module(expected: Expected) -> Any:
    """The parser that a row is about; `None` where the text has no format, or holds an error."""
    tree = {"pci_tree": "lspci-tv", "pci_devices": "lspci"}
    format = expected.get("format") or next((id for key, id in tree.items() if key in expected), None)
    return importlib.import_module(f"gputopo.parsers.{MODULES[format]}") if format else None


def compare(expected: Expected, got: Answer) -> list[str]:
    wrong = topo_dumps._Differences()
    if "format" in expected:
        wrong.unless_equal("format", (expected["format"],), got.formats)
    if "error" in expected:
        _compare_error(expected, got, wrong)
    elif _module(expected) is None:
        _compare_foreign(expected, got, wrong)
    elif not got.nodes:
        wrong.lines.append("no node")
    else:
        _compare_node(expected, got, wrong)
    return wrong.lines


Wrong = topo_dumps._Differences


def _compare_error(expected: Expected, got: Answer, wrong: Wrong) -> None:
    wrong.unless_equal("nodes", 0, len(got.nodes))
    for words in (expected["message_contains"], *expected.get("missing_rows", ())):
        wrong.unless_equal(f"'{words}' said", True, words in got.error)


def _compare_foreign(expected: Expected, got: Answer, wrong: Wrong) -> None:
    """A matrix of another tool: refused, or right in every cell that is given."""
    if not got.nodes:
        wrong.unless_equal("refused in words", True, bool(got.error))
    elif "matrix" in expected:
        wrong.lines += topo_dumps.compare(expected, got.nodes)
    else:
        rows = {row.label: row for node in got.nodes if node.matrix for row in node.matrix.rows}
        for label, cells in expected["row_cells"].items():
            given = list(rows[label].cells.values()) if label in rows else []
            wrong.unless_equal(f"cells of {label}", cells[: len(given)], given)
            named = label in rows and label in rows[label].cells
            wrong.unless_equal(f"{label} named in column {expected['self_column'][label]}", False, named)


def _compare_node(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    if "matrix" in expected:
        wrong.lines += topo_dumps.compare(expected, got.nodes)
        _compare_heads(expected["heads"], node, wrong)
        return
    if expected.get("truncated"):
        wrong.unless_equal("whole", False, node.whole)
    for key, compare_key in _BY_KEY.items():
        if key in expected:
            compare_key(expected, got, wrong)


def _compare_heads(heads: list[str], node: NodeRecords, wrong: Wrong) -> None:
    fields = {"CPU Affinity": "cpus", "NUMA Affinity": "numa_nodes", "GPU NUMA ID": "memory_numa_node"}
    for head, field in fields.items():
        if head not in heads:
            said = [gpu.label for gpu in node.gpus or () if getattr(gpu, field) is not None]
            wrong.unless_equal(f"{head} invented", [], said)


# topo -p2p


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


# nvlink, -L, --query-gpu, -q


def _compare_devices(expected: Expected, got: Answer, wrong: Wrong) -> None:
    gpus = got.nodes[0].gpus or ()
    wrong.unless_equal("number of devices", len(expected["devices"]), len(gpus))
    for device, gpu in zip(expected["devices"], gpus):
        for key, value in device.items():
            if key in _DEVICE:
                wrong.unless_equal(f"{key} of {gpu.label}", value, _DEVICE[key](gpu, value))


def _known(value: Any) -> Any:
    return None if isinstance(value, Unknown) else value


def _address(gpu: GpuRecord, printed: str) -> str | None:
    return printed if gpu.pci is not None and gpu.pci == PciAddress.parse(printed) else None


def _link(gpu: GpuRecord, field: str) -> int | None:
    return getattr(_known(gpu.pcie), field, None)


# `brand` and `driver_model` are no facts of the topology and are not kept.
_DEVICE: dict[str, Callable[[GpuRecord, Any], Any]] = {
    "index": lambda gpu, _: _known(gpu.nvml_index),
    "name": lambda gpu, _: _known(gpu.name),
    "uuid": lambda gpu, _: _known(gpu.uuid),
    "pci_bus_id": _address,
    "architecture": lambda gpu, _: _known(gpu.architecture),
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


def _system(key: str, field: str) -> Callable[[Expected, Answer, Wrong], None]:
    return lambda expected, got, wrong: wrong.unless_equal(
        key, expected[key], _known(getattr(got.nodes[0].system, field))
    )


# rocm-smi, amd-smi


def _compare_gpus(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    if "p2p" not in expected:
        wrong.unless_equal("gpus", expected["gpus"], [gpu.label for gpu in node.gpus or ()])
        lost = {label for gap in node.gaps if gap.attribute == "row" for label in gap.subjects}
        wanted = {*expected.get("incomplete_rows", ()), *expected.get("missing_rows", ())}
        wrong.unless_equal("rows told as gaps", wanted, lost)


def _table(key: str) -> Callable[[Expected, Answer, Wrong], None]:
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
        wrong.unless_equal(f"NUMA of {gpu.label}", wanted, _known(gpu.numa_nodes))


def _compare_minus_one(expected: Expected, got: Answer, wrong: Wrong) -> None:
    for label, text in expected["numa_affinity_printed"].items():
        seen = [one.text for one in got.nodes[0].observations if one.subjects == (label,) and text in one.text]
        wrong.unless_equal(f"{text} of {label} seen", True, bool(seen))


# ibdev2netdev, lspci, numactl, lscpu, nvidia-bug-report


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


def _addresses(key: str, table: str) -> Callable[[Expected, Answer, Wrong], None]:
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
            said = {str(n): value for n, node in numa.items() if (value := _known(getattr(node, field))) is not None}
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


_BY_KEY: dict[str, Callable[[Expected, Answer, Wrong], None]] = {
    "p2p": _compare_p2p, "devices": _compare_devices, "links": _compare_links, "errors": _compare_errors,
    "mig_devices": _compare_mig, "fields": _compare_fields, "driver_version": _system("driver_version", "driver"),
    "cuda_version": _system("cuda_version", "cuda"), "attached_gpus": _compare_attached, "gpus": _compare_gpus,
    "weight": _table("weight"), "hops": _table("hops"), "link_type": _table("link_type"), "access": _table("access"),
    "numa_bw": _table("numa_bw"), "numa_node": _compare_numa, "numa_affinity_printed": _compare_minus_one,
    "ports": _compare_ports, "pci_devices": _compare_pci_devices, "pci_tree": _compare_tree,
    "pci_gpus": _addresses("pci_gpus", "gpus"), "pci_nics": _addresses("pci_nics", "nics"),
    "pci_nvswitches": _addresses("pci_nvswitches", "nvswitches"), "nodes": _compare_nodes,
    "report_version": _compare_report, "report_date": _system("report_date", "taken_at"),
    "host": _system("host", "name"), "kernel": _system("kernel", "kernel"),
}  # fmt: skip
