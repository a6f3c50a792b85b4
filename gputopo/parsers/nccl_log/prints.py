"""Lines to prints: who says what. Several processes write into one file, also into one line.

    >>> said = []
    >>> prints = Prints(Gathered(), lambda thread, text, line: said.append((thread.process.speaker, text)),
    ...                 lambda thread, code, text, line: said.append((code, text)))
    >>> for n, line in enumerate((
    ...     "[1,0]<stdout>:node-a:10:11 [0] NCCL INFO Using network Socket",
    ...     "node-a:10:11 [0] NCCL INFO Trees [0] 1/-1node-a:12:13 [1] NCCL INFO Connected all trees",
    ...     "[2026-01-02 03:04:05] node-b:7:7 [0] misc/ibvwrap.cc:252 (wrap_ibv_reg) NCCL WARN Call failed",
    ...     "NCCL version 2.8.3+cuda11.0", "loss 0.3"), 1):
    ...     _ = prints.feed(n, line)
    >>> for one in said:
    ...     print(*one)
    Speaker(host='node-a', pid=10) Using network Socket
    Speaker(host='node-a', pid=10) Trees [0] 1/-1
    Speaker(host='node-a', pid=12) Connected all trees
    misc/ibvwrap.cc:252 Call failed
    Speaker(host=None, pid=None) NCCL version 2.8.3+cuda11.0

The prefix is `host:pid:tid [cudaDev] NCCL INFO`, on a WARN with `file:line` and lately `(function)` before NCCL, and a
time before the host where NCCL_DEBUG_TIMESTAMP_LEVELS asks for it (NCCL src/debug.cc). Launchers and log viewers put
words in front. A print that another one is glued to ends where the host of the next begins; that a host is `node-a`,
not `-1node-a`, is known from lines that begin with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gputopo.parsers.nccl_log.gathered import Gathered, Thread

_HEAD = re.compile(
    r"(?<![\w.-])([\w.-]{1,255}):(\d{1,10}):(\d{1,10}) \[-?\d{1,5}\] (?:(\S{1,200}:\d+) (?:\([^)]{0,200}\) )?)?"
    r"NCCL (INFO|WARN) "
)
_BARE = re.compile(r"NCCL (?:INFO |WARN |(?=version \d))")
_CLEAN_BEFORE = " \t]|>:)},;'\""
_CACHE_MOST = 4_096
_HOSTS_MOST = 10_000

Info = Callable[[Thread, str, int], None]
Warn = Callable[[Thread, str, str, int], None]


class Prints:
    """Feeds prints to `info(thread, message, line)` and `warn(thread, file:line, message, line)`."""

    __slots__ = ("_cache", "_hosts", "_info", "_log", "_warn")

    def __init__(self, log: Gathered, info: Info, warn: Warn) -> None:
        self._log = log
        self._info = info
        self._warn = warn
        self._cache: dict[str, Thread] = {}  # by all that stands before NCCL
        self._hosts: dict[str, set[int]] = {}  # seen at a clean place, with their processes

    def feed(self, number: int, line: str) -> bool:
        """Whether a line holds a print of NCCL."""
        at = line.find("NCCL ")
        if at < 0:
            return False
        if line.find("NCCL ", at + 5) < 0:
            thread = self._cache.get(line[:at])
            if thread is not None and line.startswith("INFO ", at + 5):
                self._info(thread, line[at + 10 :], number)
                return True
            if line.startswith(("TRACE ", "CALL "), at + 5):
                return True
        return self._heads(number, line)

    def _heads(self, number: int, line: str) -> bool:
        heads = list(_HEAD.finditer(line))
        if not heads:
            return self._bare(number, line)
        starts = []
        threads = []
        for head in heads:
            host = self._host(line, head)
            starts.append(head.end(1) - len(host or head[1]))
            threads.append(self._log.thread(host, int(head[2]), int(head[3]), number))
        starts.append(len(line))
        for thread, head, end in zip(threads, heads, starts[1:]):
            text = line[head.end() : end]
            if head[5] == "WARN":
                self._warn(thread, head[4] or "", text, number)
            else:
                self._info(thread, text, number)
        if len(heads) == 1 and heads[0][5] == "INFO" and not heads[0][4]:
            if len(self._cache) >= _CACHE_MOST:
                self._cache.clear()
            self._cache[line[: heads[0].end() - 10]] = threads[0]
        return True

    def _bare(self, number: int, line: str) -> bool:
        """A print without its prefix: `NCCL version …` up to 2.29, or what somebody pasted."""
        match = _BARE.search(line)
        if match is None:
            return False
        thread = self._log.thread(None, None, None, number)
        if match[0] == "NCCL WARN ":
            self._warn(thread, "", line[match.end() :], number)
        elif match[0] == "NCCL INFO ":
            self._info(thread, line[match.end() :], number)
        else:
            self._info(thread, line[match.start() :], number)
        return True

    def _host(self, line: str, head: re.Match[str]) -> str | None:
        """The host of a prefix; None where another print is glued to it and none of the hosts seen fits."""
        host, pid = head[1], int(head[2])
        known = self._hosts.get(host)
        if known is not None:
            known.add(pid)
            return host
        ends = [one for one in self._hosts if host.endswith(one)] if len(self._hosts) < 100 else []
        sure = [one for one in ends if pid in self._hosts[one]]
        start = head.start(1)
        if sure:
            return max(sure, key=len)
        if start == 0 or line[start - 1] in _CLEAN_BEFORE:
            if len(self._hosts) < _HOSTS_MOST:
                self._hosts[host] = {pid}
            return host
        return max(ends, key=len) if ends else None
