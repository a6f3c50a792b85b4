"""One node and all that sources say is held on it, as one `Held`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.holdings import MemoryHeld, PodRecord
from gputopo.pods import asks
from gputopo.pods.asks import gpus_asked
from gputopo.pods.devices import Chosen, choose
from gputopo.pods.identify import Names
from gputopo.pods.kinds import INIT, Kind, kinds
from gputopo.pods.live import living
from gputopo.pods.model import Container, Device, Held, Pod
from gputopo.pods.owners import owner_sets
from gputopo.pods.placed import NOWHERE, UNSAID, numa_of_cpus, packages_of_cpus, placed
from gputopo.pods.same import Group, group, record_of
from gputopo.pods.spoken import Said, Spoken, order
from gputopo.pods.times import by_time, earlier, refused
from gputopo.pods.unclaimed import unclaimed
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.device_id import is_placeholder
from gputopo.topology.gpu_sets import Sight
from gputopo.topology.node import Conflict, NodeTopology, NoteAssumption, NoteUnknown, Value


def join(node: NodeTopology, spoken: Sequence[Spoken], name: str | None = None) -> Held:
    """`spoken`: of this node only. Sources come in any order; the answer does not depend on it."""
    everything = sorted(spoken, key=lambda one: order(one.source.format))
    sight = Sight(node)
    names = Names(node, [each for one in everything for each in one.records.names])
    times = by_time(everything)
    spoken = times.joined
    grouped = group(spoken)
    groups, stale = living([*grouped.groups, *unclaimed(grouped.groups, spoken)], grouped.pods, spoken)
    claims = [(one, claim) for one in spoken for claim in one.records.claims]
    titles = [_title(one) for one in groups]
    listed = any(one.records.containers_complete for one in spoken)
    chosen = [choose(one, names, claims, title, listed) for one, title in zip(groups, titles)]
    own_kinds = kinds(groups, [frozenset(device.id for device in one.devices) for one in chosen])
    policies = _policies(spoken)
    shared = _says_shared(spoken)
    built = [
        _container(one, what, kind, sight, names, shared) for one, what, kind in zip(groups, chosen, own_kinds)
    ]  # fmt: skip
    conflicts = [each for one in chosen for each in one.conflicts]
    conflicts += [each for one, title in zip(groups, titles) for each in _cpu_conflicts(one, title)]
    containers = tuple(one for one in built if _worth(one))
    unsaid = set(map(id, asks.unsaid(containers)))
    containers = tuple(one._replace(placed=UNSAID) if id(one) in unsaid else one for one in containers)
    pods = _pods(containers, grouped.pods, sight)
    held = tuple(dict.fromkeys(gpu for one in containers for gpu in one.placed.gpus or ()))
    free, free_notes = _free(node, names, containers, spoken)
    gaps = [gap for one in everything for gap in one.records.gaps]
    return Held(
        name=name or node.name,
        node=node,
        sources=tuple(one.source for one in everything),
        containers=containers,
        pods=pods,
        owners=owner_sets(pods, containers, sight),
        held=tuple(sorted(held, key=[gpu.id for gpu in node.gpus].index)) if node.gpus else held,
        free=free,
        policies=policies,
        fake=next((one.records.fake for one in spoken if one.records.fake), ""),
        rejected=_rejected((*grouped.pods.values(), *refused(times.beside))),
        past=bool(spoken) and all(one.records.past for one in spoken),
        at=times.at,
        earlier=earlier(times.beside, containers, names),
        conflicts=tuple(conflicts),
        unknown=(
            *_unresolved(containers),
            *asks.notes(containers),
            *dict.fromkeys(NoteUnknown(gap.subjects, gap.attribute, gap.reason, gap.settled_by) for gap in gaps),
        ),
        assumptions=(
            *times.notes, *grouped.assumptions, *_kind_notes(containers), *_claimed_only(containers),
            *_counted(everything, node), *stale, *free_notes,
        ),
        capacity=next((one.records.capacity for one in spoken if one.records.capacity is not None), None),
        observations=tuple(dict.fromkeys(each for one in spoken for each in one.records.observations)),
    )


def _title(one: Group) -> str:
    pod = f"{one.namespace or '?'}/{one.pod}" if one.pod else f"pod {one.uid}" if one.uid else "process"
    return f"{pod}/{one.name}" if one.name else pod


def _container(
    own: Group, chosen: Chosen, kind: Kind, sight: Sight, names: Names, shared: bool
) -> Container:  # fmt: skip
    cpus, pool = _cpus(own.said, shared)
    node = names.node

    def first(field: str) -> object:
        return next((got for one in own.said if (got := getattr(one.holding, field)) is not None), None)

    memory: tuple[MemoryHeld, ...] | None = first("memory")  # type: ignore[assignment]
    pages: tuple[MemoryHeld, ...] | None = first("pages")  # type: ignore[assignment]
    allowed: CpuSet | None = first("cpus_allowed")  # type: ignore[assignment]
    nodes: tuple[int, ...] | None = first("mems_allowed")  # type: ignore[assignment]
    visible: tuple[str, ...] | None = first("visible")  # type: ignore[assignment]
    return Container(
        own.namespace, own.pod, own.uid, own.name, kind.kind, kind.basis, chosen.devices,
        placed(chosen.devices, sight), cpus, pool, numa_of_cpus(node, cpus), packages_of_cpus(node, cpus),
        memory or None, pages, allowed, nodes, visible, chosen.uses,
        tuple(sorted({pid for one in own.said for pid in one.holding.pids})), chosen.given,
        tuple(dict.fromkeys(one.source.id for one in own.said)),
        first("requests") or (),  # type: ignore[arg-type]
        tuple(dict.fromkeys(name for one in own.said for name, _ in one.holding.claims or ())),
        chosen.by, chosen.opened,
    )  # fmt: skip


def _cpus(said: Iterable[Said], shared: bool) -> tuple[CpuSet | None, str | None]:
    words = [one.holding.cpus for one in said if one.holding.cpus is not None]
    if any(words):
        return next(one for one in words if one), "exclusive"
    return None, "shared" if words or shared else None


def _says_shared(spoken: Iterable[Spoken]) -> bool:
    """Whether a source lists every exclusive CPU, so that who is not in it runs in the shared pool."""
    return any(one.source.format in ("cpu-manager-state", "podresources") for one in spoken)


def _cpu_conflicts(own: Group, title: str) -> Iterable[Conflict]:
    words = [(one, one.holding.cpus) for one in own.said if one.holding.cpus]
    if len({str(cpus) for _, cpus in words}) > 1:
        values = tuple(Value(str(cpus), one.source.id) for one, cpus in words)
        yield Conflict((title,), "cpus", values[0].value, values)


def _worth(one: Container) -> bool:
    """Whether it holds or uses anything that the audit is about."""
    return bool(one.devices or one.uses or one.cpus or one.memory or gpus_asked(one.requests) or one.claims)


def _policies(spoken: Iterable[Spoken]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in spoken:
        for what, policy in one.records.policies:
            found.setdefault(what, policy)
    return found


def _pods(containers: Sequence[Container], records: dict[str, PodRecord], sight: Sight) -> tuple[Pod, ...]:
    places: dict[tuple[str, ...], list[int]] = {}
    for at, one in enumerate(containers):
        if one.uid or one.pod:
            places.setdefault((one.uid or "", one.namespace or "", one.pod or ""), []).append(at)
    found = []
    for (uid, namespace, name), own in places.items():
        record = record_of(records, uid, namespace, name)
        devices = _handed_on([containers[at] for at in own])
        unsaid = any(containers[at].placed is UNSAID for at in own)
        found.append(
            Pod(
                namespace or None,
                name or None,
                uid or None,
                tuple(own),
                UNSAID if unsaid else placed(devices, sight),
                record.owners if record else (),
                record.phase if record else None,
                (record.admitted or record.started) if record else None,
                labels=record.labels if record else None,
            )
        )
    return tuple(found)


def _handed_on(containers: Sequence[Container]) -> list[Device]:
    """The devices of a pod that runs: those of its app and sidecar containers, each once; an init container's where
    nothing else holds any."""
    running = [one for one in containers if one.kind != INIT and one.given] or [one for one in containers if one.given]
    return list(dict.fromkeys(device for one in running or containers for device in one.devices))


def _rejected(records: Iterable[PodRecord]) -> tuple[Pod, ...]:
    """Each once, though an API object and a log say so; what the log has of its cause is kept."""
    found: dict[tuple[str | None, ...], PodRecord] = {}
    for one in records:
        if one.rejected is not None:
            key = (one.uid,) if one.uid else (one.namespace, one.name)
            known = found.setdefault(key, one)
            found[key] = known._replace(why=known.why or one.why, requests=known.requests or one.requests)
    return tuple(
        Pod(one.namespace, one.name, one.uid, (), NOWHERE, one.owners, one.phase, one.admitted, one.rejected,
            one.labels, one.why, one.requests)
        for one in found.values()
    )  # fmt: skip


def _free(
    node: NodeTopology, names: Names, containers: Sequence[Container], spoken: Sequence[Spoken]
) -> tuple[tuple[str, ...] | None, list[NoteAssumption]]:
    """GPUs that nothing holds; the kubelet's ids where those held cannot be told to be which GPUs, as without a
    topology. None where no source lists them."""
    taken = {device.unit for one in containers for device in one.devices}
    taken |= {gpu for one in containers for gpu in one.uses or ()}
    notes = []
    if not any(one.records.containers_complete for one in spoken):
        names_of = ", ".join(dict.fromkeys(one.source.name for one in spoken))
        text = f"nothing holds a GPU that is not in {names_of or 'the sources'}"
        notes.append(NoteAssumption((), text, None))
    unplaced = any(_unplaced(device, node) for one in containers for device in one.devices)
    if node.gpus and not unplaced:
        return _decided([gpu.id for gpu in node.gpus if gpu.id not in taken], containers), notes
    for one in spoken:
        if one.records.allocatable is not None:
            ids = [each.unit for each in map(names.device, one.records.allocatable) if each.is_gpu]
            if taken.intersection(gpu.id for gpu in node.gpus).difference(ids):
                return None, notes  # a GPU of which it is not known which of the kubelet's ids it is
            return _decided(sorted({each for each in ids if each not in taken}), containers), notes
    return None, []


def _unplaced(device: Device, node: NodeTopology) -> bool:
    """Whether it may be any GPU of the node. A whole GPU's UUID that the node does not have is none of them."""
    if not device.is_gpu or device.gpu is not None or is_placeholder(device.id):
        return False
    return not (device.unit.startswith("GPU-") and all(gpu.uuid for gpu in node.gpus))


