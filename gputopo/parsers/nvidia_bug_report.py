"""`nvidia-bug-report.log`: the sections of NVIDIA's report, and what its head says of the system.

    >>> text = '''____________________________________________
    ...
    ... Start of NVIDIA bug report log file.  Please include this file, along
    ... with a detailed description of your problem, when reporting a graphics
    ...
    ... nvidia-bug-report.sh Version: 34275500
    ...
    ... Date: Tue Mar  4 10:11:12 UTC 2025
    ... uname: Linux node-a 6.8.0-45-generic #45-Ubuntu SMP x86_64 GNU/Linux
    ...
    ... ____________________________________________
    ...
    ... *** /proc/driver/nvidia/./version
    ... *** ls: -r--r--r-- 1 root root 0 2025-03-04 10:11:12.000000000 +0000 /proc/driver/nvidia/./version
    ... NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024
    ...
    ... ____________________________________________
    ...
    ... /usr/bin/nvidia-smi topo -m
    ...
    ... GPU0 X
    ... '''
    >>> [(section.line, section.title, section.text.strip()[:12]) for section in sections(text)][1:]
    [(15, '/proc/driver/nvidia/./version', 'NVRM version'), (20, '/usr/bin/nvidia-smi topo -m', 'GPU0 X')]
    >>> [node] = parse(text)
    >>> node.system.driver, node.system.kernel, node.whole
    ('550.90.07', '6.8.0-45-generic', False)

A line of 44 underscores opens a section: a file (`*** PATH`, then `*** ls:` and its content) or a command,
whose first line names it. The sections are other formats' texts; this reader keeps the system's facts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords, Observation, SystemRecord

_START = "Start of NVIDIA bug report log file"
_END = "End of NVIDIA bug report log file"
_RULE = re.compile(r"_{40,}\s*\Z")
_DRIVER = re.compile(
    r"NVRM version: NVIDIA UNIX[^\n]{0,80}?Kernel Module[^\n]{0,80}?\s(\d{2,4}\.\d{1,3}(?:\.\d{1,3})?)\s"
)
_UNAME = re.compile(r"^uname: Linux \S+ (\S+)", re.MULTILINE)
_HOST = re.compile(r"^uname: Linux (\S+) ", re.MULTILINE)
_DATE = re.compile(r"^Date: ([^\r\n]{1,80})", re.MULTILINE)
_VERSION = re.compile(r"^nvidia-bug-report\.sh Version: (\S{1,40})", re.MULTILINE)


class Section(NamedTuple):
    line: int  # where `text` begins in the report
    title: str  # a file's path, or the first line: a command
    text: str


def sniff(text: str) -> bool:
    """Whether the report's first sentence is in the text."""
    return _START in text


def sections(text: str) -> tuple[Section, ...]:
    """Every section, in order, with the line at which its content begins. What stands before the first rule is one."""
    found = []
    lines = text.split("\n")
    begin = 0
    for at in [*(at for at, line in enumerate(lines) if line[:1] == "_" and _RULE.match(line)), len(lines)]:
        section = _section(lines, begin, at)
        if section is not None:
            found.append(section)
        begin = at + 1
    return tuple(found)


def _section(lines: list[str], begin: int, end: int) -> Section | None:
    """Title and content between two rules; `*** ls:` is about the file, not in it."""
    while begin < end and not lines[begin].strip():
        begin += 1
    if begin >= end:
        return None
    title = lines[begin].strip()
    if title.startswith("*** "):
        title = title[4:].strip()
    begin += 1
    while begin < end and lines[begin].startswith("*** "):
        begin += 1
    return Section(begin + 1, title, "\n".join(lines[begin:end]))


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a report, with facts of the system only. Raises `Unreadable`."""
    starts = [match.start() for match in re.finditer(re.escape(_START), text)]
    if not starts:
        raise Unreadable(
            "no nvidia-bug-report in this text", hint="nvidia-bug-report.sh writes nvidia-bug-report.log.gz"
        )
    at_most_nodes(starts)
    ends = [*starts[1:], len(text)]
    return tuple(_node(text[start:end], text.count("\n", 0, start) + 1) for start, end in zip(starts, ends))


def _node(text: str, line: int) -> NodeRecords:
    version = _first(_VERSION, text)
    seen = Observation("nvidia-bug-report", (), f"nvidia-bug-report.sh version {version}", line)
    return NodeRecords(
        "nvidia-bug-report",
        line=line,
        whole=_END in text,
        system=SystemRecord(
            name=_first(_HOST, text),
            taken_at=_first(_DATE, text),
            kernel=_first(_UNAME, text),
            driver=_first(_DRIVER, text),
        ),
        observations=(seen,) if version else (),
    )


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match[1].strip() if match else None
