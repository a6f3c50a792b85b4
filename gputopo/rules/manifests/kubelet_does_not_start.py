"""GT330 kubelet-does-not-start

What it says
    A KubeletConfiguration with which the kubelet ends at its start, whatever the machine: a value that does not decode,
    a feature gate that it does not know, a policy, scope or option that it refuses, two options that exclude each
    other, reserved memory that does not add up.

Why it matters
    The node stays NotReady.

What to do
    As the message says; it is the kubelet's own. The static CPU manager wants reserved CPUs. The Static memory manager
    wants reservedMemory, and of it as much as kubeReserved, systemReserved and evictionHard hold back together, where
    evictionHard is memory.available=100Mi if nothing is said.

When it is silent
    Keys, gates, policies, scopes and options are those of the release (--k8s-version). What depends on the machine,
    such as the number of its NUMA nodes, is not judged, nor, where it decodes, what has nothing to do with CPUs, memory
    and NUMA nodes. It is a warning where the command line or a drop-in file may reserve what is missing, and for a
    feature gate that another release takes, unless --k8s-version names this one.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: kubelet.config.k8s.io/v1beta1
    ... kind: KubeletConfiguration
    ... cpuManagerPolicy: static
    ... reservedSystemCPUs: 0-1
    ... cpuManagerPolicyOptions: {full-pcpu-only: "true"}
    ... ''')
    >>> [(found.place.line, found.message) for found in check(own, Context())]
    [(5, 'the kubelet does not start: new static policy error: unknown CPU Manager Policy option: "full-pcpu-only"')]
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gputopo.allocate.kubelet.config_checks import Refusal, as_decoded, refusals
from gputopo.allocate.kubelet.config_file import read
from gputopo.allocate.kubelet.config_keys import Wrong, faults
from gputopo.allocate.kubelet.merge import BEST_EFFORT, NONE, RESTRICTED, SINGLE_NUMA_NODE
from gputopo.allocate.kubelet.releases import Release
from gputopo.rules.manifests.asks import value_at
from gputopo.rules.manifests.fixes.nearest import meant
from gputopo.rules.manifests.object_refused import path_of
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.edits import NO_MEND, Edit, Mend
from gputopo.terms.kube_object import WrongShape, type_name
from gputopo.terms.manifest import Manifest, Path

CODE = "GT330"
SEVERITY = "error"
KINDS = ("KubeletConfiguration",)
API_VERSION = "kubelet.config.k8s.io/v1beta1"
_SAYS = "the kubelet does not start:"
_WORDS = {
    "topologyManagerPolicy": (NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE),
    "topologyManagerScope": ("container", "pod"),
    "cpuManagerPolicy": ("none", "static"),
    "memoryManagerPolicy": ("None", "Static"),
}
_ELSEWHERE = "unless the kubelet's command line or a drop-in file reserves some"


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body, above = configuration(manifest)
    if not above and body.get("apiVersion") != API_VERSION:
        found = body.get("apiVersion")
        message = f"apiVersion is {type_name(found) if found is not None else 'missing'}, not {API_VERSION}"
        yield problem(CODE, SEVERITY, manifest, ("apiVersion",), f"{_SAYS} {message}", "", API_VERSION)
    wrong = [one for one in faults(body, context.minor) if isinstance(one, Wrong)]
    for one in wrong:
        yield problem(CODE, SEVERITY, manifest, (*above, *one.path), f"{_SAYS} {one.message}")
    if wrong:
        return
    body = as_decoded(body)
    try:
        settings = read(body, Release(context.minor))
    except WrongShape as error:
        yield problem(CODE, SEVERITY, manifest, (*above, *path_of(str(error))), f"{_SAYS} {error}")
        return
    for refusal in refusals(body, settings):
        yield _problem(manifest, above, refusal, context)


def configuration(manifest: Manifest) -> tuple[dict[str, Any], Path]:
    """The configuration and where it stands: /configz answers with one inside `kubeletconfig`."""
    inside = manifest.object.body.get("kubeletconfig")
    return (inside, ("kubeletconfig",)) if isinstance(inside, dict) else (manifest.object.body, ())


def _problem(manifest: Manifest, above: Path, refusal: Refusal, context: Context) -> Problem:
    path = (*above, *refusal.path)
    because = _ELSEWHERE if refusal.elsewhere else ""
    severity = SEVERITY
    if refusal.elsewhere:
        severity = "warning"
    elif refusal.other_release:
        severity = SEVERITY if context.minor_said else "warning"
        because = f"so it is in Kubernetes 1.{context.minor}; another release takes it"
    mend = _mend(manifest, above, refusal.path, Release(context.minor))
    # A gate is wrong by its name, not by its value.
    place = manifest.key(path) if "unrecognized" in refusal.message else manifest.at(path)
    return problem(CODE, severity, manifest, path, f"{_SAYS} {refusal.message}", because, refusal.remedy, place, mend)


def _mend(manifest: Manifest, above: Path, path: Path, release: Release) -> Mend:
    """A word or the name of an option that can only be one of those that the kubelet knows."""
    options = {"cpuManagerPolicyOptions": release.cpu_options, "topologyManagerPolicyOptions": release.topology_options}
    whole = (*above, *path)
    if len(path) == 2:
        field, name = path
        word = meant(str(name), options.get(str(field), ()))
        taken = word in (value_at(manifest, whole[:-1]) or ())
        return manifest.rename(whole, word) if word and not taken else NO_MEND
    said = value_at(manifest, whole)
    word = meant(said, _WORDS.get(str(path[-1]), ())) if isinstance(said, str) and path else ""
    return manifest.rewrite(whole, [Edit(0, len(str(said)), word)]) if word else NO_MEND
