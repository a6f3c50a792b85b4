"""Sources of `allocate` that are not the node: configurations, Kubernetes objects, the kubelet's state files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece
    from gputopo.parsers.kubelet_state import KubeletState
    from gputopo.terms.kube_object import KubeObject

_LOOKED_AT = 4 << 20  # bytes of a configuration or state file; these are small
_OBJECTS = 64 << 20  # bytes of a list of objects


class Named(NamedTuple):
    name: str
    text: str


class Sorted(NamedTuple):
    node: tuple[Piece, ...]  # what `inspect` would read
    plugin_configs: tuple[Named, ...] = ()
    kubelet_configs: tuple[Named, ...] = ()
    states: tuple[KubeletState, ...] = ()
    objects: tuple[KubeObject, ...] = ()

    @property
    def kubelet_config(self) -> Named | None:
        """The one that is there. Raises GputopoError for several."""
        if len(self.kubelet_configs) > 1:
            names = " + ".join(one.name for one in self.kubelet_configs)
            raise GputopoError("two configurations of one kubelet", names, "give the one that is in force")
        return self.kubelet_configs[0] if self.kubelet_configs else None

    def of(self, kind: str) -> tuple[KubeObject, ...]:
        return tuple(one for one in self.objects if one.kind == kind)


def sort_out(pieces: Iterable[Piece]) -> Sorted:
    """Each source where it belongs, by looking at it. Raises GputopoError for a file that is broken."""
    from gputopo.parsers import kubelet_config, kubelet_state, plugin_config
    from gputopo.parsers.kube_objects import looks_like
    from gputopo.parsers.unreadable import Unreadable

    node: list[Piece] = []
    plugins: list[Named] = []
    kubelets: list[Named] = []
    states: list[KubeletState] = []
    objects: list[KubeObject] = []
    for piece in pieces:
        data = piece.data or b""
        text = data.decode("utf-8", "replace") if 0 < len(data) <= _OBJECTS else ""
        small = text if len(data) <= _LOOKED_AT else ""
        where = ", ".join(part for part in (piece.name, piece.where) if part)
        if small and kubelet_state.sniff(small):
            try:
                states += kubelet_state.parse(small)
            except Unreadable as error:
                raise GputopoError(error.what, where, error.hint) from error
        elif small and kubelet_config.sniff(small) and not looks_like(small):
            kubelets.append(Named(where, small))  # the answer of /configz
        elif small and plugin_config.sniff(small) and not looks_like(small):
            plugins.append(Named(where, small))
        elif text and looks_like(text):
            found = read_objects(text, where)
            objects += found
            plugins += [_named(one, text, len(found), where) for one in found if _holds_plugin_config(one)]
            kubelets += [_named(one, text, len(found), where) for one in found if _holds_kubelet_config(one)]
        else:
            node.append(piece)
    return Sorted(tuple(node), tuple(plugins), tuple(kubelets), tuple(states), tuple(objects))


def _named(one: KubeObject, text: str, count: int, where: str) -> Named:
    """The text of one object: of a list, only its own."""
    if count == 1:
        return Named(where, text)
    import json

    return Named(one.where, json.dumps(one.body))


def _holds_plugin_config(one: KubeObject) -> bool:
    words = ("sharing:", "migStrategy", "flags:")
    return one.kind == "ClusterPolicy" or any(word in value for value in _values(one) for word in words)


def _holds_kubelet_config(one: KubeObject) -> bool:
    from gputopo.parsers.kubelet_config import KIND

    return one.kind == KIND or any(KIND in value for value in _values(one))


def _values(one: KubeObject) -> list[str]:
    data = one.body.get("data") if one.kind == "ConfigMap" else None
    return [value for value in data.values() if isinstance(value, str)] if isinstance(data, dict) else []


def read_objects(text: str, name: str) -> tuple[KubeObject, ...]:
    """Raises GputopoError."""
    from gputopo.parsers.kube_objects import read
    from gputopo.parsers.unreadable import Unreadable

    try:
        return tuple(one._replace(where=f"{name}:{one.where.removeprefix('line ')}") for one in read(text))
    except Unreadable as error:
        place = f"{name}:{error.line}" if error.line else name
        raise GputopoError(error.what, place, error.hint) from None
