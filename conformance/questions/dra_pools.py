"""The pools that questions about DRA are asked of: GPUs, MIG partitions with counters, NICs, network devices."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

GPU, NIC, CPU, NET = "gpu.nvidia.com", "dra.net", "dra.cpu", "net.example.com"
STANDARD = "resource.kubernetes.io"
ROOTS = ("pci0000:15", "pci0000:26", "pci0000:95", "pci0000:b0")
PRODUCTS = ("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB")
TAINT = "gpu.nvidia.com/xid"
NODES = ("node-a", "node-b")
_EFFECTS = ("NoSchedule", "NoSchedule", "NoExecute", "None", "NotYetKnown")
_PROFILES = {"1g.10gb": (1, "9856Mi"), "2g.20gb": (2, "19968Mi"), "3g.40gb": (4, "40448Mi")}
_SLICES = 8  # memory slices of a card
Device = dict[str, Any]
Slice = dict[str, Any]


def slices(rng: Random, nodes: list[str], lists: bool) -> list[Slice]:
    """All slices of a small cluster, in an informer's order: any."""
    found: list[Slice] = []
    for node in nodes:
        for of_node, share in _LOCAL:
            if rng.random() < share:
                found += of_node(rng, node, lists)
    for of_several in _OF_SEVERAL_NODES:
        if rng.random() < 0.15:
            found += of_several(rng, nodes)
    rng.shuffle(found)
    names = rng.sample(range(100), len(found))
    for name, one in zip(names, found):
        one["metadata"] = {"name": f"s{name:02}"}
    return found


def pool(
    rng: Random, driver: str, name: str, devices: list[Device], where: dict[str, Any], extra: int = 0
) -> list[Slice]:
    """The slices of one pool, cut at random; `extra` more of it are made by the caller."""
    cuts = sorted(rng.choices(range(len(devices) + 1), k=rng.choice((0, 0, 0, 1, 2))))
    parts = [devices[start:end] for start, end in pairwise([0, *cuts, len(devices)])]
    count = len(parts) + extra + (rng.random() < 0.04)  # then it is incomplete
    generation = rng.choice((1, 1, 1, 7))
    made = [_slice(driver, name, generation, count, where, {"devices": part}) for part in parts]
    if rng.random() < 0.06:
        old = [dict(one, name=f"old-{number}") for number, one in enumerate(devices[:2])]
        made.append(_slice(driver, name, generation - 1, 1, where, {"devices": old}))
    return made


def _slice(
    driver: str, name: str, generation: int, count: int, where: dict[str, Any], content: dict[str, Any]
) -> Slice:
    head = {"driver": driver, "pool": {"name": name, "generation": generation, "resourceSliceCount": count}}
    return {"metadata": {}, "spec": {**head, **where, **content}}


def _place(rng: Random, device: Device, lists: bool) -> Device:
    """Where a device sits; sometimes a part of it is not said."""
    attributes = device.setdefault("attributes", {})
    if rng.random() < 0.93:
        several = lists and rng.random() < 0.5
        roots = rng.sample(ROOTS, rng.randint(1, 3))
        attributes[f"{STANDARD}/pcieRoot"] = {"strings": roots} if several else {"string": roots[0]}
    if rng.random() < 0.9:
        attributes[f"{STANDARD}/numaNode"] = {"int": rng.randrange(2)}
    if lists and rng.random() < 0.3:
        attributes["groups"] = {"ints": rng.sample(range(4), rng.randint(1, 3))}
    return device


def _taints(rng: Random, device: Device) -> Device:
    if rng.random() < 0.1:
        device["taints"] = [
            {"key": rng.choice((TAINT, "example.com/drain")), "effect": rng.choice(_EFFECTS),
             **({"value": rng.choice(("79", "48"))} if rng.random() < 0.7 else {})}
            for _ in range(rng.choice((1, 1, 2)))
        ]  # fmt: skip
    return device


