"""An object of resource.k8s.io in another version of the API: v1beta1 has its fields in other places."""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.allocate.dra.fields import GROUP, VERSIONS
from gputopo.rules.manifests.asks import devices_path, value_at
from gputopo.rules.manifests.fixes.basic import without_basic
from gputopo.rules.manifests.fixes.exactly import under_exactly
from gputopo.terms.edits import Edit, Mend, joined
from gputopo.terms.manifest import Manifest


def in_version(manifest: Manifest, version: str) -> Mend:
    """The object in v1beta2 or v1."""
    said = manifest.object.body.get("apiVersion")
    old = said.removeprefix(f"{GROUP}/") if isinstance(said, str) else ""
    if old not in VERSIONS:
        return Mend((), f"{old} is older than what is read here: its fields may have changed")
    if version == "v1beta1":
        return Mend((), "v1beta1 has the fields of a request in other places")
    if manifest.node(("apiVersion",)) is None:
        return Mend((), "the version stands at the list that holds the object")
    start = len(GROUP) + 1
    named = manifest.rewrite(("apiVersion",), [Edit(start, start + len(old), version)])
    return joined([named, *_moves(manifest)])


def in_place(manifest: Manifest) -> Mend:
    """The fields of requests and devices where v1beta2 and v1 have them."""
    return joined(_moves(manifest))


def _moves(manifest: Manifest) -> Iterator[Mend]:
    of_claim = manifest.kind in ("ResourceClaim", "ResourceClaimTemplate")
    path = (*devices_path(manifest), "requests") if of_claim else ("spec", "devices")
    found = value_at(manifest, path)
    for place, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict):
            yield under_exactly(manifest, (*path, place)) if of_claim else without_basic(manifest, (*path, place))
