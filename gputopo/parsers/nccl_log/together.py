"""Which files are one log: with NCCL_DEBUG_FILE=nccl.%h.%p each process of a job writes its own.

Files that name one communicator (`commId`, since 2.18) are one log. Before, or where the names are cut off, they are
one if each is of one process, all are of one host and one number of ranks, and together they hold every rank once: two
jobs do not share out their ranks like that. Everything else stays a log of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.parsers.nccl_log.gathered import Gathered, Part


def firsts(logs: Sequence[Gathered]) -> tuple[int, ...]:
    """For each file the position of the first file of its log.

    >>> from gputopo.nccl_records import Speaker
    >>> def file(pid, rank, id):
    ...     log = Gathered()
    ...     part = log.part(log.process(Speaker("node-a", pid), 1), 1)
    ...     part.rank, part.nranks, part.comm_id = rank, 2, id
    ...     return log
    >>> firsts([file(7, 0, "0x1f"), file(9, 0, "0x2f"), file(8, 1, "0x1f")])
    (0, 1, 0)
    >>> firsts([file(7, 0, None), file(8, 1, None)])
    (0, 0)
    >>> firsts([file(7, 0, None), file(8, 0, None)])  # rank 0 twice: two jobs
    (0, 1)
    """
    first = list(range(len(logs)))
    by_name: dict[tuple[str, int], int] = {}
    nameless: dict[tuple[str | None, int], list[int]] = {}
    for at, log in enumerate(logs):
        ranked = [part for part in log.parts if part.rank is not None and part.nranks is not None]
        names = {(part.comm_id, part.nranks) for part in ranked if part.comm_id is not None and part.nranks is not None}
        for name in names:
            _join(first, by_name.setdefault(name, at), at)
        if ranked and not names and (key := _one_process(ranked)) is not None:
            nameless.setdefault(key, []).append(at)
    for (_, nranks), files in nameless.items():
        ranks = [rank for at in files for rank in {part.rank for part in logs[at].parts} if rank is not None]
        if len(files) > 1 and sorted(ranks) == list(range(nranks)):
            for at in files[1:]:
                _join(first, files[0], at)
    return tuple(_root(first, at) for at in range(len(logs)))


def _one_process(parts: Sequence[Part]) -> tuple[str | None, int] | None:
    """(host, ranks) of a file that one process wrote, of whose communicators all have one size."""
    speakers = {part.speaker for part in parts}
    sizes = {part.nranks for part in parts}
    size = sizes.pop()
    return (speakers.pop().host, size) if len(speakers) == 1 and not sizes and size is not None else None


def _root(first: list[int], at: int) -> int:
    while first[at] != at:
        at = first[at]
    return at


def _join(first: list[int], a: int, b: int) -> None:
    a, b = sorted((_root(first, a), _root(first, b)))
    first[b] = a
