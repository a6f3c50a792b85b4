"""Kind `nccl-xml`: what a topology file says of its GPUs, recorded from the files' own text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.parsers.nccl_xml import parse
from gputopo.records import GpuRecord, NicRecord, NodeRecords
from gputopo.terms.unknown import Unknown

COMPARED = frozenset({"n_gpus", "gpus", "duplicate_busids", "root"})
IGNORED = {
    "file": "of the case",
    "source": "where it was published",
    "machine": "prose",
    "kind": "whose file it is",
    "note": "prose",
    "version": "of the format; a wrong one is linted",
    "numaids": "each GPU's is compared",
    "n_nic_pci": "PCI functions; we list what NCCL calls a net",
    "n_net": "repeats included",
    "n_pci_unclassified_leaf": "cannot be told from the text what they are",
    "cpu_vendor": "not kept: a NUMA node is no package",
    "xgmi": "not NVLink",
    "graphs": "a graph file holds no topology",
    "nccl_ok": "NCCL's own answer: kind nccl-paths",
    "nccl_warn": "NCCL's own answer",
    "nccl_ring": "NCCL's own answer: kind nccl-paths",
    "nccl_allreduce_busbw_model": "NCCL's own answer: kind nccl-paths",
}
Answer = dict[str, Any]


class XmlCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    text: str


def cases(path: Path) -> Iterator[XmlCase]:
    """The rows of an index.jsonl, each with the text of the file beside it."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield XmlCase(row["file"], row, (path.parent / row["file"]).read_text(encoding="utf-8"))


def answer(case: XmlCase) -> Answer:
    nodes = parse(case.text)
    return {
        "formats": [node.format for node in nodes],
        "gpus": [_gpu(gpu, node) for node in nodes for gpu in node.gpus or ()],
        "duplicate_busids": sorted(
            seen.subjects[0] for node in nodes for seen in node.observations if seen.kind == "duplicate-busid"
        ),
        "unknown": [gap.attribute for node in nodes for gap in node.gaps],
    }


def _gpu(gpu: GpuRecord, node: NodeRecords) -> Answer:
    numa = gpu.numa_nodes
    return {
        "busid": str(gpu.pci),
        "numaid": None if numa is None or isinstance(numa, Unknown) else ",".join(map(str, numa)),
        "nvlinks": gpu.nvlinks_active,
        "near_nics": sorted(str(nic.pci) for nic in node.nics or () if _below_one_switch(gpu, nic)),
    }


def _below_one_switch(gpu: GpuRecord, nic: NicRecord) -> bool:
    """PIX or PXB in the grain of NCCL's chains: something common below the NUMA node."""
    chains = (gpu.chain, nic.chain)
    if any(chain is None or isinstance(chain, Unknown) or len(chain) < 2 for chain in chains):
        return False
    return gpu.chain[:2] == nic.chain[:2]  # type: ignore[index]


def compare(expected: dict[str, Any], got: Answer) -> list[str]:
    if expected["root"] == "graphs" or not expected["n_gpus"]:
        found = [] if not got["gpus"] else [f"GPUs where the file names none: {got['gpus']}"]
        return found if "gpus" in got["unknown"] else [*found, "no entry in unknown for gpus"]
    # A bus id that stands twice is one GPU to a reader.
    wanted = list({gpu["busid"]: gpu for gpu in reversed(expected["gpus"])}.values())[::-1]
    count = expected["n_gpus"] - (len(expected["gpus"]) - len(wanted))
    differences = []
    if len(got["gpus"]) != count:
        differences.append(f"n_gpus: {count} recorded, {len(got['gpus'])} read")
    if sorted(expected["duplicate_busids"]) != got["duplicate_busids"]:
        both = f"{expected['duplicate_busids']} recorded, {got['duplicate_busids']} read"
        differences.append(f"duplicate_busids: {both}")
    found_gpus = {gpu["busid"]: gpu for gpu in got["gpus"]}
    for gpu in wanted:
        found_gpu = found_gpus.get(gpu["busid"])
        if found_gpu is None:
            differences.append(f"{gpu['busid']}: not read")
            continue
        numaid = None if gpu["numaid"] == "-1" else gpu["numaid"]
        for name, value in (("numaid", numaid), ("nvlinks", gpu["nvlinks"])):
            if found_gpu[name] != value:
                differences.append(f"{gpu['busid']} {name}: {value!r} recorded, {found_gpu[name]!r} read")
        far = set(gpu["nic_pci_same_parent_switch"]) - set(found_gpu["near_nics"])
        if far:
            differences.append(f"{gpu['busid']}: {sorted(far)} not PIX or PXB")
    return differences
