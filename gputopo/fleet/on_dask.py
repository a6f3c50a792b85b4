"""The map of a fleet on a Dask cluster that exists: the same function, the same answers, in any order.

The scheduler gives what a lost worker was reading to another one. A thing that was with several workers when they
ended is read once more alone; if a worker ends by it again, it is given up by name. Files are opened where the
workers are: paths must be the same there (a shared file system), or be addresses of an object store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from gputopo.errors import GputopoError
from gputopo.fleet.here import Chunk

T = TypeVar("T")
R = TypeVar("R")
_AHEAD = 3  # chunks for each thread of the cluster


def in_cluster(
    work: Callable[[Chunk[T]], R], chunks: Iterable[Chunk[T]], scheduler: str, timeout: float,
    given_up: Callable[[T], R],
) -> Iterator[tuple[Chunk[T], R]]:  # fmt: skip
    """`scheduler`: `tcp://HOST:PORT`, or the path of a scheduler file. Raises GputopoError: no Dask, no cluster."""
    try:
        from distributed import as_completed
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise GputopoError(
            "--scheduler needs Dask, which is not installed", scheduler, "pip install 'gputopo[dask]'"
        ) from None
    client = _connect(scheduler, timeout)
    rest = iter(chunks)
    alone: list[Chunk[T]] = []
    try:
        open_chunks: dict[str, Chunk[T]] = {}

        def next_ones(number: int) -> list[Any]:
            found = []
            for chunk in islice(rest, number):
                future = client.submit(work, chunk, pure=False)
                open_chunks[future.key] = chunk
                found.append(future)
            return found

        first = next_ones(_AHEAD * _threads(client, timeout, scheduler))
        ready = as_completed(first, loop=client.loop)
        for future in ready:
            chunk = open_chunks.pop(future.key)
            error = future.exception()
            if isinstance(error, KilledWorker):
                alone += [[one] for one in chunk]
            elif error is not None:
                raise _broken(error, scheduler)
            else:
                yield chunk, future.result()
            future.release()
            for more in next_ones(1):
                ready.add(more)
        for chunk in alone:
            future = client.submit(work, chunk, pure=False)
            error = future.exception()
            if isinstance(error, KilledWorker):
                yield chunk, given_up(chunk[0])
            elif error is not None:
                raise _broken(error, scheduler)
            else:
                yield chunk, future.result()
    finally:
        client.close(timeout=timeout)


def _connect(scheduler: str, timeout: float) -> Any:
    from distributed import Client

    where = {"address": scheduler} if "://" in scheduler else {"scheduler_file": scheduler}
    try:
        return Client(**where, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:
        raise GputopoError("no Dask scheduler answers", scheduler, "dask scheduler --version; --timeout") from error


def _threads(client: Any, timeout: float, scheduler: str) -> int:
    """Of all workers; waits for the first."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except (OSError, TimeoutError) as error:
        raise GputopoError("this Dask cluster has no workers", scheduler, "dask worker ADDRESS") from error
    return sum(client.nthreads().values()) or 1


def _broken(error: BaseException, scheduler: str) -> GputopoError:
    """Not of a file: those are caught where they are read."""
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return GputopoError(f"a worker cannot do it: {what}", scheduler, "every worker needs the same gputopo")
