"""What is not known and what would settle it, what was supposed, where sources differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gputopo.reports.blocks import Block, Note, Notes, Span, cell
from gputopo.reports.views.words import file_name
from gputopo.rules.wording import listed, names
from gputopo.topology.node import Conflict, NodeTopology, pair_id

_WORDS = {
    "allowedCpus": "allowed CPUs", "bandwidthGBps": "bandwidth", "ceilingGBps": "wire ceiling", "cpus": "CPUs",
    "cpusComplete": "end of the CPU list", "device": "device name", "fabric": "fabric state", "gbps": "expected GB/s",
    "gpus": "GPUs", "links": "links", "linkLayer": "link layer",
    "memoryBytes": "memory", "memoryNumaNode": "memory's NUMA node", "name": "model",
    "nearestNics": "nearest NICs", "nearestNvme": "nearest NVMe", "nics": "NICs", "numaNodes": "NUMA node",
    "nvlinks": "NVLinks", "packages": "sockets", "parent": "bridge above", "pci": "PCI address",
    "pcie": "PCIe link", "rateGbps": "rate", "row": "matrix row", "uuid": "UUID", "viaSwitch": "NVSwitch or not",
}  # fmt: skip
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST_PAIRS = 4
_MOST_CONFLICTS = 4


def notes(node: NodeTopology, *, verbose: bool) -> tuple[Block, ...]:
    made: list[Block] = []
    kinds = _pair_kinds(node)
    for title, items in (
        ("UNKNOWN", _unknown(node, kinds)),
        ("ASSUMED", _assumed(node, kinds)),
        ("CONFLICT", _conflicts(node, kinds, verbose)),
    ):
        if items:
            made.append(Notes(title, tuple(items)))
    return tuple(made)


def _pair_kinds(node: NodeTopology) -> dict[str, str]:
    nics = {nic.id for nic in node.nics or ()}
    kinds = ("GPU pairs", "GPU-NIC pairs", "NIC pairs")
    return {pair_id(pair.a, pair.b): kinds[(pair.a in nics) + (pair.b in nics)] for pair in node.pairs}


def subjects(ids: Sequence[str], kinds: dict[str, str]) -> str:
    """`GPU0-GPU7`, `28 GPU pairs`: short, and still exact where there are few."""
    pairs = [id for id in ids if id in kinds]
    others = [id for id in ids if id not in kinds and id != "node"]
    parts = [names(others)] if others else []
    by_kind: dict[str, list[str]] = {}
    for id in pairs:
        by_kind.setdefault(kinds[id], []).append(id)
    for kind, some in by_kind.items():
        parts.append(f"{len(some)} {kind}" if len(some) > _MOST_PAIRS else listed(some))
    return ", ".join(parts)


def _unknown(node: NodeTopology, kinds: dict[str, str]) -> list[Note]:
    """One entry a reason: subjects of one attribute, then attributes of the same subjects, together."""
    by_attribute: dict[tuple[str, str, str], list[str]] = {}
    reasons = _same_but_address(node)
    for note in node.unknown:
        attribute = "PCIe level" if note.attribute == "pcie" and _are_pairs(note.subjects, kinds) else note.attribute
        group = by_attribute.setdefault((attribute, reasons[note.reason], note.settled_by), [])
        group += [subject for subject in note.subjects if subject not in group]
    by_subjects: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for (attribute, reason, settle), ids in by_attribute.items():
        # "No source tells X" says no more than UNKNOWN does; other reasons are worth a sentence.
        why = "" if reason.startswith("no source ") else reason
        by_subjects.setdefault((tuple(ids), why, settle), []).append(_WORDS.get(attribute, attribute))
    made = []
    silent: dict[str, list[str]] = {}
    for (about_ids, reason, settle), attributes in by_subjects.items():
        what = listed(attributes)
        about = subjects(about_ids, kinds)
        what = f"{what} of {about}" if about else what
        if reason:
            made.append(Note((Span(what, "strong"), Span(f": {reason}")), settle))
        else:
            silent.setdefault(settle, []).append(what)
    return made + [Note(cell("; ".join(what), "strong"), settle) for settle, what in silent.items()]


def _same_but_address(node: NodeTopology) -> dict[str, str]:
    """Reasons that differ only in the address they name become one: that of ADDRESS."""
    bare = {note.reason: _ADDRESS.sub("ADDRESS", note.reason) for note in node.unknown}
    counts = Counter(bare.values())
    return {reason: short if counts[short] > 1 else reason for reason, short in bare.items()}


def _are_pairs(ids: Sequence[str], kinds: dict[str, str]) -> bool:
    return any(id in kinds for id in ids)


def _assumed(node: NodeTopology, kinds: dict[str, str]) -> list[Note]:
    by_text: dict[str, list[str]] = {}
    for note in node.assumptions:
        by_text.setdefault(note.text, []).extend(note.subjects)
    made = []
    for text, ids in by_text.items():
        about = subjects(list(dict.fromkeys(ids)), kinds)
        made.append(Note(cell(f"{text} ({about})" if about else text)))
    return made


def _conflicts(node: NodeTopology, kinds: dict[str, str], verbose: bool) -> list[Note]:
    """Who says what, and which word is used; the same quarrel of several subjects once."""
    sources = {source.id: file_name(source.name) for source in node.sources}
    alike: dict[tuple[str, str], list[str]] = {}
    for conflict in node.conflicts:
        ids = conflict.subjects
        pair = len(ids) == 2 and pair_id(*ids) in kinds
        attribute = "PCIe level" if conflict.attribute == "pcie" and pair else conflict.attribute
        group = alike.setdefault((_WORDS.get(attribute, attribute), _quarrel(conflict, sources)), [])
        group += [pair_id(*ids)] if pair else ids
    made = []
    for (what, quarrel), about in alike.items():
        whose = subjects(about, kinds)
        made.append(Note((Span(f"{what} of {whose}" if whose else what, "strong"), Span(f": {quarrel}"))))
    if len(made) > _MOST_CONFLICTS and not verbose:
        made[_MOST_CONFLICTS:] = [Note(cell(f"and {len(made) - _MOST_CONFLICTS} more (-v)", "dim"))]
    return made


def _quarrel(conflict: Conflict, sources: dict[str, str]) -> str:
    used = f"used: {said(conflict.used)}" if conflict.used is not None else "none used"
    witnesses = list(dict.fromkeys(sources.get(one.source, one.source) for one in conflict.values))
    if len(witnesses) == 1:
        return f"{' against '.join(said(one.value) for one in conflict.values)} ({witnesses[0]}; {used})"
    told = (f"{said(one.value)} ({sources.get(one.source, one.source)})" for one in conflict.values)
    return f"{' against '.join(told)}; {used}"


def said(value: object) -> str:
    """A value of the document in words.

    >>> said([0, 1]), said("0-15"), said({"width": 8, "maxWidth": None}), said(None), said([])
    ('0, 1', '0-15', 'width 8', 'unknown', 'none')
    """
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(said(item) for item in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {said(item)}" for key, item in value.items() if item is not None) or "none"
    return str(value) or "none"
