r"""`nvidia-smi nvlink -s`, `-c`, `-R` (and the error counters of `-e`): NVLinks by GPU.

    >>> node, = parse('''GPU 0: NVIDIA A40 (UUID: GPU-00000000-1111-4000-8000-000000000000)
    ... \t Link 0: 14.062 GB/s
    ... \t Link 1: <inactive>
    ... GPU 1: NVIDIA A40 (UUID: GPU-00000000-1111-4000-8000-000000000001)
    ... NVML: Unable to retrieve NVLink information as all links are inActive
    ... ''')
    >>> [(gpu.label, gpu.nvlinks_active, gpu.nvlinks_total) for gpu in node.gpus]
    [('GPU0', 1, 2), ('GPU1', 0, None)]
    >>> node.gpus[0].links[0]
    LinkRecord(number=0, state='active', gbps=14.062, remote=None, remote_kind=None, remote_link=None, times=1)
    >>> node, = parse('''GPU 0: NVIDIA A40 (UUID: GPU-00000000-1111-4000-8000-000000000000)
    ... \t Link 0: Remote Device 00000000:41:00.0: Link 2
    ... \t Link 1: Remote Device FFFFFFFF:FF:FF.0: Link 0
    ... ''')
    >>> [(str(link.remote), link.remote_link) for link in node.gpus[0].links]
    [('0000:41:00.0', 2), ('None', None)]

`-s` tells which links are on and how fast, not where they end: that is `-R` (not in 418). Neither
prints the GPUs' own PCI addresses. FFFFFFFF:FF:FF.0 is a far end that is not visible (VMs, GB200).
`-c` is about what links can do, so it gives their number only. Found by running nvidia-smi 418.226,
470.256, 535.261 and 550.163 and in what people paste.
"""

from __future__ import annotations

import re

from gputopo.parsers.nvidia_smi_nvlink.build import FORMAT, build
from gputopo.parsers.nvidia_smi_nvlink.find import find_listings
from gputopo.parsers.nvidia_smi_values import without_handle
from gputopo.parsers.pasted_text import clean_lines
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords

__all__ = ["FORMAT", "parse", "sniff"]

_SNIFF = re.compile(
    r"(?<!\w)Link \d{1,2}(?:: (?:<\w+>|[\d.]+ ?GB/s|Remote Device |[A-Z][\w ]+ Errors?: )|, [A-Z][\w ]+: )"
)
_MESSAGE = re.compile(r"all links are inactive|does not have or support nvlink|Invalid NvLink ID", re.IGNORECASE)
_REFUSED = re.compile(r'Option "-{1,2}\w{1,20}" is not recognized\.')
_NEXT = "run `nvidia-smi nvlink -s` and `nvidia-smi nvlink -R` (not in drivers before 450)"


def sniff(text: str) -> bool:
    """Whether a text lists NVLinks by GPU, or holds nvidia-smi's refusal of the option."""
    if "GPU " in text and (_SNIFF.search(text) or _MESSAGE.search(text)):
        return True
    return "is not recognized." in text and _REFUSED.search(text) is not None


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` a listing, in order. Raises Unreadable: with nvidia-smi's own words if it refused."""
    lines = clean_lines(text)
    nodes = [build(listing) for listing in find_listings(lines)]
    if not nodes:
        raise _nothing(lines)
    lost = without_handle(lines)
    if lost:
        nodes[0] = nodes[0]._replace(observations=nodes[0].observations + lost)
    return tuple(nodes)


def _nothing(lines: list[str]) -> Unreadable:
    for number, line in enumerate(lines, 1):
        refused = _REFUSED.search(line)
        if refused:
            return Unreadable(f"nvidia-smi printed no NVLinks but: {refused[0]}", number, _NEXT)
    wanted = "no list of NVLinks: looked for `GPU 0: NAME (UUID: …)` with `Link 0: …` under it"
    orphan = next((number for number, line in enumerate(lines, 1) if _SNIFF.search(line)), None)
    if orphan:
        return Unreadable(f"{wanted}; the links here have no GPU line above them", orphan, _NEXT)
    return Unreadable(wanted, None, _NEXT)
