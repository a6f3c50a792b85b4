"""`kind: Diff`: what differs between two nodes, or between two times of one.

a, b: name and sources of each node
alignedBy: uuid | pci | shape | id: how it was known which device is which
aligned: id in a → id in b, of the devices, NUMA nodes and packages that have a partner
differences[]: field (of the document of a; of b for what only b has), subjects (ids there), a, b (null: absent)
notCompared[]: fields that one of the two does not know, and how many values
"""

from __future__ import annotations

from typing import Any, NamedTuple

from gputopo.checks.align import Alignment
from gputopo.checks.differences import Compared, Difference
from gputopo.documents import shape
from gputopo.documents.forms import Field, Schema, anything, choice, document_schema, many, mapping, record, text, whole
from gputopo.topology.node import NodeTopology

KIND = "Diff"


class _NotCompared(NamedTuple):
    field: str
    values: int


_side = record(dict, "DiffSide", Field("name", shape.node_name.form), Field("sources", shape.sources))
_difference = record(
    Difference, "Difference",
    Field("field", text), Field("subjects", many(text)), Field("a", anything), Field("b", anything),
)  # fmt: skip
_not_compared = record(_NotCompared, "DiffNotCompared", Field("field", text), Field("values", whole))
_FIELDS = (
    ("a", _side), ("b", _side), ("alignedBy", choice("uuid", "pci", "shape", "id")), ("aligned", mapping(text)),
    ("differences", many(_difference)), ("notCompared", many(_not_compared)),
)  # fmt: skip


def encode(a: NodeTopology, b: NodeTopology, alignment: Alignment, compared: Compared) -> dict[str, Any]:
    values: dict[str, Any] = {
        "a": a, "b": b, "alignedBy": alignment.by, "aligned": alignment.mapping,
        "differences": compared.differences,
        "notCompared": tuple(_NotCompared(*one) for one in compared.not_compared.items()),
    }  # fmt: skip
    return {
        "apiVersion": shape.API_VERSION,
        "kind": KIND,
        **{name: form.encode(values[name]) for name, form in _FIELDS},
    }


def parts() -> tuple[Schema, dict[str, Schema]]:
    """The schema of a Diff and the definitions it refers to."""
    return document_schema(shape.API_VERSION, KIND, _FIELDS)
