"""Runs the rules that know a manifest's kind over it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.rules.codes import MODULES, is_manifest_rule
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.terms.manifest import Manifest

_GROUPS = {"ClusterPolicy": "nvidia.com/"}  # Kyverno has the kind too


class ManifestRule(Protocol):
    CODE: str
    SEVERITY: str
    KINDS: tuple[str, ...]

    def check(self, manifest: Manifest, context: Context) -> Iterator[Problem]: ...


def rules() -> tuple[ManifestRule, ...]:
    return tuple(
        cast(ManifestRule, import_module(f"gputopo.rules.{MODULES[code]}"))
        for code in MODULES
        if is_manifest_rule(code)
    )


def known_kinds() -> frozenset[str]:
    return frozenset(kind for rule in rules() for kind in rule.KINDS)


def run(
    manifests: Iterable[Manifest], context: Context, select: Collection[str] = (), ignore: Collection[str] = ()
) -> tuple[Problem, ...]:
    """By place, the worse first where several are at one. `select` and `ignore` hold codes; none selected: all."""
    by_kind: dict[str, list[ManifestRule]] = {}
    for rule in rules():
        if (not select or rule.CODE in select) and rule.CODE not in ignore:
            for kind in rule.KINDS:
                by_kind.setdefault(kind, []).append(rule)
    found = [
        one
        for manifest in manifests
        for rule in by_kind.get(kind_of(manifest), ())
        for one in rule.check(manifest, context)
    ]
    return tuple(sorted(found, key=lambda one: (one.place, SEVERITIES.index(one.severity), one.rule, one.message)))


def kind_of(manifest: Manifest) -> str:
    """Of a file without a kind of Kubernetes what it holds: a CDI specification, the configuration of a kubelet, of the
    device plugin or of fake-gpu-operator."""
    if "cdiVersion" in manifest.object.body:
        return "CDISpec"
    if manifest.kind:
        group = manifest.object.body.get("apiVersion")
        theirs = isinstance(group, str) and not group.startswith(_GROUPS.get(manifest.kind, ""))
        return f"{manifest.kind} of {group}" if theirs else manifest.kind
    if "kubeletconfig" in manifest.object.body:
        return "KubeletConfiguration"
    fake = "nodePools" in manifest.object.body or "gpuProduct" in manifest.object.body
    return "FakeGpuTopology" if fake else "DevicePluginConfig"
