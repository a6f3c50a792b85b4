"""Which devices a container holds: the source that is believed, and what others say that differs.

A device plugin's devices and those of DRA claims are two lists that add up. The kubelet's words for either are
compared as they stand; what a runtime was told (CDI names, mounts, environment) names whole GPUs only, in any order
and without replicas, so of it only the set of GPUs is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gputopo.holdings import ClaimRecord, DeviceHeld
from gputopo.pods.identify import Names
from gputopo.pods.model import Device
from gputopo.pods.same import Group
from gputopo.pods.spoken import BY, NOT_GIVEN, Spoken, order
from gputopo.terms.device_id import is_placeholder
from gputopo.topology.node import Conflict, Source, Value

PLUGIN, DRA = "plugin", "dra"
_COUNTS = "the kubelet's id only counts here, the vGPU scheduler chose the GPU: the pod's annotation says which"


class Word(NamedTuple):
    """The devices of one list that one source names."""

    source: Source
    by: str  # what of the source: "" is its own word
    devices: tuple[Device, ...]

    @property
    def title(self) -> str:
        return self.source.id


class Chosen(NamedTuple):
    devices: tuple[Device, ...]
    given: bool  # by the kubelet, DRA or a runtime; False: a process says so, or an environment and the kubelet not
    uses: tuple[str, ...] | None
    conflicts: tuple[Conflict, ...]
    by: str = ""  # what of the source says so, see spoken.BY
    opened: tuple[str, ...] = ()  # GPUs whose device files its processes have open


def choose(
    group: Group, names: Names, claims: Sequence[tuple[Spoken, ClaimRecord]], title: str, listed: bool = False
) -> Chosen:
    """`listed`: a source has every container that the kubelet gave devices to, so that one not in it was given none."""
    own: dict[str, list[Word]] = {PLUGIN: [], DRA: []}
    told: list[Word] = []
    opened: list[Word] = []
    uses: list[str] | None = None
    for said in group.said:
        for by, held in _by(said.holding.devices):
            kinds = {names.device(one): _kind(one) for raw in held for one in names.each(raw)}
            devices = tuple(kinds)
            if by == "process" or said.source.format == "process":
                uses = [*(uses or ()), *(one.gpu for one in devices if one.gpu)]
            elif by == "open":
                opened.append(Word(said.source, by, devices))
            elif by:
                told.append(Word(said.source, by, devices))
            else:
                for kind in (PLUGIN, DRA):
                    part = tuple(one for one, own_kind in kinds.items() if own_kind == kind)
                    if part or (kind == PLUGIN and not devices):
                        own[kind].append(Word(said.source, "", part))
    own[DRA] += _claimed(group, names, claims)
    own[PLUGIN], told = _handed_out(own[PLUGIN], told)
    used = [_first(own[kind]) for kind in (PLUGIN, DRA)]
    conflicts = [one for kind in (PLUGIN, DRA) for one in _between(own[kind], title)]
    devices = tuple(one for word in used if word for one in word.devices)
    gpus = tuple(dict.fromkeys(one.gpu for word in opened for one in word.devices if one.gpu))
    told = told if told or any(used) else opened
    if not any(used) and told:
        best = min(told, key=lambda one: (BY.index(one.by) if one.by in BY else len(BY), order(one.source.format)))
        given = best.by not in NOT_GIVEN and not (best.by == "env" and listed)
        return Chosen(best.devices, given, _once(uses), tuple(_other_gpus(best, told, title)), best.by, gpus)
    first = next((word for word in used if word), None)
    if first is not None:
        conflicts += _other_gpus(Word(first.source, "", devices), told, title)
    once = tuple(conflicts[:1] if _one_cause(conflicts) else conflicts)
    by = "annotation" if first is not None and first.by == "annotation" else ""
    return Chosen(devices, bool(devices), _once(uses), once, by, gpus)


def _by(devices: tuple[DeviceHeld, ...] | None) -> Iterator[tuple[str, list[DeviceHeld]]]:
    """None at all is said once, with the source's own word."""
    if devices is None:
        return
    if not devices:
        yield "", []
    for by in dict.fromkeys(one.by for one in devices):
        yield by, [one for one in devices if one.by == by]


def _kind(held: DeviceHeld) -> str:
    return DRA if held.space == "dra" or held.resource.startswith("claim:") else PLUGIN


