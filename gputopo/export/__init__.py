"""Configuration of other systems, made from what is known of a node: a format a file, node → text.

A file holds what the evidence holds. Where a format cannot do without a value that the evidence lacks, the
export is refused (missing.py); an optional key is left out, and a comment says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gputopo.topology.node import NodeTopology

FORMATS: tuple[str, ...] = ("nccl-xml", "gres.conf", "resourceslice", "koordinator", "nfd")


class Choices(NamedTuple):
    """What a person says beside the evidence."""

    node_name: str | None = None
    driver_version: str | None = None  # of NVIDIA's DRA driver
    threads_per_core: int | None = None


def export(node: NodeTopology, to: str, choices: Choices) -> str:
    """The text of one format of `FORMATS`. Raises GputopoError with exit code 3 where the evidence is too thin."""
    if choices.node_name is not None:
        node = node._replace(name=choices.node_name)
    if to == "nccl-xml":
        from gputopo.export.nccl_xml import text

        return text(node)
    if to == "gres.conf":
        from gputopo.export.gres_conf import text as gres

        return gres(node, choices.threads_per_core)
    if to == "resourceslice":
        from gputopo.export.resource_slice import text as resource_slice

        return resource_slice(node, choices.driver_version)
    if to == "koordinator":
        from gputopo.export.koordinator import text as koordinator

        return koordinator(node)
    from gputopo.export.nfd import text as nfd

    return nfd(node)
