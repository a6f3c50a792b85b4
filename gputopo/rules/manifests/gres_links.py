"""GT391 gres-links

What it says
    `Links` of gres.conf that Slurm ignores or reads against other devices, or that AutoDetect=nvml does not find.

Why it matters
    With AutoDetect=nvml, Links is a check: slurmd counts the NVLinks whose far end is a GPU of the node. Behind
    NVSwitches that is 0 for every pair, whatever `nvidia-smi topo -m` prints (NV18). A GPU whose Links differ is left
    out, and slurmctld sets the node invalid and drains it. Without AutoDetect, Slurm places GPUs by wrong numbers.

What to do
    Leave Links out: AutoDetect=nvml finds them. Written by hand they are a number for each GPU, in the order of PCI
    addresses (not of /dev/nvidiaX), -1 for the GPU itself, 0 for one that no NVLink leads to.

When it is silent
    Without a node, what each pair has is not known: Links are compared with one another, and with what hardware can
    have (18 links of a GPU). The order against PCI addresses needs a node with addresses and device minors.

Example
    >>> from gputopo.parsers.gres_conf import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read("AutoDetect=nvml\\nName=gpu File=/dev/nvidia0 Links=-1,18,18,18")
    >>> [found] = check(own, Context())
    >>> found.place.line, found.severity, found.message
    (2, 'error', 'Links adds up to 54, a GPU has 18 NVLinks at most: these lead into NVSwitches')

Source: SchedMD/slurm 284c3b9 (2026-08-20), src/plugins/gpu/nvml/gpu_nvml.c (_nvml_get_nvlink_info),
src/interfaces/gres.c (gres_links_validate, _links_str2array), src/plugins/gres/gpu/gres_gpu.c (_validate_cpus_links).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.rules.manifests.gres_node import NVIDIA, by_file, of_node
from gputopo.rules.manifests.gres_records import (
    CONF,
    PRINTED,
    Fault,
    Pair,
    Record,
    at_value,
    may_stand_elsewhere,
    records,
)
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.terms.manifest import Manifest
from gputopo.terms.pci_address import PciAddress
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT391"
SEVERITY = "error"
KINDS = (CONF, PRINTED)
_MOST = 1023  # GRES_MAX_LINK
_OF_A_GPU = 18  # NVLinks: Hopper and Blackwell, NVML_NVLINK_MAX_LINKS of nvml.h
_LEAVE_OUT = "leave Links out"
_DRAINED = "slurmd leaves a GPU out whose Links are not what AutoDetect=nvml finds, and slurmctld drains the node"
_BEHIND = "on a node with NVSwitches AutoDetect=nvml finds 0 for every pair of GPUs"


class Row(NamedTuple):
    record: Record
    pair: Pair
    counts: tuple[int, ...]

    @property
    def own(self) -> int:
        return self.counts.index(-1)

    def column(self, place: int) -> int:
        """Where the number of a place begins in the value."""
        words = self.pair.value.split(",")
        return sum(len(word) + 1 for word in words[:place]) + 1


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    found = [record for record in records(manifest) if record.is_gpu]
    for fault in _faults(found, manifest, context.node):
        yield fault.problem(CODE, manifest)


def _faults(found: Sequence[Record], manifest: Manifest, node: NodeTopology | None) -> Iterator[Fault]:
    rows: list[Row] = []
    for record in found:
        pair = record.get("links")
        if pair is not None:
            counts, faults = _read(record, pair)
            yield from faults
            rows += [Row(record, pair, counts)] if counts else []
    known = _expected(node) if node is not None else {}
    of_node_too = {record.line.number for record in of_node(found, node)} if node is not None else set()
    for row in rows:
        files = row.record.files or ()
        if row.record.line.number in of_node_too and len(files) == 1 and files[0] in known:
            yield from _against(row, known[files[0]])
        elif sum(count for count in row.counts if count > 0) > _OF_A_GPU:
            yield _too_many(row)
    for group in _groups(found, rows):
        yield from _lengths(group, found, may_stand_elsewhere(manifest), len(known))
        yield from _places(group, found)
        yield from _both_ways(group)


def _read(record: Record, pair: Pair) -> tuple[tuple[int, ...], list[Fault]]:
    """The numbers, () where Slurm does not take them."""
    faults: list[Fault] = []
    numbers: list[int] = []
    column = 1
    for word in pair.value.split(","):
        if not word:
            because = "slurmd passes over it, slurmctld reads 0: the numbers behind it belong to other GPUs"
            faults.append(at_value("warning", pair, "Links has an empty place", because, "a number", column))
        elif not word.removeprefix("-").isdecimal() or not word.isascii() or not -2 <= _int(word) <= _MOST:
            said = f"slurmd ignores Links: {word[:40]!r} is none of -1, 0, 1 … {_MOST}"
            return (), [*faults, at_value("warning", pair, said, "", "", column)]
        numbers.append(_int(word) if word else 0)
        column += len(word) + 1
    if numbers.count(-1) != 1:
        said = "no -1" if -1 not in numbers else "more than one -1"
        message = f"slurmd ignores Links: it has {said}"
        return (), [*faults, at_value("warning", pair, message, "", "-1 in the place of the GPU itself")]
    if record.files is not None and len(record.files) > 1:
        message, because = f"Links is of one GPU, the line has {len(record.files)}", "each of them gets the same -1"
        return (), [*faults, at_value("error", pair, message, because, "a line for each GPU")]
    return tuple(numbers), faults


def _int(word: str) -> int:
    return int(word) if len(word) < 10 else _MOST + 1


def _too_many(row: Row) -> Fault:
    total = sum(count for count in row.counts if count > 0)
    message = f"Links adds up to {total}, a GPU has {_OF_A_GPU} NVLinks at most: these lead into NVSwitches"
    if row.record.by_nvml:
        return at_value("error", row.pair, message, f"{_BEHIND}; {_DRAINED}", _LEAVE_OUT)
    because = f"{_BEHIND}, and drains the node where Links says otherwise (mismatch)"
    return at_value("warning", row.pair, message, because, f"{_LEAVE_OUT}, or 0 for every other GPU")


class _Found(NamedTuple):
    """What AutoDetect=nvml finds for a GPU."""

    gpu: Gpu
    counts: tuple[int, ...]
    switched: bool


def _expected(node: NodeTopology) -> dict[str, _Found]:
    """Device file → Links; empty where the NVLinks of a pair are not known."""
    files = by_file(node)
    placed = [(PciAddress.parse(gpu.pci or ""), file) for file, gpu in files.items() if gpu.vendor in NVIDIA]
    order = sorted((address, file) for address, file in placed if address is not None)
    if not files or len(order) != len(files):
        return {}
    pairs = {frozenset((pair.a, pair.b)): pair for pair in node.pairs}
    found = {}
    for _, file in order:
        counts, switched = [], False
        for _, other in order:
            pair = pairs.get(frozenset((files[file].id, files[other].id)))
            if other == file:
                counts.append(-1)
            elif pair is not None and pair.via_switch:
                counts.append(0)
                switched = True
            elif pair is None or pair.nvlinks is None or (pair.nvlinks and pair.via_switch is None):
                return {}
            else:
                counts.append(pair.nvlinks)
        found[file] = _Found(files[file], tuple(counts), switched)
    return found


def _against(row: Row, found: _Found) -> Iterator[Fault]:
    if row.counts == found.counts:
        return
    right = ",".join(map(str, found.counts))
    gpu = f"{found.gpu.id} ({found.gpu.pci})"
    at = next((at for at, (one, two) in enumerate(zip(row.counts, found.counts)) if one != two), 0)
    if len(row.counts) != len(found.counts):
        message = f"Links has {len(row.counts)} places, the node {len(found.counts)} GPUs"
    elif row.own != found.counts.index(-1):
        place = found.counts.index(-1)
        message = f"Links has -1 in place {row.own}: {gpu} is device {place}, in the order of PCI addresses"
    elif found.switched:
        message = f"Links of {gpu} says {row.counts[at]} to device {at}: this NVLink leads into an NVSwitch, so it is 0"
    else:
        message = f"Links of {gpu} says {row.counts[at]} to device {at}, the node has {found.counts[at]}"
    column = row.column(at)
    if row.record.by_nvml:
        yield at_value("error", row.pair, message, _DRAINED, f"{_LEAVE_OUT}, or Links={right}", column)
    else:
        because = "AutoDetect=nvml would drain the node for it (mismatch)" if found.switched else ""
        yield at_value("warning", row.pair, message, because, f"Links={right}", column)


def _groups(found: Sequence[Record], rows: Sequence[Row]) -> list[list[Row]]:
    """Rows of the same nodes."""
    groups: dict[frozenset[str] | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.record.nodes, []).append(row)
    return list(groups.values())


def _lengths(group: Sequence[Row], found: Sequence[Record], elsewhere: bool, gpus: int) -> Iterator[Fault]:
    """A place for each GPU. How many there are the file says only where AutoDetect adds none."""
    own = [record for record in found if record.nodes == group[0].record.nodes]
    counted = all(record.files for record in own) and all(record.undetected for record in own) and not elsewhere
    devices = {file for record in own for file in record.files or ()}
    length = len(devices) if counted else gpus or len(group[0].counts)
    for row in group:
        places = len(row.counts)
        if gpus and not counted:
            return  # said against the node
        if places == length:
            continue
        there = f"the file {length} GPU{'s' if length > 1 else ''}" if counted else f"another line {length}"
        message = f"Links has {places} places, {there}"
        if counted and places < length:
            severity, because = "warning", "slurmctld takes those that are missing as 0"
        elif counted:
            severity, because = "error", "slurmctld sets the node invalid and drains it: Invalid GRES Links value"
        else:
            severity, because = ("error", _DRAINED) if row.record.by_nvml else ("warning", "")
        yield at_value(severity, row.pair, message, because, "one for each GPU")


def _places(group: Sequence[Row], found: Sequence[Record]) -> Iterator[Fault]:
    """-1 stands once in each place, and without AutoDetect in the place that the line has in the file."""
    seen: dict[int, Row] = {}
    for row in group:
        if row.own in seen:
            message = f"Links has -1 in place {row.own}, as that of an earlier line"
            severity, because = ("error", _DRAINED) if row.record.by_nvml else ("warning", "")
            yield at_value(severity, row.pair, message, because, "-1 in the place of this GPU", row.column(row.own))
        seen.setdefault(row.own, row)
    own = [record for record in found if record.nodes == group[0].record.nodes]
    types = {pair.value if (pair := record.get("type")) else None for record in own}
    if len(seen) < len(group) or len(types) > 1 or not all(record.undetected for record in own):
        return
    number = 0
    for record in own:
        here = next((row for row in group if row.record is record), None)
        if here is not None and here.own != number:
            message = f"Links has -1 in place {here.own}, this is GPU {number} of the file"
            because = "without AutoDetect Slurm numbers GPUs by their place in the file"
            yield at_value("warning", here.pair, message, because, "", here.column(here.own))
        number += len(record.files or ()) or 1


def _both_ways(group: Sequence[Row]) -> Iterator[Fault]:
    rows = {row.own: row for row in group}
    if len(rows) != len(group):
        return
    for place, row in rows.items():
        for other, count in enumerate(row.counts):
            back = rows.get(other)
            if back is None or other <= place or len(back.counts) <= place or back.counts[place] == count:
                continue
            message = f"Links of device {other} to device {place} is {back.counts[place]}, the way back is {count}"
            yield at_value("warning", back.pair, message, "", "the same number both ways", back.column(place))
            return
