"""What a print says of a communicator: init, rings, trees, channels, searched graphs, the printed system.

    >>> from gputopo.nccl_records import Speaker
    >>> from gputopo.parsers.nccl_log.gathered import Gathered
    >>> log = Gathered()
    >>> thread = log.thread("node-a", 7, 7, 1)
    >>> for line, text in enumerate((
    ...     "comm 0x5b rank 0 nRanks 8 nNodes 1 localRanks 8 localRank 0 MNNVL 0",
    ...     "Channel 00/32 : 0 1 2 3 4 5 6 7",
    ...     "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer",
    ...     "ncclCommInitRank comm 0x5b rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 51000 commId 0x1f - Init COMPLETE",
    ... ), 1):
    ...     hear(thread, text, line)
    >>> part = log.parts[0]
    >>> part.rank, part.nranks, part.nodes, str(part.pci), part.comm_id, part.counts[0].nvls, part.complete
    (0, 8, 1, '0000:51:00.0', '0x1f', 0, 4)

The first word of a print decides who reads it. Formats: NCCL src/init.cc, src/graph/{topo,search,connect}.cc at the
tags v2.4.8-1 to v2.30.7-1.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gputopo.nccl_records import CountsRecord, SearchRecord
from gputopo.parsers.nccl_log import process_messages
from gputopo.parsers.nccl_log.gathered import Part, Thread
from gputopo.parsers.nccl_log.peers import neighbours, peer, ring
from gputopo.parsers.nccl_log.system import SystemPrint, bus_id

TAIL_MOST = 400  # characters of a line of a connection
ORDERS_MOST = 128  # channels of one searched graph; NCCL has 64 at most
_COUNTS_MOST = 64  # of one rank
_COMM = re.compile(r"\bcomm (0x[0-9a-f]{1,16}|\(nil\)) rank (\d{1,9}) n[rR]anks (\d{1,9})( .*)")
# A number at the end may be cut, and half a bus id is another GPU's; only MNNVL stands there by right.
_AFTER = re.compile(
    r"\b(?:(cudaDev|nvmlDev|busId|commId|nNodes|localRanks|localRank) (?:0x)?([0-9a-fA-F]{1,16}) |(MNNVL) ([01])\b)"
)
_COUNTS = re.compile(
    r"(\d+) coll channels,(?: (\d+) collnet channels,)?(?: (\d+) nvls channels,)? (\d+) p2p channels"
    r"(?:, (\d+) p2p channels per peer)?"
)
_TREES = re.compile(r"\[(\d{1,4})\]")
_PATTERN = re.compile(
    r"Pattern (\d+), crossNic (\d+), nChannels (\d+), (?:bw|speed) (\d+\.\d+|\d+)/(\d+\.\d+|\d+), type (\w+)/(\w+), "
    r"sameChannels (\d+)"
)
_FALLBACK = re.compile(r"Could not find a path for pattern (\d+)")
_NVLS = re.compile(r"NVLS multicast support is (not )?available on dev -?\d+(?: \(NVLS_NCHANNELS (\d+)\))?")
_PATHS = re.compile(r"(?:GPU|NET)/[0-9a-fA-F-]{1,40} ?:[A-Z]{3}/")
_P2P_TYPE = re.compile(r"Check P2P Type isAllDirectP2p (\d)(?: directMode \d)?(?: isAllCudaP2p (\d))?")


def hear(thread: Thread, text: str, line: int) -> None:
    """One INFO print."""
    word = text.lstrip(" ").partition(" ")[0]
    hearer = _BY_WORD.get(word) or _BY_HEAD.get(word.partition("/")[0])
    if hearer is not None:
        hearer(thread, text, line)
    elif word.isdecimal():
        _number(thread, text, line)
    elif word.startswith(("ncclComm", "[Rank")):
        _comm(thread, text, line)
    elif word.startswith("====="):
        _system_line(thread, text, line)
    else:
        process_messages.hear(thread.process, word, text, line)


def _comm(thread: Thread, text: str, line: int) -> None:
    match = _COMM.search(text)
    if match is None:
        return
    pointer, rank, nranks, rest = match[1], int(match[2]), int(match[3]), match[4]
    if "estroy" in rest or "bort" in rest or "evoke" in rest:
        return
    part = thread.part
    complete = "Init COMPLETE" in rest
    if part is not None and part.pointer not in (None, pointer):
        part = None  # another communicator
    if part is None or ("Init START" in rest and part.peers):
        part = thread.log.part(thread.process, line)
        thread.turn(part)
    part.pointer, part.rank, part.nranks = pointer, rank, nranks
    for match in _AFTER.finditer(rest):
        _AFTER_RANK[match[1] or match[3]](part, match[2] or match[4])
    if "Init START" in rest:
        part.started = line
    if complete:
        part.complete = line
        thread.turn(None)  # what follows may be of any communicator of the process


def _bus(part: Part, value: str) -> None:
    part.pci = bus_id(int(value, 16))


def _set(name: str) -> Callable[[Part, str], None]:
    def put(part: Part, value: str) -> None:
        if value.isdecimal():
            setattr(part, name, int(value))

    return put


def _id(part: Part, value: str) -> None:
    part.comm_id = "0x" + value.lower()


_AFTER_RANK: dict[str, Callable[[Part, str], None]] = {
    "cudaDev": _set("cuda_device"), "nvmlDev": _set("nvml_index"), "busId": _bus, "commId": _id,
    "nNodes": _set("nodes"), "localRanks": _set("local_ranks"), "localRank": _set("local_rank"),
    "MNNVL": _set("mnnvl"),
}  # fmt: skip


def _channel(thread: Thread, text: str, line: int) -> None:
    head, _, tail = text.partition(" : ")
    part = thread.part or thread.open(line)
    peers = part.peers
    seen = peers.get(tail)
    if seen is not None:
        seen.prints += 1
    elif tail not in peers:
        _new_channel(part, head, tail, line)


def _new_channel(part: Part, head: str, tail: str, line: int) -> None:
    if not tail and (at := head.find(" :")) > 0:  # `Channel 00/02 :    0   1`
        head, tail = head[:at], head[at + 2 :]
    if (order := ring(head, tail)) is not None:
        if order[0] not in part.rings and part.process.room.take(len(tail) * 8):
            part.rings[order[0]] = (order[1], line)
        if len(tail) < TAIL_MOST:
            part.peers[tail] = None
        return
    if not part.process.room.take():
        return
    tail = tail[:TAIL_MOST]
    if (found := peer(tail, line)) is not None:
        part.peers[tail] = found
        if not found.whole:
            _cut(part, line)
    elif head.startswith("Ring") and (three := neighbours(tail)) is not None:
        number = head[4:].strip()
        if number.isdecimal():
            part.neighbours.setdefault((int(number[:9]), three[1]), (three[0], three[2]))
    elif "COLLNET" not in tail:
        _cut(part, line)


def _cut(part: Part, line: int) -> None:
    part.cut += 1
    part.cut_line = part.cut_line or line


def _trees(thread: Thread, text: str, line: int) -> None:
    found = [int(number) for number in _TREES.findall(text)]
    if found:
        part = thread.open(line)
        part.trees = max(part.trees or 0, max(found) + 1)


def _number(thread: Thread, text: str, line: int) -> None:
    """A print that begins with a number: the counts, or a channel of a searched graph."""
    if thread.search is not None and " : " in text:
        order = tuple(text.partition(" : ")[2].split())
        if len(thread.search.orders) < min(thread.search.channels, ORDERS_MOST):
            thread.search = thread.search._replace(orders=(*thread.search.orders, order))
        return
    match = _COUNTS.search(text)
    if match is None:
        return
    coll, collnet, nvls, p2p, per_peer = (int(one[:9]) if one else None for one in match.groups())
    counts = CountsRecord(coll or 0, collnet, nvls, p2p or 0, per_peer, line)
    part = thread.open(line)
    if len(part.counts) < _COUNTS_MOST:
        part.counts.append(counts)


def _pattern(thread: Thread, text: str, line: int) -> None:
    thread.end_search()
    match = _PATTERN.search(text)
    if match is None:
        _cut(thread.open(line), line)
        return
    pattern, cross, channels = (int(match[n][:9]) for n in (1, 2, 3))
    intra, inter = float(match[4]), float(match[5])
    thread.search = SearchRecord(
        pattern, cross, channels, intra, inter, match[6], match[7], int(match[8][:9]), line=line
    )
    thread.open(line)


def _could(thread: Thread, text: str, line: int) -> None:
    match = _FALLBACK.search(text)
    if match is not None:
        thread.open(line).fallbacks.setdefault(int(match[1][:9]), line)


def _nvls(thread: Thread, text: str, line: int) -> None:
    match = _NVLS.search(text)
    if match is not None:
        part = thread.open(line)
        part.nvls = match[1] is None
        part.nvls_channels = int(match[2][:9]) if match[2] else None


def _check(thread: Thread, text: str, line: int) -> None:
    match = _P2P_TYPE.search(text)
    if match is not None:
        part = thread.open(line)
        part.all_direct_p2p = int(match[1])
        part.all_cuda_p2p = int(match[2]) if match[2] else None


def _system(thread: Thread, text: str, line: int) -> None:
    if "System" in text:
        thread.open(line)
        thread.end_system()
        thread.end_search()
        thread.system = SystemPrint(text, line)


def _system_line(thread: Thread, text: str, line: int) -> None:
    if thread.system is not None and not thread.system.ended:
        thread.system.add(text, line)


def _node(thread: Thread, text: str, line: int) -> None:
    """A print that begins with GPU or NET: paths of the printed system, else what a process says."""
    if _PATHS.match(text) is None:
        process_messages.hear(thread.process, text[:3], text, line)
    elif thread.system is not None:
        thread.system.add_paths(text)


def _not_heard(thread: Thread, text: str, line: int) -> None:
    """Prints of no use here, of which a long log holds many."""


_BY_WORD: dict[str, Callable[[Thread, str, int], None]] = {
    "Channel": _channel, "Ring": _channel, "Trees": _trees, "comm": _comm, "Pattern": _pattern, "Could": _could,
    "NVLS": _nvls, "Check": _check, "===": _system, "+": _system_line, "AllReduce:": _not_heard,
    "AllGather:": _not_heard, "ReduceScatter:": _not_heard, "Broadcast:": _not_heard, "Send:": _not_heard,
    "Recv:": _not_heard, "New": _not_heard, "MMAP": _not_heard, "Connected": _not_heard,
}  # fmt: skip
_BY_HEAD: dict[str, Callable[[Thread, str, int], None]] = {"CPU": _system_line, "GPU": _node, "NET": _node}
