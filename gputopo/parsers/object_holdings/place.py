"""Which node each object concerns, from all texts together, and one record of holdings a node.

A claim is where the pods are that it is reserved to; else where its nodeSelector points, else where the pool of its
devices is published. A pod that waits for a node holds nothing and is said in a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.holdings import DeviceHeld, HoldingRecords, PodRecord
from gputopo.parsers.object_holdings.said import ClaimSaid, EventSaid, FakePools, NodeSaid, PodSaid, Said, SliceSaid
from gputopo.records import Gap, Observation

FORMAT = "kube-objects"
GPU = "nvidia.com/gpu"
POOL_CHANGED, PLUGIN_BEHIND = "fake-pool-changed", "fake-plugin-behind"
_SHOWN = 20
_MESSAGE = 200  # characters of why a pod waits


def placed(texts: Sequence[Said], *, every_pod: bool = False) -> tuple[tuple[HoldingRecords, ...], ...]:
    index = _Index(texts)
    return tuple(_records(one, index, every_pod) for one in texts)


class _Index:
    """What any text says of where something is."""

    def __init__(self, texts: Sequence[Said]) -> None:
        pods = [pod for one in texts for pod in one.pods]
        self.of_pod = {pod.record.uid: pod.record.node for pod in pods if pod.record.uid and pod.record.node}
        self.refused = {pod.record.uid for pod in pods if pod.record.rejected}
        self.of_claim: dict[tuple[str | None, str], list[str]] = {}
        for pod in pods:
            for held in pod.containers if pod.record.node else ():
                for name, _ in held.claims or ():
                    self.of_claim.setdefault((pod.record.namespace, name), []).append(pod.record.node or "")
        self.of_pool = {(each.driver, each.pool): each.node for one in texts for each in one.slices if each.node}
        self.pools = [each for one in texts for each in one.fake_pools]
        self.nodes = {each.name: each for one in texts for each in one.nodes if each.counts is not None}
        self.fake_nodes = {each.name: each for one in texts for each in one.fake_nodes}
        self.waits = {each.pod.uid: each for one in texts for each in one.events if each.waits}
        named = (each.name for one in texts for each in (*one.nodes, *one.fake_nodes))
        self.names = dict.fromkeys((*self.of_pod.values(), *self.of_pool.values(), *named))

    def nodes_of_claim(self, claim: ClaimSaid) -> list[str]:
        record = claim.record
        found = [node for uid in record.pods if (node := self.of_pod.get(uid))]
        found = found or self.of_claim.get((record.namespace, record.name), [])
        found = found or list(claim.nodes)
        found = found or [self.of_pool.get(one) or (one[1] if one[1] in self.names else "") for one in claim.pools]
        found = [one for one in found if one] or (list(self.names) if len(self.names) == 1 else [])
        return list(dict.fromkeys(found))


class _Node:
    """A record while it is gathered."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.pods: list[PodSaid] = []
        self.claims: list[ClaimSaid] = []
        self.slices: list[SliceSaid] = []
        self.said: list[NodeSaid] = []
        self.events: list[EventSaid] = []


def _records(said: Said, index: _Index, every_pod: bool) -> tuple[HoldingRecords, ...]:
    nodes: dict[str, _Node] = {}
    gaps = list(said.gaps)

    def at(name: str) -> _Node:
        return nodes.setdefault(name, _Node(name))

    waiting = []
    for pod in said.pods:
        if pod.record.node:
            at(pod.record.node).pods.append(pod)
        elif pod.record.phase in (None, "Pending"):
            waiting.append(pod)
    for claim in said.claims:
        where = index.nodes_of_claim(claim)
        for name in where or ([""] if claim.record.devices else []):
            at(name).claims.append(claim)
    several = [one for one in _newest(said.slices) if not one.node]
    for one in _newest(said.slices):
        if one.node:
            at(one.node).slices.append(one)
    for node in (*said.nodes, *said.fake_nodes):
        at(node.name).said.append(node)
    for event in said.events:
        if event.pod.node and not event.waits and event.pod.uid not in index.refused:
            at(event.pod.node).events.append(event)
    if waiting:
        gaps.append(_waits(waiting, index))
    nowhere = nodes.pop("", None)
    if nowhere is not None and len(nodes) == 1:
        next(iter(nodes.values())).claims += nowhere.claims
    elif nowhere is not None and nodes:
        names = tuple(one.record.name for one in nowhere.claims)[:_SHOWN]
        gaps.append(Gap(names, "node", "no pod, nodeSelector or slice says on which node these claims are", "the pods"))
    elif nowhere is not None:
        nodes[""] = nowhere
    found = [each for one in nodes.values() for each in _of_node(one, several, index, every_pod)]
    if not found:
        return (HoldingRecords(FORMAT, pods=(), gaps=tuple(gaps)),)
    if gaps:
        found[0] = found[0]._replace(gaps=(*found[0].gaps, *gaps))
    return tuple(found)