def _decided(untaken: Sequence[str], containers: Sequence[Container]) -> tuple[str, ...] | None:
    """None where some container has GPUs of which it is not known which, unless they are all that is left."""
    wanted = sum(gpus_asked(one.requests) for one in asks.unsaid(containers))
    hidden = any(device.is_gpu and is_placeholder(device.id) and device.gpu is None
                 for one in containers for device in one.devices)  # fmt: skip
    if not wanted and not hidden:
        return tuple(untaken)
    return () if wanted >= len(untaken) and not hidden else None


def _unresolved(containers: Sequence[Container]) -> tuple[NoteUnknown, ...]:
    reasons: dict[str, list[str]] = {}
    for one in containers:
        for device in one.devices:
            if device.unresolved and device.is_gpu:
                reasons.setdefault(device.unresolved, []).append(device.id)
    return tuple(NoteUnknown(tuple(dict.fromkeys(ids)), "gpu", *_settled(reason)) for reason, ids in reasons.items())


def _settled(reason: str) -> tuple[str, str]:
    head, _, settles = reason.partition(": ")
    return head, settles


def _claimed_only(containers: Sequence[Container]) -> list[NoteAssumption]:
    """NVIDIA_VISIBLE_DEVICES is a claim, also where it is all there is."""
    own = tuple(one.title for one in containers if one.by == "env" and one.given and one.devices)
    if not own:
        return []
    who = f"{own[0]} holds what its" if len(own) == 1 else f"{len(own)} containers hold what their"
    return [NoteAssumption(own, f"{who} NVIDIA_VISIBLE_DEVICES names: no source says what was given", None)]


def _counted(spoken: Iterable[Spoken], node: NodeTopology) -> list[NoteAssumption]:
    """Without AutoDetect, gres.conf may list the GPUs in any order."""
    held = [each for one in spoken for container in one.records.containers for each in container.devices or ()]
    listed = any(name.space == "gres" for one in spoken for name in one.records.names)
    if listed or not node.gpus or not any(one.space == "gres" for one in held):
        return []
    text = "Slurm lists the GPUs in PCI bus order, as AutoDetect does; settle it: slurmd -G"
    return [NoteAssumption((), text, None)]


def _kind_notes(containers: Sequence[Container]) -> list[NoteAssumption]:
    return [
        NoteAssumption((), f"{one.title} is an {one.kind} container: {one.kind_basis}", None)
        for one in containers
        if one.kind is not None and one.kind_basis
    ]
