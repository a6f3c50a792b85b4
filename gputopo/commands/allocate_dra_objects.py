"""What `allocate dra` is asked: claims, slices, classes and nodes out of files and sources; release and gates."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from gputopo.allocate.assumed import Assumed
from gputopo.allocate.decider import Decision
from gputopo.allocate.decider.asks import pod_spec
from gputopo.allocate.dra import features, published
from gputopo.allocate.dra.behaviour import Behaviour, of
from gputopo.allocate.dra.objects import Allocated, Claim, DeviceClass, KubeNode, Slice, World
from gputopo.allocate.dra.read_claims import allocated_of, claim_of, is_allocated
from gputopo.allocate.dra.read_slices import class_of, slice_of
from gputopo.commands import allocate_objects as given
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject, WrongShape, mappings, text
from gputopo.topology.node import NodeTopology, NoteAssumption

_CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
_NEWEST_RUN = (1, 36)
T = TypeVar("T")
Notes = tuple[NoteAssumption, ...]


class Files(NamedTuple):
    """The options that name objects."""

    claims: tuple[str, ...] = ()
    slices: str | None = None
    classes: str | None = None
    allocated: str | None = None
    node: str | None = None
    pod: str | None = None


class Question(NamedTuple):
    decision: Decision
    claims: tuple[Claim, ...]
    slices: tuple[Slice, ...]
    classes: Mapping[str, DeviceClass]
    allocated: Allocated
    nodes: tuple[KubeNode, ...]
    notes: Notes = ()

    def worlds(self) -> list[World]:
        return [World(node, self.slices, self.classes, self.claims, self.allocated) for node in self.nodes]

    def published(self, topology: NodeTopology, line: str) -> World:
        """Without slices yet: the node is named as the driver's pool would be."""
        name = self.nodes[0].name or topology.name or "node"
        classes = {**published.classes(), **self.classes}
        return World(KubeNode(name, self.nodes[0].labels), (), classes, self.claims, self.allocated)


def behaviour(version: str | None, gates: Sequence[str], seen: str | None) -> tuple[Behaviour, Notes]:
    """The allocator of a release with its gates; `seen`: what a Node object says. Raises GputopoError."""
    release = _release(version or seen)
    known = features.known(min((release[0], release[1]), features.LAST))
    on = set(features.default_gates(min((release[0], release[1]), features.LAST)))
    for word in gates or ():
        for pair in word.split(","):
            name, equals, value = pair.strip().partition("=")
            if not equals or value.lower() not in ("true", "false"):
                raise GputopoError(f"--feature-gate takes GATE=true or GATE=false, not {pair!r}")
            if name not in known:
                raise GputopoError(
                    f"no DRA feature gate {name} in Kubernetes {release[0]}.{release[1]}", "--feature-gate",
                    f"those that matter here: {', '.join(sorted(known))}",
                )  # fmt: skip
            on.add(name) if value.lower() == "true" else on.discard(name)
    how = of(release, frozenset(on))
    notes = []
    if version is None:
        basis = f"as the Node's kubeletVersion {seen} has it" if seen else ""
        settle = Assumed(f"the structured allocator of Kubernetes {how.version} {basis}".strip(), "--k8s-version")
        notes = [str(settle)]
    if (release[0], release[1]) > features.LAST:
        notes = [f"Kubernetes {version or seen} was not read: answered as {how.version}, the newest that was"]
    return how, tuple(NoteAssumption((), note, None) for note in notes)


def _release(version: str | None) -> tuple[int, ...]:
    if version is None:
        return _NEWEST_RUN
    given.version_of(version)
    parts = version.removeprefix("v").replace("+", "-").partition("-")[0].split(".")
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())


