"""What Slurm writes of generic resources: `gpu:h100:4(IDX:0-3)`, `gres/gpu=8`, `shard:2(2/4,0/4)`.

    >>> granted("gpu:h100:2(IDX:0,3),nic:1(IDX:0)")
    Gres(devices=(('gres/gpu:h100', '0'), ('gres/gpu:h100', '3')), counts=(('gres/gpu', 2),))
    >>> granted("gpu:(null):1(IDX:7)").devices, granted("gpu:8(S:0-1)").counts, granted("gpu:a:2(IDX:N/A)").devices
    ((('gres/gpu', '7'),), (('gres/gpu', 8),), ())
    >>> granted("cpu=8,mem=64G,gres/gpu=4,gres/gpu:h100=4").counts
    (('gres/gpu', 4),)
    >>> granted("shard:3(2/4,0/4,1/4)").devices                # of the first GPU a half: shared, so not the whole
    (('gres/shard', '0::2/4'), ('gres/shard', '2::1/4'))

(SchedMD/slurm, src/interfaces/gres.c: _build_node_gres_str; IDX is a bit map of all the node's GPUs, whatever type.)
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gputopo.terms.cpu_set import CpuSet

_GPU = re.compile(
    r"(?:^|,)(?:gres[/:])?gpu(?::(\(null\)|[^:(),=]+))?(?:[:=](\d{1,6}))?(?:\((S|IDX):([^)]*)\))?(?=,|\Z)"
)
_PART = re.compile(r"(?:^|,)(?:gres[/:])?(shard|mps)(?::[^:(),=]+)*\(([0-9/,]+)\)(?=,|\Z)")
_MOST = 1024  # devices of a node
_LONGEST = 4096  # characters


class Gres(NamedTuple):
    devices: tuple[tuple[str, str], ...]  # (resource, place in Slurm's list of the node's GPUs)
    counts: tuple[tuple[str, int], ...]  # (resource, how many)


def granted(text: str) -> Gres:
    """Of GPUs and their parts; of anything else nothing."""
    if len(text) > _LONGEST:
        return Gres((), ())
    devices: list[tuple[str, str]] = []
    counts: list[int] = []
    typed: list[int] = []
    for match in _GPU.finditer(text):
        kind, count, what, listed = match.groups()
        if count is None and kind is not None and kind.isdecimal():
            kind, count = None, kind
        resource = "gres/gpu" if kind in (None, "(null)") else f"gres/gpu:{kind}"
        places = CpuSet.parse_list(listed) if what == "IDX" else None
        if places is not None and len(places) <= _MOST:
            devices += [(resource, str(place)) for place in places]
        number = int(count) if count is not None else len(places or ())
        (typed if resource != "gres/gpu" else counts).append(number)
    for match in _PART.finditer(text):
        for place, part in enumerate(match[2].split(",")[:_MOST]):
            taken = part.partition("/")[0]
            if taken.isdecimal() and int(taken):
                devices.append((f"gres/{match[1]}", f"{place}::{part}"))
    total = sum(counts) if counts else sum(typed)
    return Gres(tuple(dict.fromkeys(devices)), (("gres/gpu", total),) if total else ())
