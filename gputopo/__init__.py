"""gputopo: how a GPU node is wired, from any evidence.

    nodes = gputopo.load("dump.txt")              # list[NodeTopology], one per node found
    node = gputopo.load_node("a.xml", "b.txt")    # several sources, one node
    gputopo.document(node)                        # the JSON document, findings included

Everything raises `gputopo.GputopoError` for bad input. Nothing heavy is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gputopo.errors import GputopoError
from gputopo.version import __version__

if TYPE_CHECKING:
    from gputopo.topology.node import NodeTopology

__all__ = ["GputopoError", "__version__", "document", "load", "load_node"]


def load(*sources: str, as_format: str | None = None) -> list[NodeTopology]:
    """The nodes that the sources (files, folders, archives, `sample:NAME`) speak of."""
    from gputopo.evidence.open import open_sources
    from gputopo.inspection import nodes
    from gputopo.parsers.recognise import why_unreadable

    pieces = open_sources([str(source) for source in sources], why_not=why_unreadable)
    return list(nodes(pieces, as_format=as_format))


def load_node(*sources: str, as_format: str | None = None) -> NodeTopology:
    """Several sources of one node. Raises GputopoError where they are not one."""
    found = load(*sources, as_format=as_format)
    if len(found) != 1:
        raise GputopoError(f"{len(found)} nodes found, one is wanted", " + ".join(map(str, sources)))
    return found[0]


def document(node: NodeTopology, *, provenance: bool = False) -> dict[str, Any]:
    """The `NodeTopology` document (CONTRACT: JSON) as a dict, findings included."""
    from gputopo.documents.node import encode
    from gputopo.rules.run import run

    findings, not_checked = run(node)
    return encode(node, findings, not_checked, provenance=provenance)