def driver_line(version: str | None) -> tuple[str, Notes]:
    """The line of NVIDIA's driver. Raises GputopoError for one that was not read and is not newer than all."""
    if version is None:
        return str(published.line_of(published.NEWEST)), ()
    line = published.line_of(version)
    if line is not None:
        return line, ()
    parts = version.removeprefix("v").split("-")[0].split(".")
    numbers = tuple(int(part) for part in parts if part.isascii() and part.isdigit())
    if len(numbers) == len(parts) > 1 and (0, 5) < numbers[:2] < (20, 0):
        note = f"NVIDIA's DRA driver {version} was not read: answered as 0.5, the newest that was"
        return "0.5", (NoteAssumption((), note, None),)
    raise GputopoError(f"no such version of NVIDIA's DRA driver: {version}", "--driver-version",
                       f"one of {', '.join(published.LINES)}")  # fmt: skip


def question(
    objects: Sequence[KubeObject], files: Files, version: str | None, gates: Sequence[str]
) -> tuple[Question, Behaviour]:
    """`objects`: those among the sources. Raises GputopoError for what cannot be read or does not fit together."""
    slices, classes, allocated, node, pod = files.slices, files.classes, files.allocated, files.node, files.pod
    of_claims = [one for path in files.claims for one in given.read_file(path, "--claim")]
    of_slices = given.read_file(slices, "--slices") if slices else ()
    of_classes = given.read_file(classes, "--classes") if classes else ()
    of_pod = given.read_file(pod, "--pod") if pod else ()
    every = (*of_claims, *of_pod, *of_slices, *of_classes, *objects)
    _check_kind(of_claims, _CLAIMS, files.claims, "--claim", "ResourceClaim or ResourceClaimTemplate")
    _check_kind(of_slices, ("ResourceSlice",), [slices], "--slices", "ResourceSlice")
    _check_kind(of_classes, ("DeviceClass",), [classes], "--classes", "DeviceClass")
    asking = [one for one in (*of_claims, *of_pod, *objects) if one.kind in _CLAIMS and not is_allocated(one)]
    held = [one for one in every if one.kind == "ResourceClaim" and is_allocated(one)]
    if allocated:
        held += [one for one in given.read_file(allocated, "--allocated") if one.kind == "ResourceClaim"]
    found = tuple(_each(slice_of, _kind(every, "ResourceSlice")))
    own = {one.name: one for one in _each(class_of, _kind(every, "DeviceClass"))}
    known = [one for one in every if one.kind == "Node"]
    how, notes = behaviour(version, gates, _seen_version(known))
    if found and not classes:
        notes += _default_classes(own, asking)
        own = {**published.classes(), **own}
    nodes = _nodes(node, found, known)
    by_pod = _pod(of_pod, pod)
    asked = Question(
        Decision("DRA", "the pod has resourceClaims" if by_pod is not None else "a ResourceClaim is asked for"),
        _claims(asking, by_pod), found, own,
        _each(lambda one: allocated_of(held, how.on(features.CAPACITY)), [_whole(held)])[0],
        nodes, notes + _labels_needed(nodes, found),
    )  # fmt: skip
    return asked, how


def _seen_version(nodes: Sequence[KubeObject]) -> str | None:
    """The release that Node objects tell, where they agree."""
    told = {version for version in _each(given.kubelet_version, nodes) if version}
    return told.pop() if len(told) == 1 else None


def _check_kind(
    objects: Sequence[KubeObject], kinds: Sequence[str], paths: Sequence[str | None] | None, option: str, what: str
) -> None:
    if paths and paths[0] is not None and not any(one.kind in kinds for one in objects):
        held = f"it holds {objects[0].kind} at {objects[0].where}" if objects and objects[0].kind else ""
        raise GputopoError(f"{option}: no {what} in it", ", ".join(str(path) for path in paths), held)


def _kind(objects: Iterable[KubeObject], kind: str) -> list[KubeObject]:
    return [one for one in objects if one.kind == kind]


def _each(read: Callable[[KubeObject], T], objects: Sequence[KubeObject]) -> list[T]:
    """Each object as a record; a field of the wrong shape is one line with the object's place."""
    made = []
    for one in objects:
        _check_depth(one)
        try:
            made.append(read(one))
        except WrongShape as error:
            raise GputopoError(str(error), one.where) from None
    return made


