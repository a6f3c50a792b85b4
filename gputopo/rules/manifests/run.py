"""Runs the rules that know a manifest's kind over it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from importlib import import_module
from typing import Protocol, cast

from gputopo.rules.codes import MODULES, is_manifest_rule
from gputopo.rules.finding import SEVERITIES
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.terms.manifest import Manifest


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
    found = [
        one
        for manifest in manifests
        for rule in rules()
        if kind_of(manifest) in rule.KINDS and (not select or rule.CODE in select) and rule.CODE not in ignore
        for one in rule.check(manifest, context)
    ]
    return tuple(sorted(found, key=lambda one: (one.place, SEVERITIES.index(one.severity), one.rule, one.message)))


def kind_of(manifest: Manifest) -> str:
    """Of a file without a kind what it holds: the configuration of a kubelet or of the device plugin."""
    if manifest.kind:
        return manifest.kind
    return "KubeletConfiguration" if "kubeletconfig" in manifest.object.body else "DevicePluginConfig"
