"""nccl-tests (`all_reduce_perf` and its siblings): which GPUs, and how fast.

    >>> [run] = parse('''$ ./build/all_reduce_perf -b 4G -e 4G -g 2
    ... # nThread 1 nGpus 2 minBytes 4294967296 maxBytes 4294967296 step: 2(factor) warmup iters: 5 iters: 20
    ... # Using devices
    ... #  Rank  0 Group  0 Pid   2001 on     node-a device  0 [0x17] NVIDIA A100 80GB PCIe
    ... #  Rank  1 Group  0 Pid   2001 on     node-a device  1 [0x31] NVIDIA A100 80GB PCIe
    ... #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
    ...   4294967296    1073741824     float     sum      -1    20649  208.00  208.00      0    20649  207.00  207.00    N/A
    ... # Out of bounds values : 0 OK
    ... # Avg bus bandwidth    : 207.5'''.splitlines())
    >>> run.test, run.average, run.out_of_bounds, run.whole
    ('all_reduce_perf', 207.5, 0, True)
    >>> [(rank.rank, rank.host, rank.bus, rank.name) for rank in run.ranks][1]
    (1, 'node-a', '0x31', 'NVIDIA A100 80GB PCIe')
    >>> run.rows[0].out_of_place, run.rows[0].in_place, run.rows[0].wrong, bus_bandwidth(run)
    ((20649.0, 208.0, 208.0), (20649.0, 207.0, 207.0), 0, 207.5)

Old versions print no Group and no root, an error (`1e-06`) where `#wrong` stands today; in MPI runs every rank's line is
there. GB/s are 10^9 bytes per second. In the average small messages count as much as large ones.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.job_records import BenchmarkRank, BenchmarkRecord, BenchmarkRow
from gputopo.parsers.log_lines import clean

ROWS_MOST = 4_096
_ABSURD = 1e15  # no time in us and no rate is as large
RUNS_MOST = 1_000
_NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|N/A|nan|inf"
_ROW = re.compile(
    r"(?:^|[\s>:|\]])(\d{1,18})\s+(\d{1,18})\s+([a-z]\w{2,12})\s+([a-z]\w{2,12})"
    rf"((?:\s+(?:{_NUMBER})){{7,9}})\s*$"
)
_RANK = re.compile(
    r"#\s+Rank\s+(\d{1,7})(?: Group\s+\d+)? Pid\s+(\d{1,10}) on\s+(\S{1,255}) device\s+(\d{1,4}) "
    r"\[([\w:.]{1,20})\] (.{1,80})"
)
_WHOLE = re.compile(r"-?\d{1,9}")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s*:\s*([\d.]+)")
_BOUNDS = re.compile(r"# Out of bounds values\s*:\s*(\d+)")
_COMMAND = re.compile(r"\b([a-z]\w{2,30}_perf)(?:_mpi)?\b(?: -{1,2}\w|\s*$)")
_STARTING = re.compile(r"# Collective test (starting|concluded): (\w{3,40})")
_FAILED = re.compile(r"Test (?:NCCL|CUDA) failure \S+ '?[^']{0,200}|Test failure \S+:\d+")
_VERSION = re.compile(r"nccl-library=(\d+)")
_HEADER = ("# nThread ", "# nccl-tests version", "# Using devices")
_SIGNS = ("# Avg bus bandwidth", "# Out of bounds values", "# nThread ", "out-of-place", "# Collective test")


def sniff(text: str) -> bool:
    """Whether a text holds the output of a test, or a row of its table."""
    return any(sign in text for sign in _SIGNS) or any(
        _ROW.search(line[:400]) is not None for line in text.split("\n", 10_000) if " float " in line or " sum " in line
    )


class Reader:
    """Takes the lines of a log; `runs()` when they have ended."""

    __slots__ = ("_command", "_command_line", "_made", "_run")

    def __init__(self) -> None:
        self._made: list[BenchmarkRecord] = []
        self._run: _Run | None = None
        self._command: re.Match[str] | None = None
        self._command_line = 0

    def feed(self, number: int, line: str) -> bool:
        """One cleaned line; whether it is of a test."""
        if "#" in line and (at := line.find("# ")) >= 0:
            return self._comment(number, line[at:])
        if "_perf" in line and (command := _COMMAND.search(line)) is not None:
            self._end()
            self._command, self._command_line = command, number
            return True
        if line[-1:].isdigit() or line.endswith(("N/A", " ")):
            return self._row(number, line)
        if "Test " in line and (failed := _FAILED.search(line)) is not None:
            self._open(number).failed = failed[0]
            return True
        return False

    def _comment(self, number: int, line: str) -> bool:
        if (rank := _RANK.match(line)) is not None:
            ranks = self._open(number).ranks
            if len(ranks) < ROWS_MOST:
                ranks.append(_rank(rank, number))
        elif line.startswith(_HEADER):
            if self._run is not None and (self._run.rows or self._run.whole):
                self._end()
            run = self._open(number)
            if (version := _VERSION.search(line)) is not None:
                run.version = _spelled(int(version[1][:9]))
        elif (average := _AVERAGE.match(line)) is not None:
            run = self._open(number)
            run.average, run.whole = _number(average[1]), True
        elif (bounds := _BOUNDS.match(line)) is not None:
            self._open(number).bounds = int(bounds[1][:18])
        elif (test := _STARTING.match(line)) is not None:
            run = self._open(number)
            run.test = run.test or test[2]
            if test[1] == "concluded":
                self._end()
        else:
            return False
        return True

    def _row(self, number: int, line: str) -> bool:
        match = _ROW.search(line) if len(line) < 400 else None
        if match is None:
            return False
        if self._run is not None and self._run.whole:
            self._end()
        rows = self._open(number).rows
        if len(rows) < ROWS_MOST:
            rows.append(_row(match, number))
        return True

    def _open(self, number: int) -> _Run:
        if self._run is None:
            self._run = _Run(self._command, self._command_line or number)
            self._command, self._command_line = None, 0
        return self._run

    def _end(self) -> None:
        if self._run is not None and len(self._made) < RUNS_MOST:
            self._made.append(self._run.record())
        self._run = None

    def runs(self) -> tuple[BenchmarkRecord, ...]:
        self._end()
        return tuple(self._made)


class _Run:
    __slots__ = ("average", "bounds", "command", "failed", "line", "ranks", "rows", "test", "version", "whole")

    def __init__(self, command: re.Match[str] | None, line: int) -> None:
        self.test = command[1] if command else None
        self.command = _command(command) if command else None
        self.line = line
        self.version: str | None = None
        self.ranks: list[BenchmarkRank] = []
        self.rows: list[BenchmarkRow] = []
        self.average: float | None = None
        self.bounds: int | None = None
        self.failed: str | None = None
        self.whole = False

    def record(self) -> BenchmarkRecord:
        return BenchmarkRecord(
            self.test, self.command, self.version, tuple(self.ranks), tuple(self.rows), self.average, self.bounds,
            self.failed, self.whole, self.line,
        )  # fmt: skip


def _command(match: re.Match[str]) -> str:
    """From the program's path on."""
    return match.string[match.string.rfind(" ", 0, match.start()) + 1 :].strip()[:400]


