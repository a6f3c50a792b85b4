"""A node's document as metrics: as many series as it has devices, whatever runs on it.

No label holds what changes by itself (a pod, a time, a state): a series ends when hardware or driver is changed. What a
person wants to read beside a number stands in `…_info` metrics, to be joined on `gpu`. There is no label `node` but in
`gputopo_node_info`: which machine it is, Prometheus says with `instance`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gputopo.reports.prometheus import Metric, Sample

Document = Mapping[str, Any]
MOST_DEVICES = 512  # of one kind; a text can say anything, and Prometheus keeps every series it ever saw
MOST_LEVELS = 32
_LONGEST = 128  # characters of a label
_BYTES_A_GIGABIT = 1e9 / 8


def metrics(node: Document, version: str, shape: str | None = None) -> tuple[Metric, ...]:
    """Of `kind: NodeTopology` with its findings. `shape`: its fingerprint (fleet/shape.py); None: not computed.

    What is not known has no sample; a node without GPUs has a count of 0.
    """
    gpus, nics = _devices(node["gpus"]), _devices(node["nics"])
    left_out = len(node["gpus"] or ()) - len(gpus) + len(node["nics"] or ()) - len(nics)
    return (
        Metric("gputopo_build_info", "The program that wrote this.", (Sample({"version": version}, 1),)),
        Metric("gputopo_node_info", "The node as it names itself.", (Sample(_node(node), 1),)),
        Metric("gputopo_node_shape_info", "How its GPUs and NICs are wired, whatever they are called: equal for equal "
               "machines.", (Sample({"shape": shape, "product": _products(node)}, 1),) if shape else ()),
        Metric("gputopo_gpus", "GPUs by product.", tuple(_by_product(node))),
        Metric("gputopo_gpu_info", "A GPU: UUID, PCI address, product.", tuple(
            Sample({"gpu": _word(gpu["id"]), "uuid": _word(gpu["uuid"]), "pci": _word(gpu["pci"]),
                    "product": _word(gpu["name"])}, 1) for gpu in gpus)),
        Metric("gputopo_gpu_memory_bytes", "Memory of the GPU.", _of(gpus, lambda gpu: gpu["memoryBytes"])),
        Metric("gputopo_gpu_numa_node", "Number of the NUMA node, where it is one.",
               _of(gpus, lambda gpu: gpu["numaNodes"][0] if len(gpu["numaNodes"] or ()) == 1 else None)),
        Metric("gputopo_gpu_nvlinks_active", "NVLinks that are up.",
               _of(gpus, lambda gpu: _in(gpu, "nvlinks", "active"))),
        Metric("gputopo_gpu_nvlinks", "NVLinks that the GPU has.", _of(gpus, lambda gpu: _in(gpu, "nvlinks", "total"))),
        Metric("gputopo_gpu_pcie_width", "Lanes that the PCIe link uses.",
               _of(gpus, lambda gpu: _in(gpu, "pcie", "width"))),
        Metric("gputopo_gpu_pcie_max_width", "Lanes that GPU and slot allow.",
               _of(gpus, lambda gpu: _in(gpu, "pcie", "maxWidth"))),
        Metric("gputopo_gpu_pcie_max_generation", "PCIe generation that GPU and slot allow; what is used now sleeps.",
               _of(gpus, lambda gpu: _in(gpu, "pcie", "maxGeneration"))),
        Metric("gputopo_gpu_mig_devices", "MIG devices, where there are any.",
               _of(gpus, lambda gpu: len(gpu["mig"] or ()) or None)),
        Metric("gputopo_nic_info", "A NIC: device, PCI address, link layer.", tuple(
            Sample({"nic": _word(nic["id"]), "device": _word(nic["device"]), "pci": _word(nic["pci"]),
                    "link_layer": _word(nic["linkLayer"])}, 1) for nic in nics)),
        Metric("gputopo_nic_up", "1 where its port is up, 0 where it is not.", _of(
            nics, lambda nic: None if nic["state"] is None else nic["state"] == "up", "nic")),
        Metric("gputopo_nic_rate_bytes_per_second", "Rate of its port, one way.", _of(
            nics, lambda nic: None if nic["rateGbps"] is None else nic["rateGbps"] * _BYTES_A_GIGABIT, "nic")),
        Metric("gputopo_pairs", "Pairs of devices by the level that nvidia-smi topo prints.", tuple(_pairs(node))),
        Metric("gputopo_findings", "What rules found, by rule and severity.", tuple(_findings(node))),
        Metric("gputopo_rules_not_checked", "Rules whose evidence is missing.",
               (Sample({}, len(node["notChecked"] or ())),)),
        Metric("gputopo_conflicts", "Values on which two sources disagree.",
               (Sample({}, len(node["conflicts"] or ())),)),
        Metric("gputopo_devices_left_out", f"GPUs and NICs beyond the first {MOST_DEVICES}.", (Sample({}, left_out),)),
    )  # fmt: skip


def _devices(listed: Sequence[Document] | None) -> Sequence[Document]:
    return (listed or ())[:MOST_DEVICES]


def _node(node: Document) -> dict[str, str]:
    system = node["system"] or {}
    return {"node": _word(node["name"]), **{one: _word(system.get(one)) for one in ("product", "kernel", "driver")}}


def _products(node: Document) -> str:
    return _word(",".join(sorted({gpu["name"] or "" for gpu in node["gpus"] or ()})))


def _by_product(node: Document) -> Iterator[Sample]:
    counts = Counter(_word(gpu["name"]) for gpu in node["gpus"] or ())
    for product, count in _most(counts or Counter({"": 0})):
        yield Sample({"product": product}, count)


def _of(devices: Sequence[Document], value: Any, kind: str = "gpu") -> tuple[Sample, ...]:
    found = ((device, value(device)) for device in devices)
    return tuple(Sample({kind: _word(device["id"])}, float(one)) for device, one in found if one is not None)


def _in(device: Document, part: str, field: str) -> float | None:
    whole = device[part]
    return None if whole is None else whole[field]


def _pairs(node: Document) -> Iterator[Sample]:
    """An undecided level is a count of its own."""
    gpus = {gpu["id"] for gpu in node["gpus"] or ()}
    counts: dict[str, Counter[str]] = {"gpu-gpu": Counter(), "gpu-nic": Counter()}
    for pair in node["pairs"] or ():
        ends = (pair["a"] in gpus) + (pair["b"] in gpus)
        if ends:
            counts["gpu-gpu" if ends == 2 else "gpu-nic"][_word(pair["level"]) or "undecided"] += 1
    for kind, of_kind in counts.items():
        for level, count in _most(of_kind):
            yield Sample({"kind": kind, "level": level}, count)


def _findings(node: Document) -> Iterator[Sample]:
    counts = Counter((one["rule"], one["severity"]) for one in node["findings"] or ())
    for (rule, severity), count in sorted(counts.items()):
        yield Sample({"rule": rule, "severity": severity}, count)


def _most(counts: Counter[str]) -> Iterator[tuple[str, int]]:
    """The most frequent values by name, and the sum of all further ones as `other`."""
    kept = dict(counts.most_common(MOST_LEVELS))
    yield from sorted(kept.items())
    rest = sum(counts.values()) - sum(kept.values())
    if rest:
        yield "other", rest


def _word(text: str | None) -> str:
    """A label's value; what is no Unicode (a lone surrogate) is written as an escape, since no encoder takes it."""
    return (text or "")[:_LONGEST].encode("utf-8", "backslashreplace").decode()
