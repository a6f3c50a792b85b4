"""Which containers of several sources are one.

podresources knows a pod by namespace and name, the kubelet's files by UID, a runtime and a process by the container's
id too; an API object says all of them and so joins the others. Where no source joins a name and a UID, two containers
that have one name and the same devices are taken for one, which is a named assumption; those without devices by their
exclusive CPUs, and those without by their memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gputopo.holdings import ContainerHolding, PodRecord
from gputopo.pods.spoken import Said, Spoken
from gputopo.topology.node import NoteAssumption

PodKey = tuple[str, ...]


class Group(NamedTuple):
    """One container and what each source says of it."""

    namespace: str | None
    pod: str | None
    uid: str | None
    name: str | None
    said: tuple[Said, ...]


class Grouped(NamedTuple):
    groups: tuple[Group, ...]
    pods: dict[str, PodRecord]  # by UID, and by namespace/name
    assumptions: tuple[NoteAssumption, ...]


def group(spoken: Sequence[Spoken]) -> Grouped:
    """In the order in which the sources first name them."""
    names = _PodNames()
    for one in spoken:
        for pod in one.records.pods or ():
            names.learn(pod.namespace, pod.name, pod.uid, pod.config_hash)
        for held in one.records.containers:
            names.learn(held.namespace, held.pod, held.uid)
    by_id = _container_ids(spoken, names)
    rows: dict[tuple[PodKey, str], list[Said]] = {}
    for one in spoken:
        for place, held in enumerate(one.records.containers):
            said = Said(one.source, held)
            rows.setdefault(_key(held, names, by_id, f"{one.source.id}#{place}"), []).append(said)
    assumptions = [*_join_by_devices(rows, names), *_join_nameless(rows, names)]
    groups = tuple(_group(key, said, names) for key, said in rows.items())
    return Grouped(groups, _pods(spoken, names), tuple(assumptions))


def record_of(
    pods: Mapping[str, PodRecord], uid: str | None, namespace: str | None, name: str | None
) -> PodRecord | None:
    """By UID, else by name: a pod that a controller made again has the name of one that is gone."""
    record = pods.get(uid or "")
    if record is None and name:
        record = pods.get(f"{namespace or ''}/{name}")
        if record is not None and uid and record.uid not in (None, uid) and record.config_hash != uid:
            return None
    return record


class _PodNames:
    """UID ↔ namespace and name; a static pod's hash ↔ its mirror's UID."""

    def __init__(self) -> None:
        self._uid: dict[tuple[str, str], str] = {}
        self._name: dict[str, tuple[str, str]] = {}
        self._hash: dict[str, str] = {}

    def learn(self, namespace: str | None, name: str | None, uid: str | None, config_hash: str | None = None) -> None:
        if uid and config_hash:
            self._hash[config_hash] = uid
        if name and uid:
            self._uid.setdefault((namespace or "", name), uid)
            self._name.setdefault(uid, (namespace or "", name))

    def key(self, namespace: str | None, name: str | None, uid: str | None) -> PodKey:
        uid = self._hash.get(uid, uid) if uid else self._uid.get((namespace or "", name or ""))
        if uid:
            return ("uid", uid)
        return ("name", namespace or "", name) if name else ()

    def name(self, key: PodKey) -> tuple[str | None, str | None, str | None]:
        """(namespace, name, uid)"""
        if not key:
            return None, None, None
        if key[0] == "name":
            return key[1] or None, key[2], None
        namespace, name = self._name.get(key[1], ("", ""))
        return namespace or None, name or None, key[1]


def _container_ids(spoken: Sequence[Spoken], names: _PodNames) -> dict[str, tuple[PodKey, str]]:
    return {
        held.container_id: (names.key(held.namespace, held.pod, held.uid), held.container)
        for one in spoken
        for held in one.records.containers
        if held.container_id and held.container
    }


def _key(
    held: ContainerHolding, names: _PodNames, by_id: dict[str, tuple[PodKey, str]], own: str
) -> tuple[PodKey, str]:  # fmt: skip
    pod = names.key(held.namespace, held.pod, held.uid)
    if held.container:
        return pod, held.container
    if held.container_id:
        return by_id.get(held.container_id, (pod, "\0" + held.container_id))
    return (pod, "\0") if pod else ((), "\0" + own)


def _join_by_devices(rows: dict[tuple[PodKey, str], list[Said]], names: _PodNames) -> list[NoteAssumption]:
    """Rows known by name only, with rows known by UID only, where the match is the only one."""
    named = [key for key in rows if key[0] and key[0][0] == "name"]
    numbered = [key for key in rows if key[0] and key[0][0] == "uid" and names.name(key[0])[1] is None]
    found: dict[tuple[PodKey, str], tuple[PodKey, str]] = {}
    taken: set[tuple[PodKey, str]] = set()
    for wanted in (True, False):  # with the same devices; else the only one of this name on both sides
        fitting, rivals = _by_look(rows, numbered, wanted), _by_look(rows, named, wanted)
        for look, keys in rivals.items():
            fits = [one for one in fitting.get(look, ()) if one not in taken]
            if len(fits) == len(keys) == 1 and keys[0] not in found:
                found[keys[0]] = fits[0]
                taken.add(fits[0])
    notes = []
    for key, other in found.items():
        namespace, name, _ = names.name(key[0])
        names.learn(namespace, name, other[0][1])
        what = _units(rows[other])
        same = what.word if what is not None else ""
        text = f"pod {other[0][1]} is {namespace or '?'}/{name}: its container {key[1]} holds the same {same}"
        notes.append(NoteAssumption((f"{namespace or '?'}/{name}",), text, None))
    if found:
        for key in list(rows):
            new = (names.key(*names.name(key[0])), key[1])
            if new != key:
                rows.setdefault(new, []).extend(rows.pop(key))
    return notes


def _join_nameless(rows: dict[tuple[PodKey, str], list[Said]], names: _PodNames) -> list[NoteAssumption]:
    """A container that only its id is known of (by a process) with the only one of its pod that has devices."""
    notes = []
    nameless: dict[PodKey, list[tuple[PodKey, str]]] = {}
    holding: dict[PodKey, list[tuple[PodKey, str]]] = {}
    for key, said in rows.items():
        if key[0] and key[1].startswith("\0") and len(key[1]) > 1:
            nameless.setdefault(key[0], []).append(key)
        elif key[0] and any(one.holding.devices or one.holding.claims for one in said):
            holding.setdefault(key[0], []).append(key)
    for pod, own in nameless.items():
        if len(own) == 1 and len(holding.get(pod, ())) == 1:
            [other] = holding[pod]
            rows[other].extend(rows.pop(own[0]))
            namespace, name, uid = names.name(pod)
            title = f"{namespace or '?'}/{name}" if name else f"pod {uid}"
            text = f"container {own[0][1][1:13]} of {title} is {other[1]}: no other there has devices"
            notes.append(NoteAssumption((f"{title}/{other[1]}",), text, None))
    return notes


def _by_look(
    rows: dict[tuple[PodKey, str], list[Said]], keys: Iterable[tuple[PodKey, str]], same_devices: bool
) -> dict[tuple[str, object], list[tuple[PodKey, str]]]:  # fmt: skip
    """Rows that hold anything, by the container's name and that, or only the resources of its devices."""
    found: dict[tuple[str, object], list[tuple[PodKey, str]]] = {}
    for key in keys:
        units = _units(rows[key])
        if units is not None and (same_devices or units.resources):
            found.setdefault((key[1], units if same_devices else units.resources), []).append(key)
    return found