def _check_depth(one: KubeObject) -> None:
    """No API server takes a selector that nests deeper than CEL is parsed."""
    from gputopo.cel.depth import nests_too_deep

    left: list[object] = [one.body]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            text = part.get("expression")
            why = nests_too_deep(text) if isinstance(text, str) else None
            if why is not None:
                raise GputopoError(f"{one.kind}: {why}", one.where)
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()


def _whole(held: Sequence[KubeObject]) -> KubeObject:
    """Allocated claims are read together; the first stands for them in messages."""
    return held[0] if held else KubeObject({}, "")


def _default_classes(own: Mapping[str, DeviceClass], asking: Sequence[KubeObject]) -> Notes:
    asked = {ask.device_class for one in _each(claim_of, asking) for request in one.requests
             for ask in (request.first_available or (request.exactly,))}  # fmt: skip
    used = sorted((asked & set(published.classes())) - set(own))
    if not used:
        return ()
    text = f"no DeviceClass object given: {', '.join(used)} as NVIDIA's driver installs it (--classes)"
    return (NoteAssumption((), text, None),)


def _pod(objects: Sequence[KubeObject], path: str | None) -> KubeObject | None:
    if path is None:
        return None
    pods = [one for one in objects if one.kind in given.WORKLOADS]
    if len(pods) != 1:
        raise GputopoError(f"--pod: {len(pods)} pods or workloads in it, not one", path)
    return pods[0]


def _claims(asking: Sequence[KubeObject], pod: KubeObject | None) -> tuple[Claim, ...]:
    """In the order of the files; for a pod in the order of its spec."""
    if pod is None:
        if not asking:
            raise GputopoError("which claim?", "", "--claim FILE, or --pod FILE with its claims")
        return tuple(_each(claim_of, asking))
    try:
        references = mappings(pod_spec(pod), "resourceClaims", "spec.resourceClaims")
        names = [
            (text(one, "name"), text(one, "resourceClaimName"), text(one, "resourceClaimTemplateName"))
            for one in references
        ]
    except WrongShape as error:
        raise GputopoError(str(error), pod.where) from None
    if not names:
        raise GputopoError("the pod asks for no ResourceClaim", pod.where)
    found: list[Claim] = []
    for name, claim, template in names:
        kind, wanted = ("ResourceClaim", claim) if claim else ("ResourceClaimTemplate", template)
        fitting = [one for one in asking if one.kind == kind and one.name == wanted]
        if not fitting:
            raise GputopoError(f"the pod's {kind} {wanted} is not given (or is allocated)", pod.where, "--claim FILE")
        made = _each(claim_of, fitting[:1])[0]
        found.append(made if claim else made._replace(name=f"{pod.name}-{name}", namespace=pod.namespace))
    return tuple(found)


def _labels_needed(nodes: Sequence[KubeNode], slices: Sequence[Slice]) -> Notes:
    selecting = any(own.node_selector is not None for own in slices) or any(
        device.node_selector is not None for own in slices for device in own.devices
    )
    bare = [one.name for one in nodes if not one.labels]
    if not selecting or not bare:
        return ()
    names = ", ".join(filter(None, bare)) or "the node"
    text = f"the labels of {names} are not given (--node FILE): slices that select by them do not fit"
    return (NoteAssumption((), text, None),)


def _nodes(said: str | None, slices: Sequence[Slice], objects: Sequence[KubeObject]) -> tuple[KubeNode, ...]:
    """The nodes to ask for: the one said, else those the slices and Node objects name."""
    known = {one.name: KubeNode(one.name, one.labels) for one in objects}
    if said is not None and os.path.exists(said):
        nodes = _kind(given.read_file(said, "--node"), "Node")
        if len(nodes) != 1:
            raise GputopoError(f"--node: {len(nodes)} Node objects in it, not one", said)
        return (KubeNode(nodes[0].name, nodes[0].labels),)
    if said is not None:
        return (known.get(said, KubeNode(said)),)
    names = {own.node_name for own in slices if own.node_name}
    names |= {device.node_name for own in slices for device in own.devices if device.node_name}
    every = sorted(names | set(known))
    return tuple(known.get(name, KubeNode(name)) for name in every) or (KubeNode(""),)