def _gpus(rng: Random, node: str, lists: bool) -> list[Slice]:
    shared = rng.random() < 0.3
    devices = [_gpu(rng, number, shared, lists) for number in rng.sample(range(8), rng.randint(1, 5))]
    if rng.random() < 0.12:
        for one in devices[: rng.randint(1, len(devices))]:
            one.update(bindingConditions=["example.com/ready"], bindingFailureConditions=["example.com/broken"])
            one.update({"bindsToNode": True} if rng.random() < 0.5 else {})
    if rng.random() < 0.02 and len(devices) > 1:
        devices[-1]["name"] = devices[0]["name"]
    return pool(rng, GPU, node if rng.random() < 0.8 else f"{node}-gpus", devices, {"nodeName": node})


def _gpu(rng: Random, number: int, shared: bool, lists: bool) -> Device:
    attributes: dict[str, Any] = {
        "type": {"string": "gpu" if rng.random() < 0.93 else "vfio"}, "productName": {"string": rng.choice(PRODUCTS)},
        "index": {"int": number}, "cudaComputeCapability": {"version": rng.choice(("9.0.0", "8.0.0"))},
    }  # fmt: skip
    if rng.random() < 0.6:
        attributes["healthy"] = {"bool": rng.random() < 0.8}
    if rng.random() < 0.005 and not lists:
        attributes["future"] = {}
    device: Device = {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": _memory(rng, shared)}}
    if shared and rng.random() < 0.9:
        device["allowMultipleAllocations"] = True
    return _taints(rng, _place(rng, device, lists))


def _memory(rng: Random, shared: bool) -> dict[str, Any]:
    capacity: dict[str, Any] = {"value": rng.choice(("80Gi", "40Gi", "81559Mi"))}
    if shared and rng.random() < 0.8:
        policy: dict[str, Any] = {"default": rng.choice(("10Gi", "20Gi", "1Gi"))}
        if rng.random() < 0.5:
            policy["validRange"] = {"min": "1Gi", **({"max": "40Gi"} if rng.random() < 0.4 else {}),
                                    **({"step": rng.choice(("1Gi", "3Gi"))} if rng.random() < 0.6 else {})}  # fmt: skip
        elif rng.random() < 0.6:
            values = {policy["default"], "10Gi", "20Gi", "40Gi"}
            policy["validValues"] = sorted(values, key=lambda text: int(text[:-2]))
        capacity["requestPolicy"] = policy
    return capacity


def _mig(rng: Random, node: str, lists: bool) -> list[Slice]:
    """Whole cards and their partitions over one counter set a card."""
    cards = range(rng.choice((1, 1, 1, 2)))
    name = node if rng.random() < 0.15 else f"{node}-mig"
    devices: list[Device] = []
    for card in cards:
        place = _place(rng, {}, lists)["attributes"]
        found = [_partition(card, "full", 0, place)] if rng.random() < 0.8 else []
        for profile in rng.sample(sorted(_PROFILES), rng.randint(1, 3)):
            starts = range(0, _SLICES, _PROFILES[profile][0])
            found += [_partition(card, profile, start, place) for start in list(starts)[: rng.randint(1, 2)]]
        devices += [_taints(rng, one) for one in found]
    if rng.random() < 0.3:
        rng.shuffle(devices)
    if rng.random() < 0.02:
        devices[0]["consumesCounters"][0]["counterSet"] = "gpu-9-counters"
    where = {"nodeName": node}
    made = pool(rng, GPU, name, devices, where, extra=1)
    head = made[0]["spec"]["pool"]
    sets = [{"name": f"gpu-{card}-counters", "counters": _counters("full", 0)} for card in cards]
    counters = {"sharedCounters": sets}
    return [*made, _slice(GPU, name, head["generation"], head["resourceSliceCount"], where, counters)]


def _counters(profile: str, start: int) -> dict[str, Any]:
    width, memory = (_SLICES, "81920Mi") if profile == "full" else _PROFILES[profile]
    each = {f"memory-slice-{number}": {"value": "1"} for number in range(start, start + width)}
    return {"memory": {"value": memory}, "multiprocessors": {"value": str(16 * width)}, **each}


def _partition(card: int, profile: str, start: int, place: dict[str, Any]) -> Device:
    kind = "gpu" if profile == "full" else "mig"
    own = {"parentUUID": {"string": f"GPU-{card}"}, "profile": {"string": profile}} if kind == "mig" else {}
    return {
        "name": f"gpu-{card}" if kind == "gpu" else f"gpu-{card}-mig-{profile.replace('.', '')}-{start}",
        "attributes": {"type": {"string": kind}, "productName": {"string": PRODUCTS[0]}, **own, **place},
        "capacity": {"memory": {"value": _counters(profile, start)["memory"]["value"]}},
        "consumesCounters": [{"counterSet": f"gpu-{card}-counters", "counters": _counters(profile, start)}],
    }


def _nics(rng: Random, node: str, lists: bool) -> list[Slice]:
    """With virtual functions counted now and then, in a pool named as the GPUs' is."""
    devices = []
    counted = rng.random() < 0.3
    name = rng.choice(("functions", "gpu-0-counters"))
    for number in range(rng.randint(1, 4)):
        device: Device = {"name": f"nic-{number}", "attributes": {"rdma": {"bool": rng.random() < 0.7}}}
        if rng.random() < 0.1:
            device["attributes"] = {f"{NIC}/rdma": {"bool": True}}
        if counted:
            device["consumesCounters"] = [{"counterSet": name, "counters": {"vf": {"value": "1"}}}]
        devices.append(_taints(rng, _place(rng, device, lists)))
    made = pool(rng, NIC, node, devices, {"nodeName": node}, extra=int(counted))
    if counted:
        head = made[0]["spec"]["pool"]
        sets = [{"name": name, "counters": {"vf": {"value": str(rng.randint(1, 4))}}}]
        made.append(_slice(NIC, node, head["generation"], head["resourceSliceCount"], {"nodeName": node},
                           {"sharedCounters": sets}))  # fmt: skip
    return made


def _cpus(rng: Random, node: str, lists: bool) -> list[Slice]:
    devices = [_place(rng, {"name": f"cpu-{number}"}, lists) for number in range(rng.randint(1, 3))]
    for one in devices:
        one["capacity"] = {"cores": {"value": str(rng.choice((8, 16, 32)))}}
    return pool(rng, CPU, node, devices, {"nodeName": node})


def _selector(nodes: list[str]) -> dict[str, Any]:
    term = {"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}
    return {"nodeSelectorTerms": [{"matchExpressions": [term]}]}


def _selected(rng: Random, nodes: list[str]) -> list[Slice]:
    """A network pool of all nodes, of some by name, or of those with a label."""
    which = rng.randrange(3)
    present = {"matchExpressions": [{"key": "example.com/rail", "operator": rng.choice(("Exists", "DoesNotExist"))}]}
    where: dict[str, Any] = (
        {"allNodes": True} if which == 0
        else {"nodeSelector": _selector(rng.sample(NODES, rng.randint(1, 2)))} if which == 1
        else {"nodeSelector": {"nodeSelectorTerms": [present]}}
    )  # fmt: skip
    return pool(rng, NET, f"rail-{which}", [_port(rng, number) for number in range(rng.randint(1, 4))], where)


def _each_device(rng: Random, nodes: list[str]) -> list[Slice]:
    devices = []
    for number in range(rng.randint(1, 4)):
        both = {"nodeSelector": _selector(list(NODES))}
        where = rng.choice(({"nodeName": rng.choice(NODES)}, {"allNodes": True}, both))
        devices.append({**_port(rng, number), **where})
    return pool(rng, NET, "fabric", devices, {"perDeviceNodeSelection": True})


def _port(rng: Random, number: int) -> Device:
    attributes = {"rdma": {"bool": True}, "rail": {"int": number % 2}}
    return _taints(rng, {"name": f"port-{number}", "attributes": attributes})


_LOCAL: tuple[tuple[Callable[[Random, str, bool], list[Slice]], float], ...] = (
    (_gpus, 0.85), (_mig, 0.35), (_nics, 0.7), (_cpus, 0.15),
)  # fmt: skip
_OF_SEVERAL_NODES: tuple[Callable[[Random, list[str]], list[Slice]], ...] = (_selected, _each_device)
