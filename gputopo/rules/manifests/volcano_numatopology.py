"""GT382 volcano-numatopology

What it says
    A Numatopology that the API server refuses, or that Volcano reads otherwise than it is meant: a policy that is none,
    CPUs whose omitted numa, socket or core is read as 0, amounts where lists of CPUs stand.

Why it matters
    The numaaware plugin places pods by it. It passes over nodes whose CPUManagerPolicy is not static and those whose
    TopologyManagerPolicy is not, letter for letter, what the task asks for. A CPU that is read onto NUMA node 0 counts
    there.

What to do
    Let resource-exporter write it. Of a CPU on NUMA node 0, socket 0 or core 0 it omits the key, as Go omits every 0;
    written by hand all three are better said. numares.cpu.allocatable is a list of CPU numbers, capacity is how many.

When it is silent
    Omitted keys mean 0 and can: nothing is said of them unless NUMA node 0 would then reach into the socket of another
    node, or all CPUs would be one core. Whether the CPUs are those of the machine is not known. Only CPUs are looked
    at, as in Volcano.

Example
    >>> from gputopo.parsers.manifests import read
    >>> from gputopo.rules.manifests.problem import Context
    >>> [own] = read('''apiVersion: nodeinfo.volcano.sh/v1alpha1
    ... kind: Numatopology
    ... metadata: {name: a}
    ... spec:
    ...   policies: {CPUManagerPolicy: static, TopologyManagerPolicy: single-numa}
    ... ''')
    >>> [(found.place.line, found.message, found.remedy) for found in check(own, Context())]
    [(5, 'TopologyManagerPolicy "single-numa" is no policy: it counts as none', 'single-numa-node')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gputopo.rules.manifests import volcano_cpus
from gputopo.rules.manifests.crd_shape import Fields, MapOf, misfits
from gputopo.rules.manifests.problem import Context, Problem, problem
from gputopo.terms.kube_object import type_name
from gputopo.terms.manifest import Manifest, Path
from gputopo.terms.quantity import quantity

CODE = "GT382"
SEVERITY = "warning"
KINDS = ("Numatopology",)
_VERSION = "nodeinfo.volcano.sh/v1alpha1"
# volcano-sh/apis 536f121 (2026-06-22) pkg/apis/nodeinfo/v1alpha1, CRD of volcano-sh/volcano ed72c7c (2026-08-20)
_CPU = {"numa": "integer", "socket": "integer", "core": "integer"}
_SPEC = Fields({
    "policies": MapOf("string"),
    "resReserved": MapOf("string"),
    "numares": MapOf(Fields({"allocatable": "string", "capacity": "integer"})),
    "cpuDetail": MapOf(Fields(_CPU)),
})  # fmt: skip
_REFUSES = "the API server refuses it"
_TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
_POLICIES = {"CPUManagerPolicy": ("none", "static"), "TopologyManagerPolicy": _TOPOLOGY_POLICIES}
_RESERVABLE = ("cpu", "memory", "ephemeral-storage")
_CPU_ID = re.compile(r"\d{1,9}")


def check(manifest: Manifest, context: Context) -> Iterator[Problem]:
    body = manifest.object.body
    if body.get("apiVersion") != _VERSION:
        said = body.get("apiVersion")
        message = f"apiVersion is {type_name(said) if said is not None else 'missing'}: {_REFUSES}"
        yield problem(CODE, "error", manifest, ("apiVersion",), message, "", _VERSION)
        return
    spec = body.get("spec")
    if spec is None:
        return
    wrong = [*misfits(spec, _SPEC, ("spec",))]
    wrong += _negative(spec) if not wrong else []
    for path, message in wrong:
        yield problem(CODE, "error", manifest, path, f"{message}: {_REFUSES}")
    if wrong:
        return
    yield from _policies(manifest, spec.get("policies") or {})
    yield from _reserved(manifest, spec.get("resReserved") or {})
    details = spec.get("cpuDetail") or {}
    for key in details:
        if not _CPU_ID.fullmatch(key):
            own: Path = ("spec", "cpuDetail", key)
            message = f"cpuDetail {key} is no number of a CPU: it overwrites CPU 0"
            yield problem(CODE, SEVERITY, manifest, own, message, place=manifest.key(own))
    for fault in (*volcano_cpus.omitted(details), *volcano_cpus.numares(spec, details)):
        yield fault.problem(CODE, manifest)


def _negative(spec: dict[str, Any]) -> list[tuple[Path, str]]:
    return [
        (("spec", "cpuDetail", key, name), f"{name} of CPU {key} is {detail[name]}, below 0")
        for key, detail in (spec.get("cpuDetail") or {}).items()
        for name in _CPU
        if (detail.get(name) or 0) < 0
    ]


def _policies(manifest: Manifest, policies: dict[str, str]) -> Iterator[Problem]:
    from difflib import get_close_matches

    for name, value in policies.items():
        path: Path = ("spec", "policies", name)
        if name not in _POLICIES:
            near = get_close_matches(name, _POLICIES, 1, 0.6)
            message = f"policies.{name} has no effect"
            yield problem(CODE, SEVERITY, manifest, path, message, "", near[0] if near else "", manifest.key(path))
        elif value and value not in _POLICIES[name]:
            counts = "it counts as none" if name == "TopologyManagerPolicy" else "only static is placed by NUMA node"
            near = get_close_matches(value.lower(), _POLICIES[name], 1, 0.6)
            message = f'{name} "{value}" is no policy: {counts}'
            yield problem(CODE, SEVERITY, manifest, path, message, "", near[0] if near else "")


def _reserved(manifest: Manifest, reserved: dict[str, str]) -> Iterator[Problem]:
    """Of one entry that does not parse the scheduler drops all, with a line in its log."""
    for name, amount in reserved.items():
        path: Path = ("spec", "resReserved", name)
        because = "Volcano then reserves nothing"
        if name not in _RESERVABLE:
            message = f"cannot reserve {name}, only {', '.join(_RESERVABLE)}"
            yield problem(CODE, SEVERITY, manifest, path, message, because, "", manifest.key(path))
            continue
        try:
            negative = quantity(amount) < 0
        except ValueError:
            yield problem(CODE, SEVERITY, manifest, path, f"resReserved.{name} {amount} is no quantity", because)
            continue
        if negative:
            yield problem(CODE, SEVERITY, manifest, path, f"resReserved.{name} {amount} is below 0", because)
