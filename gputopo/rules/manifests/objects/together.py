"""The manifests of one run, found by kind: a rule over many pods and nodes looks at each of the others once only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gputopo.rules.manifests.objects.node_parts import NodePart, node_part
from gputopo.rules.manifests.problem import Context
from gputopo.terms.kube_object import Body
from gputopo.terms.manifest import Manifest


class _Same:
    """A tuple of manifests that is equal to itself only; what it holds has no hash."""

    __slots__ = ("manifests",)

    def __init__(self, manifests: tuple[Manifest, ...]) -> None:
        self.manifests = manifests

    def __hash__(self) -> int:
        return id(self.manifests)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.manifests is self.manifests


def of_kind(context: Context, *kinds: str) -> tuple[Manifest, ...]:
    """A configuration without a kind is of kind ""."""
    found = _by_kind(_Same(context.together))
    return tuple(one for kind in kinds for one in found.get(kind, ()))


def by_kind(manifests: tuple[Manifest, ...]) -> Mapping[str, tuple[Manifest, ...]]:
    return _by_kind(_Same(manifests))


def nodes(context: Context) -> tuple[tuple[Manifest, NodePart], ...]:
    return _nodes(_Same(context.together))


def config_maps(context: Context) -> tuple[Body, ...]:
    """Each once, whether it is a manifest itself or others were read from it."""
    return _config_maps(_Same(context.together))


@lru_cache(maxsize=2)
def _by_kind(together: _Same) -> Mapping[str, tuple[Manifest, ...]]:
    found: dict[str, list[Manifest]] = {}
    for one in together.manifests:
        found.setdefault(one.kind, []).append(one)
    return {kind: tuple(own) for kind, own in found.items()}


@lru_cache(maxsize=2)
def _nodes(together: _Same) -> tuple[tuple[Manifest, NodePart], ...]:
    found = ((one, node_part(one)) for one in _by_kind(together).get("Node", ()))
    return tuple((one, node) for one, node in found if node is not None)


@lru_cache(maxsize=2)
def _config_maps(together: _Same) -> tuple[Body, ...]:
    bodies = [one.outer[0].object.body if one.outer is not None else one.object.body for one in together.manifests]
    return tuple({id(body): body for body in bodies if body.get("kind") == "ConfigMap"}.values())
