"""What the kubelet's managers gave to whom, out of a question of kind pods and the program's answer to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Question = dict[str, Any]
Key = tuple[str, str]  # (UID of the pod, container)
Device = tuple[str, str, "tuple[int, ...] | None"]  # resource, id, NUMA nodes
Block = tuple[str, tuple[int, ...], int]  # kind, NUMA nodes, bytes


class Holding(NamedTuple):
    """What one container holds."""

    devices: frozenset[Device] = frozenset()
    cpus: frozenset[int] = frozenset()
    memory: tuple[Block, ...] = ()
    claimed: frozenset[str] = frozenset()  # driver/pool/device/share
    cdi: frozenset[str] = frozenset()


class Pod(NamedTuple):
    namespace: str
    name: str
    active: bool
    kinds: dict[str, str]  # by container


class Claim(NamedTuple):
    uid: str
    devices: frozenset[tuple[str, str]]  # request, driver/pool/device/share
    pods: frozenset[str]  # UIDs of active ones


class Said(NamedTuple):
    root: Path
    refused: str  # why the kubelet does not start with this configuration
    pods: dict[str, Pod]  # by UID; admitted and not deleted
    ever: frozenset[str]  # UIDs of all pods that asked
    holdings: dict[Key, Holding]
    healthy: frozenset[tuple[str, str]]  # resource, id
    allocatable: frozenset[Device]
    cpus: frozenset[int]  # that may be given to containers
    memory: tuple[Block, ...]
    claims: dict[tuple[str, str], Claim]  # of active pods, by namespace and name


def said(question: Question, answer: Question) -> Said:
    expect = answer["expect"]
    added = {step["uid"]: step for step in question["steps"] if step["op"] == "add"}
    claims = {(one["namespace"], one["name"]): one for one in question["claims"]}
    pods, holdings = {}, {}
    for one in expect.get("pods", ()):
        step = added[one["uid"]]
        kinds = {container["name"]: container["kind"] for container in step["containers"]}
        pods[one["uid"]] = Pod(step["namespace"], step["name"], one["active"], kinds)
        for container in step["containers"]:
            given = one["containers"][container["name"]]
            own = [claims[step["namespace"], step["claims"][name]] for name in container.get("claims", ())]
            holdings[one["uid"], container["name"]] = Holding(
                _devices(given["devices"]), cpu_list(given["cpus"]), _blocks(given["memory"]),
                frozenset(_device(device) for claim in own for device in claim["devices"]),
                frozenset(name for claim in own for device in claim["devices"] for name in device["cdi"]),
            )  # fmt: skip
    allocatable = expect.get("allocatable", {"cpus": "", "memory": []})
    return Said(
        root=Path(expect["root"]),
        refused=expect.get("start_error", ""),
        pods=pods,
        ever=frozenset(added),
        holdings=holdings,
        healthy=frozenset(_healthy(question)),
        allocatable=_allocatable(question),
        cpus=cpu_list(allocatable["cpus"]),
        memory=_blocks(allocatable["memory"]),
        claims=_claims(question, pods, added),
    )


def cpu_list(text: str) -> frozenset[int]:
    """
    >>> sorted(cpu_list("0,4-6"))
    [0, 4, 5, 6]
    """
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _devices(by_resource: dict[str, dict[str, list[str]]]) -> frozenset[Device]:
    """A device of several NUMA nodes stands under each, one of none under -1."""
    nodes: dict[tuple[str, str], set[int]] = {}
    for resource, by_node in by_resource.items():
        for node, ids in by_node.items():
            for id in ids:
                nodes.setdefault((resource, id), set()).add(int(node))
    return frozenset((*key, None if found == {-1} else tuple(sorted(found))) for key, found in nodes.items())


def _blocks(listed: list[Question]) -> tuple[Block, ...]:
    return tuple(sorted((one["type"], tuple(sorted(one["numa"])), one["size"]) for one in listed))


def _device(device: Question) -> str:
    return f"{device['driver']}/{device['pool']}/{device['device']}/{device['share'] or ''}"


def _healthy(question: Question) -> Iterator[tuple[str, str]]:
    """As the plugins sent them last."""
    bad = {
        resource: {id for id, one in offered["devices"].items() if one.get("healthy") is False}
        for resource, offered in question["resources"].items()
    }
    for step in question["steps"]:
        if step["op"] == "health":
            bad[step["resource"]] = set(step["unhealthy"])
    for resource, offered in question["resources"].items():
        yield from ((resource, id) for id in offered["devices"] if id not in bad[resource])


def _allocatable(question: Question) -> frozenset[Device]:
    """The kubelet leaves out of this answer what its plugin sends with a topology of no nodes."""
    devices = question["resources"]
    places = {key: devices[key[0]]["devices"][key[1]]["numa"] for key in _healthy(question)}
    return frozenset((*key, tuple(numa) if numa else None) for key, numa in places.items() if numa != [])


def _claims(question: Question, pods: dict[str, Pod], added: dict[str, Question]) -> dict[tuple[str, str], Claim]:
    found = {}
    for claim in question["claims"]:
        key = (claim["namespace"], claim["name"])
        users = frozenset(
            uid for uid, pod in pods.items()
            if pod.active and pod.namespace == key[0] and key[1] in added[uid].get("claims", {}).values()
        )  # fmt: skip
        if users:
            devices = frozenset((one["request"], _device(one)) for one in claim["devices"])
            found[key] = Claim(claim["uid"], devices, users)
    return found