def parse(lines: Iterable[str]) -> tuple[BenchmarkRecord, ...]:
    """The runs in a log, in order."""
    reader = Reader()
    for number, line in enumerate(lines, 1):
        reader.feed(number, clean(line))
    return reader.runs()


def bus_bandwidth(run: BenchmarkRecord) -> float | None:
    """GB/s: the average that is printed, else the mean of both bus bandwidths of the largest size."""
    if run.average is not None:
        return run.average
    largest = max(run.rows, key=lambda row: row.size, default=None)
    if largest is None:
        return None
    rates = [rate for rate in (largest.out_of_place[2], largest.in_place[2]) if rate is not None]
    return sum(rates) / len(rates) if rates else None


def _rank(match: re.Match[str], line: int) -> BenchmarkRank:
    return BenchmarkRank(int(match[1]), match[3], int(match[2]), int(match[4]), match[5], match[6].strip(), line)


def _row(match: re.Match[str], line: int) -> BenchmarkRow:
    """Behind redop: [root,] time, algbw, busbw, wrong, time, algbw, busbw[, wrong]; the last one is easily cut."""
    words = match[5].split()
    root = words.pop(0) if len(words) == 9 or (len(words) == 8 and words[0].startswith("-")) else None
    figures = [_number(one) for one in words]
    wrong = [int(one) for one in figures[3:4] + figures[7:8] if one is not None and one == int(one)]
    return BenchmarkRow(
        int(match[1]), int(match[2]), match[3], match[4], _root(root),
        (figures[0], figures[1], figures[2]), (figures[4], figures[5], figures[6]),
        sum(wrong) if wrong else None, line,
    )  # fmt: skip


def _root(text: str | None) -> int | None:
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def _number(text: str) -> float | None:
    if text in ("N/A", "nan", "inf"):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < _ABSURD else None


def _spelled(code: int) -> str:
    """22703 is 2.27.3 (ncclGetVersion; until 2.8 it was 2804)."""
    if code < 10_000:
        return f"{code // 1000}.{code % 1000 // 100}.{code % 100}"
    return f"{code // 10_000}.{code % 10_000 // 100}.{code % 100}"
