"""What a job's log says of the job: the words between parsers and the rules that judge jobs.

The counterpart of records.py and holdings.py. `JobLog` is all that one log holds: what NCCL printed (nccl_records.py;
one `NcclJob` for each job whose lines are mixed in it), tables of nccl-tests, and what frameworks say of ranks and
devices. `None` means that the log does not say it; nothing is guessed, repaired or compared here.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.nccl_records import EnvRecord, NcclJob
from gputopo.records import Gap


class BenchmarkRow(NamedTuple):
    """A row of nccl-tests: time in us, rates in GB/s; `None` where `N/A` is printed."""

    size: int  # bytes
    elements: int
    type: str
    redop: str
    root: int | None
    out_of_place: tuple[float | None, float | None, float | None]  # time, algbw, busbw
    in_place: tuple[float | None, float | None, float | None]
    wrong: int | None  # of both; None: not checked
    line: int


class BenchmarkRank(NamedTuple):
    rank: int
    host: str | None
    pid: int | None
    device: int  # CUDA device
    bus: str | None  # as printed: 0x1a, 0000:1a:00
    name: str | None
    line: int


class BenchmarkRecord(NamedTuple):
    """One run of nccl-tests."""

    test: str | None  # all_reduce_perf
    command: str | None
    version: str | None  # NCCL's
    ranks: tuple[BenchmarkRank, ...]
    rows: tuple[BenchmarkRow, ...]
    average: float | None  # `# Avg bus bandwidth`
    out_of_bounds: int | None
    failed: str | None  # its own error
    whole: bool  # its last line is there
    line: int


class SettingRecord(NamedTuple):
    """tensor_parallel, pipeline_, data_, context_, expert_parallel, world_size, per_node (processes), nodes."""

    name: str
    value: int
    line: int


class VisibleRecord(NamedTuple):
    """CUDA_VISIBLE_DEVICES: order matters, ids are indices, UUIDs or MIG ids."""

    devices: tuple[str, ...]
    by: str  # shell, framework, nccl
    local_rank: int | None = None
    line: int = 0


class RankPlaceRecord(NamedTuple):
    """A rank as a framework names it."""

    rank: int | None
    local_rank: int | None = None
    world_size: int | None = None
    tensor_rank: int | None = None
    pipeline_rank: int | None = None
    data_rank: int | None = None
    device: int | None = None  # in the process's view
    line: int = 0


class FrameworkRecord(NamedTuple):
    """What frameworks and launchers say in a job's log; `settings` that differ are all kept, in order."""

    frameworks: tuple[str, ...] = ()  # vllm, sglang, torchrun, deepspeed, megatron
    settings: tuple[SettingRecord, ...] = ()
    visible: tuple[VisibleRecord, ...] = ()
    device_order: str | None = None  # CUDA_DEVICE_ORDER
    places: tuple[RankPlaceRecord, ...] = ()
    env: tuple[EnvRecord, ...] = ()
    custom_allreduce_off: tuple[str, int] | None = None  # (why, line)
    gaps: tuple[Gap, ...] = ()

    def setting(self, name: str) -> int | None:
        """The one value of a setting; None where the log names none, or several."""
        values = {one.value for one in self.settings if one.name == name}
        return values.pop() if len(values) == 1 else None


class JobLog(NamedTuple):
    """All that one log says of jobs. Logs that are read together count their lines on: the first is `first`."""

    formats: tuple[str, ...]  # nccl-log, nccl-tests, job-log: those it holds
    nccl: tuple[NcclJob, ...] = ()
    benchmarks: tuple[BenchmarkRecord, ...] = ()
    framework: FrameworkRecord | None = None
    lines: int = 0
    gaps: tuple[Gap, ...] = ()
    first: int = 1
    part_of: int | None = None  # position of the log with which this one is one: that has the jobs of both
