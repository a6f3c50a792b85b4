"""`smi-sisters`: what stands beside a `topo -m` dump, read by hand (topo-dumps/other/index.jsonl and its files).

A row with a `format` is answered by that format's parser, a row with an `error` by the whole way a text
takes. Texts of tools that no format id fits (a clone's matrix) must give no node, or the right one.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.errors import GputopoError
from gputopo.evidence.piece import Piece
from gputopo.parsers import recognise
from gputopo.records import NodeRecords
from tests.replay_kinds import topo_dumps
from tests.replay_kinds.smi_sisters import nvidia, other_tools
from tests.replay_kinds.smi_sisters.answers import Answer, Expected, Wrong

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
    "error": "a class in this index's own words; that the text is refused with nvidia-smi's words is compared",
    "rear_groups": "a clone's own section; that no node comes out of its text is compared",
    "row_cells": "as rear_groups: columns cannot be named, so no cell may be given",
    "self_column": "as rear_groups",
}
COMPARED = frozenset(
    (
        "format", "message_contains", "truncated", "dumps", "incomplete_rows", "missing_rows",
        "matrix_complete", "gpus", "nic_columns", "heads", "matrix", "cpu_affinity", "numa_affinity", "gpu_numa_id",
        "cpu_affinity_maybe_truncated", "nic_legend", "p2p", "second_gpus", "second_p2p", "devices", "links",
        "link_speeds_GBps", "link_capabilities", "link_remotes", "remote_unknown", "errors", "mig_devices", "fields",
        "driver_version", "cuda_version", "attached_gpus", "weight", "hops", "link_type", "access", "numa_bw",
        "numa_node", "numa_affinity_printed", "ports", "pci_devices", "pci_roots", "pci_tree", "pci_names",
        "empty_buses", "pci_gpus", "pci_nics", "pci_nvswitches", "nodes", "nodes_with_cpus", "node_cpus",
        "node_size_mb", "distances", "report_version", "report_date", "host", "kernel", "files", "topo_dumps",
    )
)  # fmt: skip


class SisterCase(NamedTuple):
    name: str
    expected: Expected
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
    wrong = Wrong()
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
        wrong.lines.append("a node comes out of a text whose columns cannot be named")


def _compare_node(expected: Expected, got: Answer, wrong: Wrong) -> None:
    node = got.nodes[0]
    if "matrix" in expected:
        wrong.lines += topo_dumps.compare(_as_printed(expected, node), got.nodes)
        _compare_heads(expected["heads"], node, wrong)
        return
    if "truncated" in expected:
        wrong.unless_equal("whole", not expected["truncated"], node.whole)
    for key, compare_key in (nvidia.COMPARISONS | other_tools.COMPARISONS).items():
        if key in expected:
            compare_key(expected, got, wrong)


def _as_printed(expected: Expected, node: NodeRecords) -> Expected:
    """These rows say `null` for a cell that is empty or N/A; topo-dumps names which."""
    cpus = {label: text or "" for label, text in expected["cpu_affinity"].items()}
    printed = {gpu.label: topo_dumps._numa_text(gpu, None) for gpu in node.gpus or ()}
    numa = {
        label: (printed.get(label) if printed.get(label) in ("", "N/A") else "N/A") if text is None else text
        for label, text in expected.get("numa_affinity", {}).items()
    }
    return expected | {"cpu_affinity": cpus, "numa_affinity": numa}


def _compare_heads(heads: list[str], node: NodeRecords, wrong: Wrong) -> None:
    fields = {"CPU Affinity": "cpus", "NUMA Affinity": "numa_nodes", "GPU NUMA ID": "memory_numa_node"}
    for head, field in fields.items():
        if head not in heads:
            said = [gpu.label for gpu in node.gpus or () if getattr(gpu, field) is not None]
            wrong.unless_equal(f"{head} invented", [], said)
