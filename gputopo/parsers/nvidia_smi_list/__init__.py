r"""`nvidia-smi -L` and `nvidia-smi --query-gpu=… --format=csv`: which GPUs there are, by index and UUID.

    >>> node, = parse('''GPU 0: NVIDIA H200 (UUID: GPU-00000000-4444-4000-8000-000000000000)
    ...   MIG 1g.18gb     Device  0: (UUID: MIG-00000000-4444-4000-8000-000000000000)
    ... GPU 1: NVIDIA H200 (UUID: GPU-00000000-4444-4000-8000-000000000001)
    ... ''')
    >>> [(gpu.label, gpu.name, len(gpu.mig)) for gpu in node.gpus]
    [('GPU0', 'NVIDIA H200', 1), ('GPU1', 'NVIDIA H200', 0)]
    >>> node, = parse('''index, name, pci.bus_id, pcie.link.gen.current, pcie.link.width.current
    ... 0, NVIDIA L4, 00000000:3B:00.0, 4, 8
    ... 1, NVIDIA L4, 00000000:AF:00.0, 1, 16
    ... ''')
    >>> [(gpu.label, str(gpu.pci), gpu.pcie.width) for gpu in node.gpus]
    [('GPU0', '0000:3b:00.0', 8), ('GPU1', '0000:af:00.0', 16)]

The GPU lines of `nvidia-smi nvlink` look like those of `-L`; they are left to that parser. Found by
running nvidia-smi 418.226, 470.256, 535.261 and 550.163 and in what people paste.
"""

from __future__ import annotations

import re

from gputopo.parsers.nvidia_smi_list.listing import FORMAT, GPU, read_listings
from gputopo.parsers.nvidia_smi_list.query import find_tables, read_queries
from gputopo.parsers.nvidia_smi_values import without_handle
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords

__all__ = ["FORMAT", "parse", "sniff"]

_BAD_FIELD = re.compile(r'Field "[^"\n]{1,80}" is not a valid field to query\.?')
_NO_DEVICE = re.compile(r"(?:^|\n)No devices found\.?[ \t]*(?:\n|\Z)")
_WORDS = ("(UUID: ", "(S/N: ", "uuid", "bus_id", "index, ", ", GPU-", ", 0000", "name, ")
_NEXT = "nvidia-smi --query-gpu=index,name,uuid,pci.bus_id --format=csv"


def sniff(text: str) -> bool:
    """Whether a text holds `-L`, an answer to `--query-gpu`, or nvidia-smi's reason for none."""
    if "is not a valid field to query" in text or "No devices found" in text:
        return bool(_BAD_FIELD.search(text) or _NO_DEVICE.search(text)) or _holds(text)
    return _holds(text)


def _holds(text: str) -> bool:
    if not any(word in text for word in _WORDS):
        return False
    lines = clean_lines(text)
    return (any(GPU.search(line) for line in lines if "GPU " in line) and bool(read_listings(lines))) or bool(
        read_queries(lines)
    )


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` an output, in the order of the text. Raises Unreadable."""
    lines = clean_lines(text)
    nodes = sorted([*read_listings(lines), *read_queries(lines)], key=lambda node: node.line)
    if not nodes:
        raise _nothing(text, lines)
    lost = without_handle(lines)
    if lost:
        nodes[0] = nodes[0]._replace(observations=nodes[0].observations + lost)
    return tuple(nodes)


def _nothing(text: str, lines: list[str]) -> Unreadable:
    refused = _BAD_FIELD.search(text)
    if refused:
        line = text.count("\n", 0, refused.start()) + 1
        return Unreadable(f"nvidia-smi answered no query but: {refused[0]}", line, f"leave that field out: {_NEXT}")
    none = _NO_DEVICE.search(text)
    if none:
        line = text.count("\n", 0, none.start() + 1) + 1
        return Unreadable("nvidia-smi printed: No devices found.", line, "check `lspci` and `dmesg | grep -i nvrm`")
    wanted = "no list of GPUs: looked for `GPU 0: NAME (UUID: …)` and for CSV with uuid or pci.bus_id"
    tables = find_tables(lines)
    if tables:
        return Unreadable(f"{wanted}; the CSV here names no GPU", tables[0].line, _NEXT)
    return Unreadable(wanted, None, _NEXT)
