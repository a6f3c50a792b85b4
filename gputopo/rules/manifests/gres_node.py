"""Records of a gres.conf against the node beside it: device files, Type, order.

Source: SchedMD/slurm 284c3b9, src/interfaces/gres.c (_my_stat), src/plugins/gres/gpu/gres_gpu.c
(_normalize_sys_gres_types, _merge_system_gres_conf), src/plugins/gres/common/gres_common.c, src/plugins/gpu/nvml.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gputopo.rules.manifests.gres_records import Fault, Pair, Record, at_value, detections, detector, lines
from gputopo.terms.gres_type import gres_type
from gputopo.terms.manifest import Manifest
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import Gpu, NodeTopology

NVIDIA = (None, "nvidia", "0x10de", "10de")
_BY_NAME = ("nvml", "nvidia", "full")  # AutoDetect that finds NVIDIA's GPUs


def of_node(records: Sequence[Record], node: NodeTopology) -> tuple[Record, ...]:
    """Those of GPUs that this node reads. Of a node without a name: those of all nodes, or of the only ones named."""
    gpus = [record for record in records if record.is_gpu]
    if node.name is None:
        named = {record.nodes for record in gpus}
        return tuple(gpus) if len(named) == 1 else tuple(record for record in gpus if record.nodes is None)
    names = {node.name, node.name.partition(".")[0]}
    return tuple(record for record in gpus if record.nodes is None or not record.nodes.isdisjoint(names))


def detections_of(manifest: Manifest, node: NodeTopology) -> tuple[Pair, ...]:
    """The AutoDetect that finds this node's GPUs, where one is in force."""
    found = lines(manifest)
    everywhere = [line.first for line in found if line.first is not None and line.first.key == "autodetect"]
    names = {node.name, (node.name or "").partition(".")[0]}
    own = [pair for line in found for nodes, pair in detections(line) if nodes is None or not nodes.isdisjoint(names)]
    if node.name is None and any(detections(line) for line in found):
        return ()
    used = own[:1] or everywhere[-1:]
    return tuple(pair for pair in used if detector(pair.value) in _BY_NAME)


def by_file(node: NodeTopology) -> dict[str, Gpu]:
    """Device file → GPU; empty where it is not known of every GPU, or where MIG devices have files of their own."""
    found = {f"/dev/nvidia{gpu.minor}": gpu for gpu in node.gpus if gpu.minor is not None}
    whole = len(found) == len(node.gpus) and all(gpu.vendor in NVIDIA and not gpu.mig for gpu in node.gpus)
    return found if whole else {}


def faults(records: Sequence[Record], node: NodeTopology) -> Iterator[Fault]:
    gpus = by_file(node)
    for record in records:
        file = record.get("file")
        if gpus and file is not None:
            yield from _absent(record, file, gpus)
        said = record.get("type")
        if said is not None and record.detects in _BY_NAME:
            yield from _type(record, said, gpus, node)
    yield from _order(records, gpus)


def _absent(record: Record, file: Pair, gpus: dict[str, Gpu]) -> Iterator[Fault]:
    strange = [one for one in record.files or () if one.startswith("/dev/nvidia") and one not in gpus]
    if strange:
        there = ", ".join(sorted(gpus, key=lambda one: (len(one), one)))
        message = f"no GPU of the node is {strange[0]}"
        because = "slurmd waits 20 s for a file that is not there and does not start"
        yield at_value("warning", file, message, because, f"there are {there}")


def _type(record: Record, said: Pair, gpus: dict[str, Gpu], node: NodeTopology) -> Iterator[Fault]:
    """Type must be a part of the name that is found; the case of letters does not matter."""
    own = [gpus[one] for one in record.files or () if one in gpus] if record.get("file") else list(node.gpus)
    names = [gres_type(gpu.name) for gpu in own if gpu.name]
    if not names or len(names) != len(own) or any(said.value.lower() in name.lower() for name in names):
        return
    message = f"AutoDetect finds no {said.value}: the GPUs are {', '.join(dict.fromkeys(names))}"
    if record.has_file:
        because = "slurmd takes the record as it stands and ignores what it detects: Cores, Links, UUID"
        yield at_value("warning", said, message, because, f"Type={names[0]}, or a part of it")
    else:
        because = "slurmd drops the record, and slurmctld drains the node: fewer GPUs than slurm.conf counts"
        yield at_value("error", said, message, because, f"Type={names[0]}, or a part of it")


def _order(records: Sequence[Record], gpus: dict[str, Gpu]) -> Iterator[Fault]:
    """Without AutoDetect a GPU's number is its place in the file. Of several Types slurm.conf sets the order."""
    types = {pair.value if (pair := record.get("type")) else None for record in records}
    if not gpus or len(types) > 1 or any(record.detects not in ("", "off", None) for record in records):
        return
    last: PciAddress | None = None
    for record in records:
        at = record.get("file")
        for one in record.files or ():
            address = PciAddress.parse(gpus[one].pci or "") if one in gpus else None
            if address is None or at is None:
                return
            if last is not None and address < last:
                message = f"{one} ({address}) stands behind the GPU at {last}: not in the order of PCI addresses"
                because = (
                    "Slurm numbers GPUs by their place in the file, CUDA by address: unless cgroup.conf has "
                    "ConstrainDevices=yes, CUDA_VISIBLE_DEVICES of a job names another GPU"
                )
                yield at_value("warning", at, message, because, "lines in the order of PCI addresses")
                return
            last = address