class _Units(NamedTuple):
    """What tells a container from others: of several kinds the first that it has any of."""

    word: str
    resources: frozenset[str]  # of plugin devices
    ids: frozenset[str]


def _units(said: Sequence[Said]) -> _Units | None:
    devices = [one for each in said for one in each.holding.devices or () if one.space != "dra" and not one.by]
    if devices:
        resources, ids = (one.resource for one in devices), (one.id for one in devices)
        return _Units("devices", frozenset(resources), frozenset(ids))
    cpus = next((str(each.holding.cpus) for each in said if each.holding.cpus), None)
    if cpus is not None:
        return _Units("CPUs", frozenset(), frozenset((cpus,)))
    memory = [str(block) for each in said for block in each.holding.memory or ()]
    return _Units("memory", frozenset(), frozenset(memory)) if memory else None


def _group(key: tuple[PodKey, str], said: Sequence[Said], names: _PodNames) -> Group:
    namespace, pod, uid = names.name(key[0])
    name = key[1] if not key[1].startswith("\0") else None
    return Group(namespace, pod, uid, name, tuple(sorted(said, key=lambda one: one.place)))


def _pods(spoken: Sequence[Spoken], names: _PodNames) -> dict[str, PodRecord]:
    found: dict[str, PodRecord] = {}
    for one in spoken:
        for pod in one.records.pods or ():
            for key in (pod.uid, f"{pod.namespace or ''}/{pod.name}" if pod.name else None):
                if key:
                    found.setdefault(key, pod)
    return found
