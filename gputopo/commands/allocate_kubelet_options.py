"""What the options of `allocate kubelet` say: the kubelet's settings, and the pod that is asked about."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gputopo.allocate.assumed import Assumed
from gputopo.commands import allocate_options as shared
from gputopo.commands import options
from gputopo.commands.allocate_objects import Objects, kubelet_version
from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.allocate.kubelet.pod import Pod
    from gputopo.allocate.kubelet.releases import Release
    from gputopo.allocate.kubelet.startup import Settings
    from gputopo.allocate.request import Request
    from gputopo.commands.allocate_sources import Named, Sorted
    from gputopo.terms.kube_object import KubeObject
    from gputopo.topology.node import NodeTopology

GPU = "nvidia.com/gpu"


class Given(NamedTuple):
    """The kubelet's own options, before a configuration file."""

    policy: str | None = None
    scope: str | None = None
    options: str | None = None
    cpu_policy: str | None = None
    cpu_options: str | None = None
    memory_policy: str | None = None
    reserved_cpus: str | None = None


class Asked(NamedTuple):
    size: int | None
    cpus: Fraction | None = None
    memory: Fraction | None = None
    pod: KubeObject | None = None


def amount(text: str | None, option: str, example: str) -> Fraction | None:
    """A quantity above 0. Raises GputopoError."""
    if text is None:
        return None
    from gputopo.terms.quantity import quantity

    try:
        found = quantity(text)
    except ValueError as error:
        raise GputopoError(f"{text!r} is no quantity", option, f"{option} {example}") from error
    if found <= 0:
        raise GputopoError(f"more than 0, not {text}", option)
    return found


def config_text(path: str | None, beside: Sorted) -> Named | None:
    """The kubelet's configuration: the option's file, else the one among the sources."""
    from gputopo.commands.allocate_sources import Named

    if path is None:
        return beside.kubelet_config
    return Named(f"--kubelet-config {path}", shared.read_text(path, "--kubelet-config"))


def is_asked(version: str | None, notes: list[Assumed]) -> bool:
    """Whether this release asks a device plugin which devices it prefers."""
    from gputopo.allocate.kubelet.releases import PREFERRED_ALLOCATION, parse

    release = parse(version) if version is not None else None
    if release is None or release.minor >= PREFERRED_ALLOCATION:
        return True
    since = f"GetPreferredAllocation came with 1.{PREFERRED_ALLOCATION}"
    notes.append(Assumed(f"{since}: before it the kubelet takes devices in random order"))
    return False


def release_said(version: str | None, objects: Objects, node: NodeTopology) -> str | None:
    """Of the option, else as the Node object says it. Raises GputopoError, WrongShape."""
    from gputopo.allocate.kubelet.releases import parse

    said = kubelet_version(objects.node(node.name)) if version is None else version
    return said if version is not None or (said is not None and parse(said) is not None) else None


def settings_of(
    file: Named | None, version: str | None, given: Given, asked: Asked | None, notes: list[Assumed]
) -> Settings:  # fmt: skip
    """Options before the file before the kubelet's defaults. Raises GputopoError."""
    from gputopo.allocate.kubelet.startup import Settings

    release = _release(version, notes)
    found = Settings(release) if file is None else _config(file, release)
    if file is None and given.policy is None:
        notes.append(Assumed("Topology Manager policy none, the kubelet's default", "--kubelet-config FILE"))
    found = found._replace(
        policy=_or(given.policy, found.policy),
        scope=_or(given.scope, found.scope),
        cpu_policy=_or(given.cpu_policy, found.cpu_policy),
        memory_policy=_or(given.memory_policy, found.memory_policy),
        reserved_cpus=found.reserved_cpus if given.reserved_cpus is None else _cpus(given.reserved_cpus),
    )
    if given.options is not None:
        found = found._replace(options=options.pairs([given.options], "--topology-manager-policy-options"))
    if given.cpu_options is not None:
        found = found._replace(cpu_options=options.pairs([given.cpu_options], "--cpu-manager-policy-options"))
    return found if file is not None else _completed(found, given, asked, notes)


def _or(said: str | None, default: str) -> str:
    return default if said is None else said


