"""Who holds what, from any text or message that says it: found by looking, never by a name.

    >>> recognise(b'{"policyName":"none","defaultCpuSet":"","checksum":1353318690}')
    ('cpu-manager-state',)
    >>> recognise(b"GPU0 \\t X ")
    ()

The formats are the rows of `BESIDE` (formats.py) with a module, whose `parse` gives HoldingRecords. A protobuf
message is known by its shape.
"""

from __future__ import annotations

from importlib import import_module

from gputopo.holdings import HoldingRecords
from gputopo.parsers.formats import BESIDE
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.protobuf_bytes import TAGS

OBJECTS = "kube-objects"
# Where a piece is that the kubelet's socket answered: an empty message is an answer, too, and only who asked knows
# to what, and of which version of the API it is.
_ANSWERS = {
    f"live: {version}{call}": (call, not version)
    for version in ("", "v1alpha1 ")
    for call in ("List", "GetAllocatableResources")
}


def recognise(data: bytes, where: str = "") -> tuple[str, ...]:
    """Ids of the formats of one text or message, in table order; empty when none is. `where`: of the piece.

    >>> recognise(b""), recognise(b"", "live: List")
    ((), ('podresources',))
    """
    if where in _ANSWERS or _is_message(data):
        return ("podresources",)
    return tuple(id for id, _ in _rows(data.decode("utf-8", "replace")))


def why_not_message(data: bytes) -> str | None:
    """For open_sources: "" for a protobuf message that is read here, `None` for bytes of which nothing is known."""
    return "" if _is_message(data) else None


def parse(data: bytes, where: str = "") -> tuple[HoldingRecords, ...]:
    """What all formats in one text or message say. Raises Unreadable where one of them is broken, or none is known."""
    if where in _ANSWERS or _is_message(data):
        from gputopo.parsers.podresources import parse_bytes

        call, of_v1 = _ANSWERS.get(where, (None, None))
        return parse_bytes(data, call, of_v1=of_v1)
    text = data.decode("utf-8", "replace")
    modules = dict.fromkeys(module for _, module in _rows(text))
    if not modules:
        raise Unreadable("nothing in it says who holds what")
    found: list[HoldingRecords] = []
    for module in modules:
        found += import_module(f"gputopo.parsers.{module}").parse(text)
    return tuple(found)


def _is_message(data: bytes) -> bool:
    if data[:1] not in TAGS:
        return False
    from gputopo.parsers.podresources import sniff_bytes

    return sniff_bytes(data)


def _rows(text: str) -> list[tuple[str, str]]:
    """(id, module) of each format that a text holds."""
    chance = [row for row in BESIDE if row.module and any(needle in text for needle in row.needles)]
    sniffed = {
        module: import_module(f"gputopo.parsers.{module}").sniff(text)
        for module in dict.fromkeys(row.module for row in chance)
    }
    found = [(row.id, row.module) for row in chance if row.module and sniffed[row.module]]
    # A Kubernetes object is nothing else, whatever words an annotation or a command in it holds.
    return [one for one in found if one[0] == OBJECTS] or found
