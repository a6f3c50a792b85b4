r"""The lines of a job's log, one at a time: colours off, of bounded length, progress bars undone.

>>> clean("\x1b[36m(Worker pid=7)\x1b[0m node-a:7:7 [0] NCCL INFO Bootstrap\r\n")
'(Worker pid=7) node-a:7:7 [0] NCCL INFO Bootstrap'
>>> clean(" 12%|#   | 1/8\r 25%|##  | 2/8 node-a:7:7 [0] NCCL INFO x\n")
' 12%|#   | 1/8  25%|##  | 2/8 node-a:7:7 [0] NCCL INFO x'
"""

from __future__ import annotations

from gputopo.parsers.pasted_text import without_colours

LINE_MOST = 65_536  # characters; NCCL prints at most 1,024 at a time, several prints can stand in one line


def clean(line: str) -> str:
    """One line without its end, colour codes and carriage returns."""
    line = line.rstrip("\r\n")
    if len(line) > LINE_MOST:
        line = line[:LINE_MOST]
    if "\x1b" in line or "\ufffd[" in line:
        line = without_colours(line)
    if "\r" in line:
        line = line.replace("\r", " ")
    return line