def _release(version: str | None, notes: list[Assumed]) -> Release:
    from gputopo.allocate.kubelet.releases import DEFAULT, NEWEST, OLDEST, Release, parse

    release = Release(DEFAULT) if version is None else parse(version)
    if release is None:
        raise GputopoError(f"no version of Kubernetes: {version!r}", "--k8s-version", "e.g. 1.36")
    nearest = Release(min(max(release.minor, OLDEST), NEWEST))
    if version is None:
        notes.append(Assumed(f"kubelet v1.{release.minor}", "--k8s-version"))
    elif nearest != release:
        read = f"1.{OLDEST} to 1.{NEWEST} were read"
        notes.append(Assumed(f"1.{release.minor} is answered as 1.{nearest.minor}: {read}"))
    return nearest


def _cpus(text: str) -> int:
    from gputopo.terms.cpu_set import CpuSet

    found = CpuSet.parse_list(text)
    if found is None:
        raise GputopoError(f"no list of CPUs: {text!r}", "--reserved-cpus", "e.g. 0,112")
    return found.mask


def _completed(found: Settings, given: Given, asked: Asked | None, notes: list[Assumed]) -> Settings:
    """What a request means where nobody says it: exclusive CPUs need the static policy, which reserves some."""
    asked = asked or Asked(None)
    if given.cpu_policy is None and asked.cpus is not None:
        notes.append(Assumed("CPU manager policy static, since --cpus asks for CPUs", "--cpu-manager-policy"))
        found = found._replace(cpu_policy="static")
    if given.memory_policy is None and asked.memory is not None:
        notes.append(Assumed("Memory manager policy Static, since --memory is given", "--memory-manager-policy"))
        found = found._replace(memory_policy="Static")
    if found.cpu_policy == "static" and not found.reserved_cpus:
        notes.append(Assumed("one CPU is reserved, the lowest", "--reserved-cpus"))
        found = found._replace(reserved_count=1)
    if found.memory_policy == "Static":
        notes.append(Assumed("100 MiB of NUMA node 0 are reserved, the eviction threshold", "--kubelet-config FILE"))
        found = found._replace(reserved_memory={0: {"memory": 100 << 20}})
    return found


def _config(file: Named, release: Release) -> Settings:
    from gputopo.allocate.kubelet.config_file import read
    from gputopo.parsers.kubelet_config import parse
    from gputopo.parsers.unreadable import Unreadable
    from gputopo.terms.kube_object import WrongShape

    try:
        return read(parse(file.text), release)
    except Unreadable as error:
        raise GputopoError(error.what, file.name, error.hint) from error
    except WrongShape as error:
        raise GputopoError(str(error), file.name) from error


def pod_of(asked: Asked, resource: str) -> Pod:
    """The pod object, resized by -c; else one of a single container. Raises GputopoError, WrongShape."""
    from gputopo.allocate.kubelet.config_file import pod as read
    from gputopo.allocate.kubelet.mechanism import asking, resized
    from gputopo.allocate.kubelet.pod import GUARANTEED, Container, Pod
    from gputopo.allocate.request import Request

    if asked.pod is not None:
        pod = read(asked.pod)
        if not asking(pod, resource):
            raise GputopoError(f"the pod asks for no {resource}", asked.pod.where)
        return pod if asked.size is None else resized(pod, Request(asked.size, resource=resource))
    count = None if asked.size is None else Fraction(asked.size)
    wanted = {resource: count, "cpu": asked.cpus, "memory": asked.memory}
    limits = {name: size for name, size in wanted.items() if size is not None}
    guaranteed = asked.cpus is not None or asked.memory is not None
    return Pod("pod", (Container.of("container", limits),), qos_class=GUARANTEED if guaranteed else None)


def request_of(pod: Pod, resource: str) -> Request:
    """The pod's totals, as the managers count them."""
    from gputopo.allocate.kubelet.pod import devices, exclusive_cpus, total, total_memory
    from gputopo.allocate.kubelet.stops import ManagerError
    from gputopo.allocate.request import Request

    size = total(pod, devices).get(resource, 0)
    cpus = total(pod, lambda one: {"cpu": exclusive_cpus(pod, one)}).get("cpu", 0)
    try:
        memory = total_memory(pod).get("memory", 0) if pod.exclusive else 0
    except ManagerError:
        memory = 0  # a size in fractions of a byte, which the answer itself is about
    return Request(size, (), resource, pod.uid, cpus or None, memory or None)
