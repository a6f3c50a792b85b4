"""Sources of `allocate` that are not the node: configurations, Kubernetes objects, the kubelet's state files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.evidence.piece import Piece
    from gputopo.parsers.kubelet_state import KubeletState

_LOOKED_AT = 4 << 20  # bytes; such files are small


class Named(NamedTuple):
    name: str
    text: str


class Sorted(NamedTuple):
    node: tuple[Piece, ...]  # what `inspect` would read
    plugin_configs: tuple[Named, ...] = ()
    kubelet_configs: tuple[Named, ...] = ()
    states: tuple[KubeletState, ...] = ()

    @property
    def kubelet_config(self) -> Named | None:
        """The one that is there. Raises GputopoError for several."""
        if len(self.kubelet_configs) > 1:
            names = " + ".join(one.name for one in self.kubelet_configs)
            raise GputopoError("two configurations of one kubelet", names, "give the one that is in force")
        return self.kubelet_configs[0] if self.kubelet_configs else None


def sort_out(pieces: Iterable[Piece]) -> Sorted:
    """Each source where it belongs, by looking at it. Raises GputopoError for a state file that is broken."""
    from gputopo.parsers import kubelet_config, kubelet_state, plugin_config
    from gputopo.parsers.unreadable import Unreadable

    node, plugins, kubelets = [], [], []
    states: list[KubeletState] = []
    for piece in pieces:
        data = piece.data or b""
        text = data.decode("utf-8", "replace") if 0 < len(data) <= _LOOKED_AT else ""
        where = ", ".join(part for part in (piece.name, piece.where) if part)
        try:
            if text and kubelet_state.sniff(text):
                states += kubelet_state.parse(text)
            elif text and kubelet_config.sniff(text):
                kubelets.append(Named(where, text))
            elif text and plugin_config.sniff(text):
                plugins.append(Named(where, text))
            else:
                node.append(piece)
        except Unreadable as error:
            raise GputopoError(error.what, where, error.hint) from error
    return Sorted(tuple(node), tuple(plugins), tuple(kubelets), tuple(states))
