"""How much one text may say: a node of a thousand devices has half a million pairs, and strangers write texts too.

The largest nodes have some 100 GPUs and NICs. SR-IOV adds up to 256 virtual functions to each NIC, which say
little about how the node is wired, so they are left out first:

    >>> from gputopo.records import NicRecord
    >>> from gputopo.terms.pci_address import PciAddress
    >>> nic = NicRecord("nic0")
    >>> virtual = nic._replace(label="vf", virtual_function_of=PciAddress.parse("0000:3b:00.0"))
    >>> [node] = within_limits((NodeRecords("lspci-vvv", nics=(nic, *[virtual] * DEVICES_MOST), nics_complete=True),))
    >>> node.nics == (nic,), node.nics_complete, node.gaps[0].reason
    (True, False, '256 virtual functions of NICs are left out: more than 256 GPUs and NICs in one node')
    >>> within_limits((NodeRecords("lspci-vvv", nics=(nic,) * (DEVICES_MOST + 1)),))
    Traceback (most recent call last):
    gputopo.parsers.unreadable.Unreadable: ('257 GPUs and NICs in one node, more than 256 are not read', None, '')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, NodeRecords

NODES_MOST = 1_000  # outputs in one text
DEVICES_MOST = 256  # GPUs and NICs of one node
HITS_MOST = 100_000  # lines of one format in one text
LINES_MOST = 500_000
LINE_MOST = 16_384  # characters; a row of 256 devices has some 1,500

_Any = TypeVar("_Any")


def lines_of(text: str) -> list[str]:
    """The lines of a text; one longer than any tool prints is taken for empty. Raises Unreadable."""
    if text.count("\n") > LINES_MOST:
        raise Unreadable(f"more than {LINES_MOST:,} lines in one text", None, "give the part with the topology in it")
    lines = text.split("\n")
    if len(text) > LINE_MOST and max(map(len, lines)) > LINE_MOST:
        lines = [line if len(line) <= LINE_MOST else "" for line in lines]
    return lines


def at_most_hits(found: Iterable[_Any]) -> Iterator[_Any]:
    """The same, as long as they are no more than a text of real outputs has. Raises Unreadable."""
    for count, one in enumerate(found):
        if count == HITS_MOST:
            raise Unreadable(f"more than {HITS_MOST:,} lines of one format in one text", None, "give it in parts")
        yield one


def at_most_nodes(found: Sized, line: int | None = None) -> None:
    """Raises Unreadable where a text has more outputs than are read."""
    if len(found) > NODES_MOST:
        raise Unreadable(f"more than {NODES_MOST:,} outputs in one text", line, "give it in parts")


def within_limits(found: Sequence[NodeRecords]) -> tuple[NodeRecords, ...]:
    """The records, without virtual functions where they are too many. Raises Unreadable."""
    at_most_nodes(found)
    return tuple(_of_node(records) for records in found)


def _of_node(records: NodeRecords) -> NodeRecords:
    gpus, nics = len(records.gpus or ()), records.nics or ()
    if gpus + len(nics) <= DEVICES_MOST:
        return records
    physical = tuple(nic for nic in nics if nic.virtual_function_of is None)
    count = gpus + len(physical)
    if count > DEVICES_MOST:
        raise Unreadable(f"{count:,} GPUs and NICs in one node, more than {DEVICES_MOST} are not read")
    left_out = f"{len(nics) - len(physical):,} virtual functions of NICs are left out"
    gap = Gap((), "nics", f"{left_out}: more than {DEVICES_MOST} GPUs and NICs in one node")
    return records._replace(nics=physical, nics_complete=False, gaps=(*records.gaps, gap))
