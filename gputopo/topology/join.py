"""Which devices of several sources are the same device: the join in five steps.

1. UUID. 2. PCI address (of a NIC also the card, NCCL folds its functions). 3. Device name, inside
one node. 4. The NVML index, within one view. 5. The order. Steps 1 to 3 are identity. Steps 4 and
5 are weak: they join all devices of a source or none, are named as an assumption, and are
cancelled whole by one contradiction (fit.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gputopo.records import GpuRecord, NicRecord, NvmeRecord
from gputopo.topology.attributes import TOPO, format_rank
from gputopo.topology.ledger import Spoken

DeviceRecord = GpuRecord | NicRecord | NvmeRecord


class Witness(NamedTuple):
    """One source's record of a device."""

    spoken: int  # place in the sorted sources
    record: DeviceRecord


class WeakJoin(NamedTuple):
    """A supposed identity of all devices of one source with those known before."""

    spoken: int
    kind: str  # "gpu" | "nic"
    how: str  # "index" | "order" | "label"
    pairs: tuple[tuple[int, str], ...]  # (entity, label)


class Joined(NamedTuple):
    entities: tuple[tuple[Witness, ...], ...]
    weak: tuple[WeakJoin, ...]
    unjoined: tuple[tuple[int, str], ...]  # (source, why) where a weak join could not even be tried


def sort_sources(spoken: Iterable[Spoken]) -> tuple[Spoken, ...]:
    """Most detailed format first, so that the order in which sources were given is irrelevant."""
    return tuple(
        sorted(
            spoken,
            key=lambda one: (format_rank(one.source.format), one.source.format, one.records.command,
                             one.source.name, one.source.where),
        )
    )  # fmt: skip


def join(kind: str, sources: Sequence[Spoken]) -> Joined:
    """Entities of one kind (`gpu`, `nic`, `nvme`) over the sorted sources of one node."""
    entities: list[list[Witness]] = []
    by_key: dict[tuple[str, str], int] = {}
    weak: list[WeakJoin] = []
    unjoined: list[tuple[int, str]] = []
    for place, spoken in enumerate(sources):
        records = _records(kind, spoken)
        if not records:
            continue
        known_before = len(entities)
        spaces = {space for space, _ in by_key}
        loose = []
        for record in records:
            found = _by_identity(kind, record, by_key)
            if found is not None and any(witness.spoken == place for witness in entities[found]):
                found = None  # two records of one source are two devices
            if found is None and known_before and not _has_identity(kind, record, spaces):
                loose.append(record)
                continue
            if found is None:
                found = len(entities)
                entities.append([])
            entities[found].append(Witness(place, record))
            _learn(kind, record, found, by_key)
        if loose:
            matched = _weak(kind, place, loose, sources, entities)
            entity_of: dict[str, int] = {}
            if isinstance(matched, str):
                unjoined.append((place, matched))
            elif matched.pairs:
                weak.append(matched)
                entity_of = {label: entity for entity, label in matched.pairs}
            for record in loose:
                at = entity_of.get(record.label)
                if at is None:
                    at = len(entities)
                    entities.append([])
                entities[at].append(Witness(place, record))
                _learn(kind, record, at, by_key)
    return Joined(tuple(map(tuple, entities)), tuple(weak), tuple(unjoined))


def _records(kind: str, spoken: Spoken) -> Sequence[DeviceRecord]:
    records = spoken.records
    if kind == "gpu":
        return records.gpus or ()
    return (records.nics if kind == "nic" else records.nvme) or ()


_IDENTITY = {"gpu": ("uuid", "pci"), "nic": ("pci", "name", "card"), "nvme": ("pci",)}


def _has_identity(kind: str, record: DeviceRecord, spaces: set[str]) -> bool:
    """Whether a key of the record could have matched: a UUID tells nothing beside addresses only."""
    return any(key.space in _IDENTITY[kind] and key.space in spaces for key in record.keys)


def _by_identity(kind: str, record: DeviceRecord, by_key: dict[tuple[str, str], int]) -> int | None:
    for space in _IDENTITY[kind]:
        for key in record.keys:
            if key.space == space and (space, key.value) in by_key:
                return by_key[space, key.value]
    return None


