"""What was measured: the bus bandwidth of an all-reduce, out of nccl-tests' tables.

The best of both columns over all sizes: small messages measure latency. Of several runs that of the job's number of
ranks, and where nobody says which GPUs the job has, that of the most.
"""

from __future__ import annotations

from collections.abc import Sequence

from gputopo.job_records import BenchmarkRecord


def best_busbw(run: BenchmarkRecord) -> float | None:
    """GB/s; the average where the rows are cut."""
    rates = [rate for row in run.rows for _, _, rate in (row.out_of_place, row.in_place) if rate is not None]
    return max(rates, default=run.average)


def measured(
    runs: Sequence[tuple[str, BenchmarkRecord]], ranks: int | None = None
) -> tuple[str, BenchmarkRecord, float] | None:
    """(source, run, GB/s) that counts for the job. Only all-reduce: other tests' bus bandwidth is another thing.

    `ranks`: of the job; a run of another number measures another set. A run whose ranks are cut off may be it.
    """
    found = None
    for source, run in runs:
        rate = best_busbw(run)
        if rate is None or run.test not in (None, "all_reduce_perf"):
            continue
        if ranks is not None and run.ranks and len(run.ranks) != ranks:
            continue
        if found is None or len(run.ranks) >= len(found[1].ranks):
            found = (source, run, rate)
    return found
