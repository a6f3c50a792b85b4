"""NCCL's log (`NCCL_DEBUG=INFO`), 2.4 to 2.32: who talks to whom over what, which GPUs the ranks have, what failed.

    >>> [job] = parse('''node-a:7:9 [0] NCCL INFO NCCL version 2.27.3+cuda12.9
    ... node-a:7:9 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1
    ... node-a:7:9 [0] NCCL INFO ncclCommInitRank comm 0x5b rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 2d000 commId 0x1f - Init START
    ... node-a:8:10 [1] NCCL INFO ncclCommInitRank comm 0x6b rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 44000 commId 0x1f - Init START
    ... node-a:7:9 [0] NCCL INFO Channel 00/02 : 0 1
    ... node-a:7:9 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
    ... node-a:8:10 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct
    ... node-a:7:9 [0] NCCL INFO 2 coll channels, 2 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
    ... node-a:7:9 [0] NCCL INFO ncclCommInitRank comm 0x5b rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 2d000 commId 0x1f - Init COMPLETE
    ... node-a:8:10 [1] NCCL INFO ncclCommInitRank comm 0x6b rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 44000 commId 0x1f - Init COMPLETE
    ... '''.splitlines())
    >>> job.version, job.whole, [(one.name, one.value) for one in job.env]
    ('2.27.3', True, [('NCCL_P2P_DISABLE', '1')])
    >>> [world] = job.communicators
    >>> [(one.rank, str(one.pci), one.speaker.pid) for one in world.ranks]
    [(0, '0000:2d:00.0', 7), (1, '0000:44:00.0', 8)]
    >>> [(one.sender, one.receiver, one.kind) for one in world.peers], world.rings[0].channels, world.counts[0].coll
    ([(0, 1, 'SHM'), (1, 0, 'SHM')], 2, 2)

A log is read once, line by line, in memory that does not grow with it. Jobs that are mixed in one file are kept apart;
what is missing of a log is a gap of its job, never filled in.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.nccl_records import NcclJob
from gputopo.parsers.log_lines import clean
from gputopo.parsers.nccl_log import jobs, process_messages
from gputopo.parsers.nccl_log.gathered import Gathered, Room, Thread
from gputopo.parsers.nccl_log.messages import hear
from gputopo.parsers.nccl_log.prints import Prints

_SIGNS = ("NCCL INFO ", "NCCL WARN ", "NCCL version 2.")
_ERRORS = ("ncclInternalError", "ncclSystemError", "ncclUnhandledCudaError", "ncclRemoteError")


def sniff(text: str) -> bool:
    """Whether a print of NCCL is in a text."""
    return any(sign in text for sign in _SIGNS)


class Reader:
    """Takes the lines of a log; `jobs()` when they have ended."""

    __slots__ = ("_log", "_prints")

    def __init__(self, room: Room | None = None) -> None:
        self._log = Gathered(room)
        self._prints = Prints(self._log, hear, _warn)

    def feed(self, number: int, line: str) -> bool:
        """One cleaned line (log_lines.py); whether NCCL is in it."""
        if self._prints.feed(number, line):
            return True
        if "nccl" in line and any(word in line for word in _ERRORS):
            _warn(self._log.thread(None, None, None, number), "", line, number)
        return False

    def jobs(self) -> tuple[NcclJob, ...]:
        self._log.end()
        return jobs.jobs(self._log)


def parse(lines: Iterable[str]) -> tuple[NcclJob, ...]:
    """The jobs of a log; () where NCCL printed nothing."""
    reader = Reader()
    for number, line in enumerate(lines, 1):
        reader.feed(number, clean(line))
    return reader.jobs()


def one_log(readers: Sequence[Reader]) -> tuple[int, ...]:
    """For each reader the position of the one that has all of its log: its own, but of a log that ranks of one job
    wrote in several files the first, which takes what the others hold (together.py).
    """
    from gputopo.parsers.nccl_log.together import firsts

    logs = [one._log for one in readers]
    for log in logs:
        log.end()
    found = firsts(logs)
    for at, first in enumerate(found):
        if first != at:
            logs[first].absorb(logs[at])
    return found


def _warn(thread: Thread, code: str, text: str, line: int) -> None:
    process_messages.warn(thread.process, code, text, line)