def _claimed(group: Group, names: Names, claims: Sequence[tuple[Spoken, ClaimRecord]]) -> list[Word]:
    wanted = [one for said in group.said for one in said.holding.claims or ()]
    found: dict[str, Word] = {}
    for spoken, claim in claims:
        if claim.devices is None or (claim.pods and group.uid and group.uid not in claim.pods):
            continue
        if claim.namespace and group.namespace and claim.namespace != group.namespace:
            continue
        requests = {request for name, request in wanted if name == claim.name}
        if not requests:
            continue
        held = [one for request, one in claim.devices if "" in requests or request.partition("/")[0] in requests]
        devices = tuple(dict.fromkeys(names.device(one) for one in held))
        before = found.get(spoken.source.id)
        found[spoken.source.id] = Word(spoken.source, "", (*(before.devices if before else ()), *devices))
    return list(found.values())


def _handed_out(own: list[Word], told: list[Word]) -> tuple[list[Word], list[Word]]:
    """(words for what the plugin gave, the rest): of ids that only count, what the scheduler or the plugin wrote."""
    counts = [one for one in own if one.devices and all(is_placeholder(each.id) for each in one.devices)]
    if not counts:
        return own, told
    rest = [one for one in own if one not in counts]
    better = [one for one in told if one.by == "annotation"] or [one for one in told if _gpus(one.devices)]
    if better:
        return [*rest, *better], [one for one in told if one not in better]
    unknown = [
        one._replace(devices=tuple(each._replace(gpu=None, unresolved=_COUNTS) for each in one.devices))
        for one in counts
    ]
    return [*rest, *unknown], told


def _first(words: Sequence[Word]) -> Word | None:
    return min(words, key=lambda one: order(one.source.format), default=None)


def _between(words: Sequence[Word], title: str) -> Iterator[Conflict]:
    """The kubelet's own words for one list, where they differ."""
    if len({_units(one.devices) for one in words}) > 1:
        ordered = sorted(words, key=lambda one: order(one.source.format))
        values = tuple(Value(_shown(one.devices), one.title) for one in ordered)
        yield Conflict((title,), "devices", values[0].value, values)


def _units(devices: Iterable[Device]) -> frozenset[str]:
    """A CDI name and a driver/pool/device mean one GPU."""
    return frozenset(
        f"{one.gpu}{one.mig or ''}" if one.gpu and one.replica is None else one.nic or one.key or one.id
        for one in devices
    )


def _other_gpus(word: Word, told: Sequence[Word], title: str) -> list[Conflict]:
    """What the container was told of GPUs, where that is other GPUs."""
    different = [one for one in told if one is not word and _differs(one, word)]
    if not different:
        return []
    values = [Value(_shown(word.devices), word.title)]
    values += [Value(_shown(one.devices), one.title) for one in different]
    return [Conflict((title,), "devices", values[0].value, tuple(values))]


def _differs(told: Word, word: Word) -> bool:
    """In the kubelet's checkpoint each plugin tells of its own resource's devices, and some tell nothing."""
    own: Iterable[Device] = word.devices
    if told.source.format == "kubelet-checkpoint":
        resources = {one.resource for one in told.devices}
        own = [one for one in own if one.resource in resources]
    found, given = _gpus(told.devices), _gpus(own)
    return bool(found and given) and found != given


def _gpus(devices: Iterable[Device]) -> frozenset[str]:
    """GPUs and MIG devices, resolved where they can be; a replica is its GPU. Empty: an index nobody resolves."""
    devices = tuple(devices)
    if any(one.is_gpu and one.gpu is None and not _uuid(one).startswith(("GPU-", "MIG-")) for one in devices):
        return frozenset()
    return frozenset(one.mig or one.gpu or _uuid(one) for one in devices if one.is_gpu)


def _uuid(device: Device) -> str:
    """Also of a CDI name, vendor/class=UUID."""
    return device.unit.rpartition("=")[2]


def _shown(devices: Iterable[Device]) -> list[str]:
    return sorted({one.mig or one.gpu or one.nic or one.id for one in devices})


def _once(uses: list[str] | None) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(uses)) if uses is not None else None


def _one_cause(conflicts: Sequence[Conflict]) -> bool:
    return len(conflicts) > 1 and len({str(one.used) for one in conflicts}) == 1
