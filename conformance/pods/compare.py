"""One node: what each of our readers says, against what the kubelet's managers say. Every difference in a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TypeVar

from conformance.pods import command, read
from conformance.pods.said import Holding, Key, Said
from gputopo.evidence.piece import Piece
from gputopo.holdings import HoldingRecords
from gputopo.parsers.podresources import ALLOCATABLE, parse_bytes
from gputopo.pods.model import Held

_K = TypeVar("_K")
_EMPTY = Holding()
_WHAT = {"kubelet-checkpoint": "devices", "cpu-manager-state": "cpus", "memory-manager-state": "memory"}


def compare(said: Said, counts: Counter[str], through_command: bool = False) -> Iterator[str]:
    """`counts`: how many containers and claims each of our readers was asked for."""
    if said.refused:
        yield f"the kubelet does not start: {said.refused}"
        return
    pieces = read.files(said.root)  # before the socket is asked, which makes the kubelet forget pods that ended
    answer = read.socket_answer(said.root)
    if answer.pods is None or answer.allocatable is None:
        yield f"socket: {answer.trouble.text if answer.trouble else answer.without}"
        return
    listed = listed_by_name(said)
    yield from _differences("List", listed, read.of_list(answer.pods), counts)
    yield from _get(said, listed, counts)
    yield from _allocatable(said, answer.allocatable, counts)
    for piece in pieces:
        yield from _file(said, piece, counts)
    joined = read.table((*answer.pieces(), *pieces))
    yield from _joined(said, joined, listed, counts)
    if through_command:
        counts["gputopo pods"] += 2
        pieces = read.files(said.root)  # the kubelet has forgotten since
        joined = read.table((*answer.pieces(), *pieces))
        yield from command.differences(said.root, read.table(answer.pieces()), joined)


def listed_by_name(said: Said) -> dict[tuple[str, str, str], Holding]:
    """What podresources shows: active pods, without their ordinary init containers."""
    return {
        (said.pods[uid].namespace, said.pods[uid].name, name): holding
        for (uid, name), holding in said.holdings.items()
        if said.pods[uid].active and said.pods[uid].kinds[name] != "init"
    }


def _differences(
    where: str, expected: Mapping[_K, Holding], found: Mapping[_K, Holding], counts: Counter[str]
) -> Iterator[str]:  # fmt: skip
    counts[where] += len(expected)
    for key in expected.keys() | found.keys():
        right, ours = expected.get(key), found.get(key)
        if right is None or ours is None:
            yield f"{where}: {key} is {'not there' if right is None else 'missing'}: {ours or right}"
            continue
        for field in Holding._fields:
            real, read_as = set(getattr(right, field)), set(getattr(ours, field))
            if getattr(right, field) != getattr(ours, field):
                yield f"{where}: {key} {field}: too many {read_as - real or '-'}, missing {real - read_as or '-'}"


def _get(said: Said, listed: Mapping[tuple[str, str, str], Holding], counts: Counter[str]) -> Iterator[str]:
    get = read.Get(said.root)
    try:
        for pod in said.pods.values():
            if not pod.active:
                continue
            own = {key: holding for key, holding in listed.items() if key[:2] == (pod.namespace, pod.name)}
            found = get.of_pod(pod.namespace, pod.name)
            if isinstance(found, str):
                yield f"Get: {pod.namespace}/{pod.name}: {found}"
            else:
                yield from _differences("Get", own, found, counts)
        if not isinstance(get("train", "nobody"), str):
            yield "Get: a pod that is not there is"
    finally:
        get.close()


def _allocatable(said: Said, data: bytes, counts: Counter[str]) -> Iterator[str]:
    [records] = parse_bytes(data, ALLOCATABLE)
    right = Holding(said.allocatable, said.cpus, said.memory)
    ours = Holding(
        read.devices(records.allocatable or ()), frozenset(records.allocatable_cpus or ()),
        read.blocks(records.allocatable_memory or ()),
    )  # fmt: skip
    counts["allocatable devices"] += len(said.allocatable)
    yield from _differences("GetAllocatableResources", {"node": right}, {"node": ours}, Counter())


def _file(said: Said, piece: Piece, counts: Counter[str]) -> Iterator[str]:
    records = read.of_file(piece)
    if records.format == "dra-manager-state":
        yield from _claims(said, records, counts)
        return
    yield from (f"{records.format}: {gap.reason}" for gap in records.gaps)
    field = _WHAT[records.format]
    expected = _only(field, {key: one for key, one in said.holdings.items() if said.pods[key[0]].active})
    found = _only(field, {(one.uid or "", one.container or ""): read.holding(one) for one in records.containers})
    gone = {key for key in found if key[0] in said.ever and not _is_active(said, key)}
    yield from _differences(
        records.format, expected, {key: one for key, one in found.items() if key not in gone}, counts
    )
    if records.format == "kubelet-checkpoint":
        healthy = {(one.resource, one.id) for one in records.allocatable or ()}
        if healthy != said.healthy:
            yield f"{records.format}: other healthy devices: {healthy ^ said.healthy}"


def _only(field: str, holdings: Mapping[Key, Holding]) -> dict[Key, Holding]:
    """What one file speaks of, of the containers that have any of it."""
    parts = {key: _EMPTY._replace(**{field: getattr(one, field)}) for key, one in holdings.items()}
    return {key: one for key, one in parts.items() if one != _EMPTY}


def _is_active(said: Said, key: Key) -> bool:
    return key[0] in said.pods and said.pods[key[0]].active


def _claims(said: Said, records: HoldingRecords, counts: Counter[str]) -> Iterator[str]:
    found = {(one.namespace or "", one.name): one for one in records.claims}
    counts["claims"] += len(said.claims)
    for key, right in said.claims.items():
        if key not in found:
            yield f"dra-manager-state: claim {key} is missing"
        elif read.claim(found[key]) != (right.uid, right.devices) or not right.pods <= set(found[key].pods):
            yield f"dra-manager-state: claim {key}: {found[key]}, is {right}"
    for key, one in found.items():
        if key not in said.claims and not set(one.pods) <= said.ever:
            yield f"dra-manager-state: claim {key} is of nobody: {one}"


def _joined(
    said: Said, held: Held, listed: Mapping[tuple[str, str, str], Holding], counts: Counter[str]
) -> Iterator[str]:  # fmt: skip
    """The node's table out of the socket's answers and the files: nothing twice, nothing of pods that ended."""
    yield from (f"joined: conflict {one}" for one in held.conflicts)
    named, numbered = {}, {}
    for one in held.containers:
        if one.pod:
            named[one.namespace or "", one.pod, one.name or ""] = read.joined(one)
        else:
            numbered[one.uid or "", one.name or ""] = read.joined(one)
        pod = said.pods.get(one.uid or "")
        if one.pod and pod is not None and (pod.namespace, pod.name) != (one.namespace, one.pod):
            yield f"joined: {one.title} has the UID of {pod.namespace}/{pod.name}"
    init = {
        (pod.namespace, pod.name, name): said.holdings[uid, name]
        for uid, pod in said.pods.items() for name, kind in pod.kinds.items() if pod.active and kind == "init"
    }  # fmt: skip
    right = {key: _shown(one) for key, one in listed.items()}
    own = {key: one for key, one in named.items() if key not in init and key[2]}
    yield from _differences("joined", {key: one for key, one in right.items() if one != _EMPTY}, own, counts)
    for key, ours in named.items():
        if key in init and not _is_part(ours, init[key]):
            yield f"joined: {key} holds {ours}, was given {init[key]}"
        if not key[2]:
            yield from _reserved(said, key, ours)
    for uid, name in numbered:
        if uid not in said.pods or said.pods[uid].kinds.get(name) != "init" or not said.pods[uid].active:
            yield f"joined: pod {uid}/{name} is shown and is none that runs"
    ended = {subject for note in held.assumptions for subject in note.subjects if "has ended and" in note.text}
    for uid in ended & {uid for uid, pod in said.pods.items() if pod.active}:
        yield f"joined: pod {uid} ({said.pods[uid].name}) is said to have ended"


def _reserved(said: Said, key: tuple[str, str, str], one: Holding) -> Iterator[str]:
    """What is reserved to a pod, and none of its containers uses, stands beside them."""
    pods = {uid for uid, pod in said.pods.items() if pod.active and (pod.namespace, pod.name) == key[:2]}
    devices = {device for claim in said.claims.values() if claim.pods & pods for _, device in claim.devices}
    if not one.claimed <= {device.rpartition("/")[0] for device in devices}:
        yield f"joined: {key[0]}/{key[1]} is said to have {one.claimed}"


def _shown(one: Holding) -> Holding:
    """The table has the devices of claims by name, without shares and CDI names."""
    return one._replace(claimed=frozenset(id.rpartition("/")[0] for id in one.claimed), cdi=frozenset())


def _is_part(one: Holding, whole: Holding) -> bool:
    return one.devices <= whole.devices and one.cpus <= whole.cpus and set(one.memory) <= set(whole.memory)
