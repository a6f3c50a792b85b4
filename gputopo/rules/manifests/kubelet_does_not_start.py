"""GT330 kubelet-does-not-start

What it says
    A KubeletConfiguration with which the kubelet ends at its start, whatever the machine.

Why it matters
    The node stays NotReady.

What to do
    As the message says; it is the kubelet's own. The static CPU manager wants reserved CPUs, the Static memory manager
    reserved memory.

When it is silent
    Policies, scope and options are those of the release (--k8s-version). What depends on the machine, such as the
    number of its NUMA nodes, is not judged. Without reserved CPUs or memory it is a warning: the command line or a
    drop-in file may reserve them.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: kubelet.config.k8s.io/v1beta1
    ... kind: KubeletConfiguration
    ... topologyManagerPolicy: single-numa
    ... ''')
    >>> [(found.place.line, found.message) for found in check(own, Context())]
    [(3, 'the kubelet does not start: unknown policy: "single-numa"')]
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.kubelet.config_file import read
from gputopo.allocate.kubelet.machine import Machine
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.startup import Refused, Settings, topology_manager
from gputopo.rules.manifests.object_refused import path_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import WrongShape
from gputopo.terms.manifest import Manifest, Path

CODE = "GT330"
SEVERITY = "error"
KINDS = ("KubeletConfiguration",)
_MACHINE = Machine((0,), (), {0: (10,)})  # what is asked of it no machine fails
_RESERVE = "systemReserved.cpu, kubeReserved.cpu or reservedSystemCPUs"
_RESERVES = (_RESERVE, "reservedMemory")
_ELSEWHERE = "unless the kubelet's command line or a drop-in file reserves some"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    above: Path = ()
    body = manifest.object.body
    if isinstance(body.get("kubeletconfig"), dict):
        body, above = body["kubeletconfig"], ("kubeletconfig",)
    try:
        settings = read(body, Release(context.minor))
    except WrongShape as error:
        yield problem(CODE, SEVERITY, manifest, (*above, *path_of(str(error))), f"does not decode: {error}")
        return
    for path, message, remedy in _refusals(settings):
        said = f"the kubelet does not start: {message}"
        # What is reserved may stand elsewhere; a wrong word is wrong wherever the rest is.
        severity, because = ("warning", _ELSEWHERE) if remedy in _RESERVES else (SEVERITY, "")
        yield problem(CODE, severity, manifest, (*above, *path), said, because, remedy)


def _refusals(settings: Settings) -> Iterator[tuple[Path, str, str]]:
    try:
        topology_manager(settings, _MACHINE)
    except Refused as error:
        for message in error.messages:
            yield _place(message, settings), message, ""
    yield from _of_cpus(settings)
    if settings.memory_policy not in ("None", "Static"):
        yield ("memoryManagerPolicy",), f'unknown policy: "{settings.memory_policy}"', "None or Static"
    elif settings.memory_policy == "Static" and not _reserves_memory(settings):
        message = "[memorymanager] you should specify the system reserved memory"
        yield ("memoryManagerPolicy",), message, "reservedMemory"


def _reserves_memory(settings: Settings) -> bool:
    return any(kinds.get("memory", 0) for kinds in settings.reserved_memory.values())


def _of_cpus(settings: Settings) -> Iterator[tuple[Path, str, str]]:
    path: Path = ("cpuManagerPolicy",)
    if settings.cpu_policy not in ("none", "static"):
        yield path, f'unknown policy: "{settings.cpu_policy}"', "none or static"
    elif settings.cpu_policy == "static":
        if not settings.reserved_cpus and not settings.reserved_count:
            message = "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"
            yield path, message, _RESERVE
        for name in settings.cpu_options:
            if settings.release.cpu_option(name) is None:
                yield ("cpuManagerPolicyOptions", name), f'unknown CPU Manager Policy option: "{name}"', ""


def _place(message: str, settings: Settings) -> Path:
    for name in settings.options:
        if f'"{name}"' in message:
            return ("topologyManagerPolicyOptions", name)
    return ("topologyManagerScope",) if "scope" in message else ("topologyManagerPolicy",)
