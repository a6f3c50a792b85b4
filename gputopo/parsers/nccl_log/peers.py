"""Lines of connections: `Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM`, and of rings.

    >>> seen = peer("0[e000] -> 1[13000] via P2P/IPC/read", 7)
    >>> seen.kind, seen.transport, seen.sender, seen.sender_device
    ('P2P', 'P2P/IPC/read', 0, 'e000')
    >>> seen = peer("15[7] -> 7[7] [receive] via NET/AWS Libfabric/11(5)/GDRDMA/Shared", 7)
    >>> seen.transport, seen.direction, seen.proxy, seen.gdr, seen.rank
    ('NET/AWS Libfabric/11', 'receive', 5, True, 7)
    >>> peer("3[4] -> 0[1] via SHM/direct/dirno", 7).kind, peer("3[4] -> 0[1] via P2P/CU", 7).whole
    ('SHM', False)
    >>> peer("3[4] -> 0[1", 7) is None
    True

P2P and SHM are printed by the sender, NET by both ends (NCCL src/transport/{p2p,shm,net}.cc).
"""

from __future__ import annotations

import re

_PEER = re.compile(
    r"\s*(\d{1,9})(?:\[(-?\w{1,16})\])? -> (\d{1,9})(?:\[(-?\w{1,16})\])? (?:\[(send|receive)\] )?via (.+)"
)
_P2P = re.compile(
    r"P2P/(?:direct pointer|common device|CUMEM|IPC|MNNVL|indirect/\d+\[\w+\])(?:/read)?(?:/CE)?(?![\w/])"
)
_SHM = re.compile(r"SHM/\w+(?:/\w+)?")
_NET = re.compile(r"(NET/[^/]{1,40}/\d+)(?:\((\d+)\))?(/GDRDMA)?")
_DIRECT_SHM = "direct shared memory"


class PeerSeen:
    """One connection and how often it was printed. `rank` is the rank that prints it."""

    __slots__ = (
        "direction", "gdr", "kind", "line", "prints", "proxy", "rank", "receiver", "receiver_device", "sender",
        "sender_device", "transport", "whole",
    )  # fmt: skip

    def __init__(self, match: re.Match[str], line: int) -> None:
        self.sender = int(match[1])
        self.receiver = int(match[3])
        self.sender_device: str | None = match[2]
        self.receiver_device: str | None = match[4]
        self.direction: str | None = match[5]
        self.rank = self.receiver if self.direction == "receive" else self.sender
        self.prints = 1
        self.line = line
        self.proxy: int | None = None
        self.gdr: bool | None = None
        self.whole = True
        self._transport(match[6])

    def _transport(self, text: str) -> None:
        if text.startswith("P2P"):
            found = _P2P.match(text)
            self.kind, self.whole = "P2P", found is not None
            self.transport = found[0] if found else _word(text)
        elif text.startswith(("SHM", _DIRECT_SHM)):
            found = _SHM.match(text)
            self.kind = "SHM"
            self.transport = found[0][:40] if found else text[: len(_DIRECT_SHM)]
        elif (found := _NET.match(text)) is not None:
            self.kind = "NET"
            self.transport = found[1]
            self.proxy = int(found[2]) if found[2] else None
            self.gdr = found[3] is not None
        else:
            self.kind, self.transport, self.whole = text[:3], _word(text), False


def _word(text: str) -> str:
    return text.partition(" ")[0][:40]


def peer(text: str, line: int) -> PeerSeen | None:
    """What stands behind `Channel 00/0 : `; None where it is no connection, or cut before its transport."""
    match = _PEER.match(text)
    return PeerSeen(match, line) if match is not None else None


def ring(head: str, text: str) -> tuple[tuple[int, ...], int] | None:
    """(ranks in order, number of channels) of `Channel 00/24` : `0 1 2 …`.

    >>> ring("Channel 19/24", "   0   1   3   2")
    ((0, 1, 3, 2), 24)
    >>> ring("Channel 00/0", "0[0] -> 1[1] via P2P/CUMEM") is None
    True
    """
    words = text.split()
    _, _, channels = head.partition("/")
    if not channels.strip().isdecimal() or not words or not all(word.isdecimal() for word in words):
        return None
    return tuple(int(word[:9]) for word in words), int(channels[:9])


def neighbours(text: str) -> tuple[int, int, int] | None:
    """(previous, rank, next) of `Ring 00 : 0 -> 1 -> 2`.

    >>> neighbours("0 -> 1 -> 2"), neighbours("1 -> 2 -")
    ((0, 1, 2), None)
    """
    words = text.split(" -> ")
    if len(words) != 3 or not all(word.strip().isdecimal() for word in words):
        return None
    return int(words[0][:9]), int(words[1][:9]), int(words[2][:9])
