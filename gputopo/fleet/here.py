"""The map of a fleet in processes of this machine: the answers come as they are ready, in any order.

A process that ends (out of memory, by a file that kills it) is replaced; what it was reading is read again one by one,
and what ends a process once more is given up by name.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
Chunk = Sequence[T]
_AHEAD = 3  # chunks for each worker that wait or are being read: what is planned does not pile up


def in_turn(work: Callable[[Chunk[T]], R], chunks: Iterable[Chunk[T]]) -> Iterator[tuple[Chunk[T], R]]:
    """In this process."""
    for chunk in chunks:
        yield chunk, work(chunk)


def in_pool(
    work: Callable[[Chunk[T]], R], chunks: Iterable[Chunk[T]], workers: int, given_up: Callable[[T], R]
) -> Iterator[tuple[Chunk[T], R]]:
    """In so many processes. `given_up`: what stands for a thing that ends every process that reads it."""
    rest = iter(chunks)
    while True:
        broken: list[Chunk[T]] = []
        yield from _until_broken(work, rest, workers, broken)
        if not broken:
            return
        for chunk in broken:
            for one in chunk:
                yield from _alone(work, one, given_up)


def _until_broken(
    work: Callable[[Chunk[T]], R], rest: Iterator[Chunk[T]], workers: int, broken: list[Chunk[T]]
) -> Iterator[tuple[Chunk[T], R]]:
    pool = ProcessPoolExecutor(workers, initializer=_begin)
    waiting: dict[Future[R], Chunk[T]] = {}
    try:
        while True:
            while not broken and len(waiting) < workers * _AHEAD:
                chunk = next(rest, None)
                if chunk is None:
                    break
                try:
                    waiting[pool.submit(work, chunk)] = chunk
                except BrokenProcessPool:
                    broken.append(chunk)
            if not waiting:
                return
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                chunk = waiting.pop(future)
                try:
                    made = future.result()
                except BrokenProcessPool:
                    broken.append(chunk)
                    continue
                yield chunk, made
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _alone(work: Callable[[Chunk[T]], R], one: T, given_up: Callable[[T], R]) -> Iterator[tuple[Chunk[T], R]]:
    broken: list[Chunk[T]] = []
    yield from _until_broken(work, iter([[one]]), 1, broken)
    for chunk in broken:
        yield chunk, given_up(chunk[0])


def _begin() -> None:
    """In a new worker: Ctrl-C is the parent's matter, and each node is garbage soon."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.enable()


def chunked(things: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while chunk := list(islice(rest, size)):
        yield chunk
