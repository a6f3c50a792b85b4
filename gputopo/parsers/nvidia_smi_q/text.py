"""The text of `nvidia-smi -q` → `PrintedLog`s. Sections are told by their indentation.

>>> log, = read_text(["Attached GPUs                             : 1", "GPU 00000000:18:00.0",
...                   "    MIG Mode", "        Current                           : Disabled"])
>>> log.head["attachedgpus"], log.gpus[0].address, log.gpus[0].get("migmode/current")
('1', '00000000:18:00.0', 'Disabled')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gputopo.parsers.limits import at_most_nodes
from gputopo.parsers.nvidia_smi_q.printed import PrintedGpu, PrintedLog, PrintedMig, plain
from gputopo.parsers.pasted_text import words_before

GPU_LINE = re.compile(r"(?<![\w:])GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])[ \t]*\Z")
LOG_LINE = "=NVSMI LOG="
_HEAD = frozenset(("timestamp", "driverversion", "cudaversion", "attachedgpus"))
_MIG_DEVICE = "migdevice"
_STARTS_A_GPU = frozenset(("productname", "gpuuuid"))


def read_text(lines: Sequence[str]) -> list[PrintedLog]:
    """Every output in a text, whole or cut."""
    reader = _Reader()
    flat = _is_flat(lines)
    for number, line in enumerate(lines, 1):
        reader.take(line, number, flat)
    return [log for log in reader.logs if log.gpus or log.head]


def _is_flat(lines: Sequence[str]) -> bool:
    """Whether the indentation was lost on the way: then a section lasts until the next one."""
    starts = [number for number, line in enumerate(lines) if GPU_LINE.search(line)]
    for start in starts[:1]:
        prefix = GPU_LINE.search(lines[start]).start()  # type: ignore[union-attr]
        below = [line for line in lines[start + 1 : start + 40] if " : " in line]
        return bool(below) and not any(line[prefix : prefix + 2].isspace() for line in below)
    return False


class _Reader:
    def __init__(self) -> None:
        self.logs: list[PrintedLog] = []
        self.gpu: PrintedGpu | None = None
        self.mig: PrintedMig | None = None
        self.sections: list[tuple[int, str]] = []
        self.prefix = ""

    def log(self, number: int, fresh: bool = False) -> PrintedLog:
        if fresh or not self.logs:
            self.logs.append(PrintedLog(number))
            at_most_nodes(self.logs, number)
            self.gpu = self.mig = None
            self.sections.clear()
        return self.logs[-1]

    def take(self, line: str, number: int, flat: bool) -> None:
        if LOG_LINE in line:
            self.log(number, fresh=True)
            self.prefix = line[: line.find("=")]
            return
        match = GPU_LINE.search(line) if "GPU " in line else None
        if match:
            self.prefix = line[: match.start()]
            self.start(match[1], number)
            return
        body = self.without_prefix(line)
        if not body.strip():
            return
        name, colon, value = body.partition(" : ")
        if not colon and body.rstrip().endswith(" :"):
            name, colon = body.rstrip()[:-2], ":"
        indent = len(name) - len(name.lstrip())
        name = name.strip()
        if colon:
            self.value(indent, name, value.strip(), number, flat)
        elif self.gpu is not None and (flat or indent):
            self.section(indent, name, flat)

    def without_prefix(self, line: str) -> str:
        """Without what a log puts before every line; only as long as it is the same but for times."""
        before = line[: len(self.prefix)]
        if self.prefix and words_before(before, len(before)) == words_before(self.prefix, len(self.prefix)):
            return line[len(self.prefix) :]
        return line

    def start(self, address: str | None, number: int) -> None:
        log = self.log(number)
        if any(gpu.address == address for gpu in log.gpus if address):
            log = self.log(number, fresh=True)
        self.gpu = PrintedGpu(address, number)
        self.mig = None
        self.sections.clear()
        log.gpus.append(self.gpu)

    def value(self, indent: int, name: str, value: str, number: int, flat: bool) -> None:
        key = plain(name)
        if key in _HEAD and (not indent or self.gpu is None):
            log = self.log(number)
            self.log(number, fresh=bool(log.gpus)).head.setdefault(key, value)
            return
        if key in _STARTS_A_GPU and (self.gpu is None or (self.gpu.address is None and self.gpu.has(key))):
            self.start(None, number)
        if self.gpu is None or (not indent and not flat and self.gpu.address is not None):
            return
        if not flat:
            self.leave(indent)
        section = [name for _, name in self.sections]
        if any(plain(one) == "processes" for one in section):
            return
        if self.mig is not None:
            self.mig.values.setdefault(key, value)
            if section and plain(section[-1]) == _MIG_DEVICE:
                return
            if not flat:
                return
        if key == "migdevices":  # "MIG Devices : None"
            self.gpu.mig = self.gpu.mig or []
        self.gpu.add(section, name, value, number)

    def section(self, indent: int, name: str, flat: bool) -> None:
        if flat:
            self.sections = []
        else:
            self.leave(indent)
        self.sections.append((indent, name))
        if self.gpu is not None and plain(name) == _MIG_DEVICE:
            self.mig = PrintedMig()
            self.gpu.mig = [*(self.gpu.mig or []), self.mig]
        elif not any(plain(one) == _MIG_DEVICE for _, one in self.sections):
            self.mig = None

    def leave(self, indent: int) -> None:
        while self.sections and self.sections[-1][0] >= indent:
            _, name = self.sections.pop()
            if plain(name) == _MIG_DEVICE:
                self.mig = None
