"""`diff` as blocks: which two, how their devices were told apart, one line a difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gputopo.reports.blocks import Block, Cell, Column, KeyValue, Row, Table, cell
from gputopo.reports.views.fields import bare, obvious, together
from gputopo.rules.wording import counted, listed, names

Document = Mapping[str, Any]
_BY = {
    "uuid": "GPUs by UUID",
    "pci": "devices by PCI address",
    "id": "devices as they are called",
    "shape": "devices by shape: what is wired alike is the same",
}


def blocks(document: Document, *, quiet: bool = False, exit_note: str | None = None) -> tuple[Block, ...]:
    made: list[Block] = []
    if not quiet:
        made += [KeyValue(side, (cell(_side(document[side])),)) for side in ("a", "b")]
        made.append(KeyValue("aligned", _aligned(document), role="dim"))
    made += list(_differences(document["differences"]))
    if not quiet and document["notCompared"]:
        fields = [one["field"] for one in document["notCompared"]]
        made.append(KeyValue("not known", (cell(f"on one side only: {', '.join(fields)}"),), role="dim"))
    if exit_note is not None:
        made.append(KeyValue("exit", (cell(exit_note),), role="dim"))
    return tuple(made)


def _side(side: Document) -> str:
    sources = list(dict.fromkeys(one["name"] for one in side["sources"]))
    told = listed(["stdin" if name == "-" else name for name in sources], 4)
    return f"{told}   {side['name']}" if side["name"] else told


def _aligned(document: Document) -> tuple[Cell, ...]:
    moved = sum(a != b for a, b in document["aligned"].items())
    renamed = f"{counted(moved, 'device')} under another name" if moved else "all under the same names"
    return cell(_BY[document["alignedBy"]]), cell(renamed)


def _differences(found: Sequence[Document]) -> Iterator[Block]:
    if not found:
        yield KeyValue("DIFFERENT", (cell("nothing"),))
        return
    yield KeyValue("DIFFERENT", (cell(counted(len(found), "difference"), "strong"),))
    rows = tuple(Row((cell(one.field, "strong"), cell(one.devices), cell(one.change))) for one in lines(found))
    yield Table("", (), (Column(), Column(), Column()), rows)


class Line(NamedTuple):
    """`devices`: "" where the field names them. `change`: `18 -> 17`."""

    field: str
    devices: str
    change: str


def lines(found: Sequence[Document]) -> Iterator[Line]:
    """Of the differences."""
    for group in _alike(found):
        change = f"{_value(group[0]['a'])} -> {_value(group[0]['b'])}"
        yield Line(together([one["field"] for one in group]), _who(group), change)


def _alike(found: Sequence[Document]) -> list[list[Document]]:
    """Devices that differ in the same way are one line."""
    groups: dict[str, list[Document]] = {}
    for one in found:
        groups.setdefault(repr((bare(one["field"]), one["a"], one["b"])), []).append(one)
    return list(groups.values())


def _who(group: Sequence[Document]) -> str:
    """The devices, where the field does not name them."""
    if all(obvious(one["field"], id) for one in group for id in one["subjects"]):
        return ""
    return names(id for one in group for id in one["subjects"])


def _value(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, dict):
        return _of_peers(value)
    if isinstance(value, list):
        return ", ".join(" x ".join(map(str, one)) if isinstance(one, list) else str(one) for one in value) or "none"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return str(value)


def _of_peers(value: Mapping[str, Any]) -> str:
    """`NODE to GPU0-GPU2, SYS to GPU3`."""
    groups: dict[str, list[str]] = {}
    for peer, said in value.items():
        groups.setdefault(str(said), []).append(peer)
    return ", ".join(f"{said} to {names(peers)}" for said, peers in groups.items())
