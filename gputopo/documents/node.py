"""A node and what the rules said of it → the document of `inspect -o json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gputopo.documents import shape
from gputopo.documents.forms import record
from gputopo.rules.finding import Finding, NotChecked
from gputopo.topology.node import NodeTopology

Document = dict[str, Any]

_taken = record(dict, "Taken", *shape.TAKEN).encode
_body = record(NodeTopology, shape.KIND, *shape.BODY).encode


def encode(
    node: NodeTopology,
    findings: Sequence[Finding] = (),
    not_checked: Sequence[NotChecked] = (),
    *,
    provenance: bool = False,
) -> Document:
    """`kind: NodeTopology`. What is not known is `None`; `provenance` is for -v."""
    document = {
        "apiVersion": shape.API_VERSION,
        "kind": shape.KIND,
        "name": node.name,
        "taken": None if node.taken_at is None and node.boot_id is None else _taken(node),
        **_body(node),
        "findings": shape.findings.encode(findings),
        "notChecked": shape.not_checked.encode(not_checked),
    }
    if provenance:
        document["provenance"] = shape.PROVENANCE.form.encode(node.provenance)
    return document


def encode_list(items: Iterable[Document]) -> Document:
    """`kind: NodeTopologyList` of documents that `encode` made."""
    return {"apiVersion": shape.API_VERSION, "kind": shape.LIST_KIND, "items": list(items)}
