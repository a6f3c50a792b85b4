r"""`nvidia-smi topo -m` and `-mp`: the matrix of letters between GPUs and NICs, of every generation.

What the driver prints (ESC codes left out, tabs shown as blanks; `-mp` has no NV#):

    >>> node, = parse('''$ nvidia-smi topo -m
    ...         GPU0    GPU1    NIC0    CPU Affinity    NUMA Affinity   GPU NUMA ID
    ... GPU0     X      NV4     PXB     0-31,64-95      0               N/A
    ... GPU1    NV4      X      SYS             1               N/A
    ... NIC0    PXB     SYS      X
    ...
    ... Legend:
    ...
    ...   X    = Self
    ...
    ... NIC Legend:
    ...
    ...   NIC0: mlx5_0
    ... ''')
    >>> node.command, node.whole, node.matrix.rows[1].cells
    ('topo -m', True, {'GPU0': 'NV4', 'GPU1': 'X', 'NIC0': 'SYS'})
    >>> [(gpu.label, gpu.numa_nodes, str(gpu.cpus), gpu.cpus_complete) for gpu in node.gpus]
    [('GPU0', (0,), '0-31,64-95', None), ('GPU1', (1,), '', True)]
    >>> [(note.kind, note.subjects) for note in node.observations]
    [('cpu-affinity-may-be-cut', ('GPU0',)), ('empty-cpu-cell', ('GPU1',))]
    >>> node.nics[0].device
    'mlx5_0'

Found by running nvidia-smi 418.226, 470.256, 535.261 and 550.163, and in what people paste. Pastes
lose tabs, ESC bytes, rows and headers; a row that cannot be placed for certain becomes a gap.
"""

from __future__ import annotations

import re

from gputopo.parsers.nvidia_smi_topo.build import build
from gputopo.parsers.nvidia_smi_topo.find import Found, Text, find_blocks
from gputopo.parsers.nvidia_smi_topo.refusals import REFUSALS, find_refusal
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import NodeRecords

__all__ = ["parse", "sniff"]

_ROW = re.compile(
    r"(?:GPU|NIC)\d+[ \t|]+(?:X[ \t|]+)?(?:SYS|NODE|PHB|PXB|PIX|SOC|NV\d|Unknown)|GPU\d+[ \t|]+X[ \t|]+\d"
)
_NEXT = "save the output of `nvidia-smi topo -m` to a file and pass that"


def sniff(text: str) -> bool:
    """Whether the text could hold a matrix of `topo -m`/`-mp`, or nvidia-smi's reason for none."""
    if "GPU" in text and ("CPU Affinity" in text or _ROW.search(text)):
        return True
    return any(fragment in text for fragment, _ in REFUSALS) or _retyped(text) is not None


def _retyped(text: str) -> tuple[str, int] | None:
    """Loaded for texts without a matrix only: its patterns take longer to build than a dump to read."""
    from gputopo.parsers.nvidia_smi_topo.retyped import first_row

    return first_row(text)


def parse(text: str) -> tuple[NodeRecords, ...]:
    """One `NodeRecords` for each matrix of the text, in order.

    Raises Unreadable where the text has none: with nvidia-smi's own words if it says why.
    """
    found_text = Text(text)
    found = find_blocks(found_text)
    nodes = []
    for block in found.blocks:
        node = build(block, found_text)
        if node is not None:
            nodes.append(node)
    if not nodes:
        raise _nothing(text, found)
    return tuple(nodes)


def _nothing(text: str, found: Found) -> Unreadable:
    refusal = find_refusal(text)
    headers = ""
    line = None
    if found.alone:
        header = found.alone[-1]
        line = header.line
        names = " ".join([*header.labels[:2], *(["…"] if len(header.labels) > 2 else [])])
        headers = f"a header with {names} at line {line}"
    if refusal:
        what = f"nvidia-smi printed no matrix but: {refusal[0]}"
        return Unreadable(f"{what} (after {headers})" if headers else what, refusal[1], refusal[2])
    wanted = "no `nvidia-smi topo -m` matrix: looked for rows such as `GPU0  X  NV18 …`"
    if found.blocks:
        printed = found.blocks[0].rows[0]
        return Unreadable(
            f"{wanted}; nearest is '{printed.text.strip()[:60]}', which is no row of a GPU in its own column",
            printed.line,
            _NEXT,
        )
    if found.other_rows:
        return Unreadable(f"{wanted}; the rows here are of `topo -p2p`", line, _NEXT)
    if headers:
        return Unreadable(
            f"{wanted}; there is {headers} but no row starts with {found.alone[-1].labels[0]}", line, _NEXT
        )
    row = _retyped(text)
    if row:
        return Unreadable(f"{wanted}; nearest is '{row[0]}', whose label is no GPUn (typed by hand?)", row[1], _NEXT)
    return Unreadable(wanted, None, _NEXT)
