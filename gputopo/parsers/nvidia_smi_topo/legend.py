"""What stands around the rows: the echoed command, the legend, the NIC legend.

>>> lines = ["", "PIX  = at most a single PCIe bridge", "", "NIC0: mlx5_0    NIC1: mlx5_bond_0  (rail 1)"]
>>> read_legend(list(enumerate(lines, 1)), {"NIC0", "NIC1"}, 0).devices
{'NIC0': 'mlx5_0', 'NIC1': 'mlx5_bond_0'}
>>> echoed_command(["# nvidia-smi topo -mp", "#"], 3)
'mp'
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gputopo.parsers.nvidia_smi_topo.find import LEGEND_SYMBOLS
from gputopo.parsers.nvidia_smi_topo.header import is_whole_name

_NIC = re.compile(r"(?<![\w.-])(NIC\d{1,4})\s*:\s*([A-Za-z][\w.\-]*\d[\w.\-]*)(?![\w:])")
_ECHO = re.compile(r"\btopo\s+(?:(-mp\b|--matrix_pci\b)|(-m\b|--matrix\b))")
_TOPO = re.compile(r"\btopo\s+-")
# How far behind the rows an entry without its caption is still taken for one.
_NEAR = 16
_FAR_BEFORE = 12


class Legend(NamedTuple):
    symbols: tuple[str, ...]
    devices: dict[str, str]
    unsure: str = ""  # NIC whose name stands at the very end of an unterminated text


def echoed_command(lines: Sequence[str], line: int) -> str | None:
    """The command whose output begins at `line`, when it was printed shortly before: `m`, `mp`."""
    for text in reversed(lines[max(0, line - 1 - _FAR_BEFORE) : line - 1]):
        if "topo" not in text:
            continue
        match = _ECHO.search(text)
        if match:
            return "mp" if match[1] else "m"
        if _TOPO.search(text):
            return None
    return None


def read_legend(lines: Sequence[tuple[int, str]], nics: Collection[str], unterminated: int) -> Legend:
    """The legend in the lines behind the rows. `nics`: labels that the matrix has."""
    symbols: list[str] = []
    devices: dict[str, str] = {}
    captioned = False
    unsure = ""
    for near, (number, text) in enumerate(lines):
        if "=" in text:
            symbol = _symbol(text)
            if symbol and symbol not in symbols and number != unterminated:
                symbols.append(symbol)
        elif "NIC" in text:
            if "NIC Legend" in text:
                captioned = True
            elif captioned or near < _NEAR:
                unsure = _entries(text, devices, number == unterminated)
    if not captioned or not set(nics) <= set(devices) or not nics:
        devices = {label: device for label, device in devices.items() if label in nics}
    return Legend(tuple(symbols), devices, unsure)


def _symbol(text: str) -> str | None:
    before = text.split("=", 1)[0].split()
    return before[-1] if before and before[-1] in LEGEND_SYMBOLS else None


def _entries(text: str, devices: dict[str, str], last: bool) -> str:
    """Takes the entries of a line; returns the label whose name may be cut by the end of the text."""
    found = _NIC.findall(text)
    for label, device in found:
        devices.setdefault(label, device)
    if not last or not found:
        return ""
    label, device = found[-1]
    if not text.endswith(device) or is_whole_name(device, list(devices.values())):
        return ""
    return str(label)


def is_whole_of_mp(symbols: Sequence[str]) -> bool:
    """Whether a legend is there from the first to the last line of `topo -mp`, which has no NV#."""
    return {"X", "SYS", "NODE", "PHB", "PXB", "PIX"} <= set(symbols) and "NV#" not in symbols