def _newest(slices: Iterable[SliceSaid]) -> list[SliceSaid]:
    """Of a pool the slices of its highest generation: older ones are on their way out."""
    slices = list(slices)
    highest: dict[tuple[str, str], int] = {}
    for one in slices:
        highest[one.driver, one.pool] = max(one.generation, highest.get((one.driver, one.pool), 0))
    return [one for one in slices if one.generation == highest[one.driver, one.pool]]


def _waits(pods: Sequence[PodSaid], index: _Index) -> Gap:
    titles = tuple(f"{one.record.namespace or '?'}/{one.record.name}" for one in pods)
    event = next((index.waits[one.record.uid] for one in pods if one.record.uid in index.waits), None)
    count = "1 pod waits" if len(pods) == 1 else f"{len(pods)} pods wait"
    why = f": {event.pod.rejected[1][:_MESSAGE]}" if event is not None and event.pod.rejected else ""
    reason = f"{count} for a node and hold{'s' if len(pods) == 1 else ''} nothing{why}"
    return Gap(titles[:_SHOWN], "node", reason, "gputopo allocate kubelet --pod FILE says what a node is missing")


def _of_node(own: _Node, several: Sequence[SliceSaid], index: _Index, every_pod: bool) -> list[HoldingRecords]:
    """What is, and what was by the events."""
    containers = [held for pod in own.pods for held in pod.containers]
    containers += [held for one in own.said for held in one.containers]
    wanted = {held.id for claim in own.claims for _, held in claim.record.devices or ()}
    names = [name for one in own.slices for name in one.names]
    names += [name for one in several for name in one.names if name.id in wanted]
    names += [name for one in own.claims for name in one.names]
    names += [name for one in own.said for name in one.names]
    node = next((one for one in own.said if one.counts is not None), None)
    now = HoldingRecords(
        FORMAT,
        own.name,
        fake=next((one.fake for one in own.said if one.fake), "") or _fake(own.name, index),
        containers=tuple(containers),
        containers_complete=every_pod and all(one.devices or one.claims or not one.requests for one in containers),
        pods=tuple(pod.record for pod in own.pods) if own.pods or every_pod else None,
        pods_complete=every_pod,
        claims=tuple(one.record for one in own.claims),
        names=tuple(dict.fromkeys(names)),
        allocatable=_allocatable(own),
        capacity=node.counts if node is not None else None,
        policies=tuple(dict.fromkeys(policy for one in own.said for policy in one.policies)),
        gaps=tuple(gap for pod in own.pods for gap in pod.gaps),
        observations=(
            *(each for one in own.said for each in one.observations),
            *(_pool(node, index) if node is not None else ()),
        ),
    )
    found = [now] if own.pods or own.claims or own.slices or own.said else []
    if own.events:
        pods = tuple(_refused(one) for one in own.events)
        at = max((one.at for one in own.events if one.at), default=None)
        found.append(HoldingRecords(FORMAT, own.name, at=at, past=True, pods=pods))
    return found


def _fake(name: str, index: _Index) -> str:
    """What another text says."""
    for said in (index.nodes.get(name), index.fake_nodes.get(name)):
        if said is not None and said.fake:
            return said.fake
    return ""


def _refused(event: EventSaid) -> PodRecord:
    return event.pod._replace(admitted=event.at)


def _allocatable(own: _Node) -> tuple[DeviceHeld, ...] | None:
    """Of slices, of the GPUs that a vGPU scheduler or Koordinator registered, of made-up ones."""
    listed = [*(one.devices for one in own.slices if one.devices), *(one.devices for one in own.said if one.devices)]
    return tuple(dict.fromkeys(device for one in listed for device in one)) if listed else None


def _pool(node: NodeSaid, index: _Index) -> list[Observation]:
    """Where a fake node has another number of GPUs than its pool, or than its own ConfigMap."""
    labels = dict(node.pool_labels)
    there = dict(node.counts or ()).get(GPU)
    own = index.fake_nodes.get(node.name)
    listed = len(own.devices) if own is not None and own.devices is not None else None
    found = []
    for pools in index.pools:
        pool = labels.get(pools.label)
        if pool is None or there is None:
            continue
        found += _differs(node, pools, pool, there, listed)
    return found


def _differs(node: NodeSaid, pools: FakePools, pool: str, there: int, listed: int | None) -> list[Observation]:
    wanted = dict(pools.counts).get(pool)
    made = there if listed is None else listed
    changed = wanted is not None and wanted != made
    said = [f"{GPU} is {there}"]
    said += [f"ConfigMap {pools.config_map}-{node.name} lists {listed}"] if listed not in (None, there) else []
    said += [f"pool {pool} says {wanted}"] if changed else []
    if len(said) == 1:
        return []
    kind = POOL_CHANGED if changed else PLUGIN_BEHIND
    subjects = (node.name, f"{pools.config_map}-{node.name}", *(("KWOK",) if node.kwok else ()))
    return [Observation(kind, subjects, ", ".join(said))]