def _learn(kind: str, record: DeviceRecord, entity: int, by_key: dict[tuple[str, str], int]) -> None:
    for key in record.keys:
        if key.space in _IDENTITY[kind]:
            by_key.setdefault((key.space, key.value), entity)


def _weak(
    kind: str, place: int, loose: Sequence[DeviceRecord], sources: Sequence[Spoken],
    entities: list[list[Witness]],
) -> WeakJoin | str:  # fmt: skip
    """Index, label or order; or the sentence that says why none of them fits."""
    free = [
        number for number, witnesses in enumerate(entities)
        if all(witness.spoken != place for witness in witnesses)
    ]  # fmt: skip
    if kind == "nic":
        return _weak_nics(place, loose, sources, entities, free)
    index_of: dict[int, int] = {}
    for number in free:
        for witness in entities[number]:
            value = getattr(witness.record, "nvml_index", None)
            if isinstance(value, int):
                index_of.setdefault(value, number)
    here = {
        record.nvml_index: record
        for record in loose
        if isinstance(record, GpuRecord) and isinstance(record.nvml_index, int)
    }
    if index_of and (len(index_of) == len(free) or set(here) <= set(index_of)):
        if set(here) == set(index_of) or _partial(place, sources, entities, free, set(here), set(index_of)):
            pairs = tuple((index_of[n], record.label) for n, record in here.items() if n in index_of)
            return WeakJoin(place, kind, "index", pairs)
        return f"{len(loose)} GPUs here, {len(free)} in the other sources"
    if len(loose) != len(free):
        return f"{len(loose)} GPUs here, {len(free)} in the other sources"
    in_order = sorted(free, key=lambda number: pci_order(entities[number]))
    labels = [record.label for record in sorted(loose, key=_label_order)]
    return WeakJoin(place, kind, "order", tuple(zip(in_order, labels)))


def _partial(
    place: int, sources: Sequence[Spoken], entities: list[list[Witness]], free: Sequence[int],
    here: set[int], there: set[int],
) -> bool:  # fmt: skip
    """Whether a source that does not list every GPU (an NCCL dump, a cut matrix) may be a part."""
    if here < there:
        return not sources[place].records.gpus_complete
    others = {witness.spoken for number in free for witness in entities[number]}
    return there < here and not any(sources[other].records.gpus_complete for other in others)


def _weak_nics(
    place: int, loose: Sequence[DeviceRecord], sources: Sequence[Spoken], entities: list[list[Witness]],
    free: Sequence[int],
) -> WeakJoin | str:  # fmt: skip
    """NICn labels mean the same in two outputs of nvidia-smi; elsewhere only an equal count and the order."""
    labels: dict[str, int] = {}
    for number in free:
        for witness in entities[number]:
            if sources[witness.spoken].source.format == sources[place].source.format:
                labels.setdefault(witness.record.label, number)
    if labels and all(record.label in labels for record in loose):
        pairs = tuple((labels[record.label], record.label) for record in loose)
        return WeakJoin(place, "nic", "label", pairs)
    physical = [number for number in free if _is_physical(entities[number])]
    if len(loose) == len(physical) and sources[place].source.format == TOPO:
        in_order = sorted(physical, key=lambda number: pci_order(entities[number]))
        return WeakJoin(place, "nic", "order", tuple((n, r.label) for n, r in zip(in_order, loose)))
    return f"{len(loose)} NICs without names here, {len(physical)} in the other sources"


def _is_physical(witnesses: Sequence[Witness]) -> bool:
    return any(key.space in ("pci", "card") for witness in witnesses for key in witness.record.keys)


def pci_order(witnesses: Sequence[Witness]) -> tuple[int, str]:
    """Sort key: domain, then the rest of the address; devices without one come last."""
    for witness in witnesses:
        for key in witness.record.keys:
            if key.space == "pci":
                domain, _, rest = key.value.partition(":")
                return int(domain, 16), rest
    return 1 << 40, witnesses[0].record.label


def _label_order(record: DeviceRecord) -> tuple[int, str]:
    index = getattr(record, "nvml_index", None)
    return (index if isinstance(index, int) else 1 << 20, record.label)
