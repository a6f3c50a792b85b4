"""`slurmd -G`: Slurm's list of a node's GPUs in its own order, each with its device file.

    >>> text = "slurmd: Gres Name=gpu Type=h100 Count=1 Index=3 ID=7696487 File=/dev/nvidia3 Links=(null) Flags=\\n"
    >>> [said] = parse(text + text.replace("nvidia3", "nvidia0"))
    >>> [(one.id, one.space, one.minor) for one in said.names]
    [('0', 'gres', 3), ('1', 'gres', 0)]

The place in the list is what IDX and SLURM_JOB_GPUS mean; `Index` repeats the number of the file, which is the minor
number (SchedMD/slurm, src/interfaces/gres.c). It says nothing of who holds what. A gres.conf is what an admin wrote,
and AutoDetect may order it otherwise, so it is no such list.
"""

from __future__ import annotations

import re

from gputopo.holdings import DeviceName, HoldingRecords
from gputopo.parsers.gres_conf import PRINTED, read
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.hostlist import expand

_SAID = re.compile(r"(?:^|[\s:\]])Gres Name=gpu Type=", re.MULTILINE)
_MINOR = re.compile(r"/dev/nvidia(\d{1,4})\Z", re.ASCII)


def sniff(given: str) -> bool:
    return _SAID.search(given) is not None


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """Raises Unreadable."""
    files: list[str] = []
    for manifest in read(given):
        for line in manifest.object.body["lines"] if manifest.kind == PRINTED else ():
            pairs = {pair["key"]: pair["value"] for pair in line["keys"]}
            if pairs.get("Name") == "gpu":
                files += _expanded(pairs.get("File", ""))
    minors = [match[1] if (match := _MINOR.match(file)) else None for file in files]
    if None in minors or len(set(minors)) != len(minors):  # MIG: places of their own, with the GPU's file
        return (HoldingRecords("gres-conf"),)
    names = (DeviceName(str(at), "gres", minor=int(minor)) for at, minor in enumerate(minors) if minor is not None)
    return (HoldingRecords("gres-conf", names=tuple(names)),)


def _expanded(files: str) -> tuple[str, ...]:
    try:
        found = expand(files)
    except ValueError as error:
        raise Unreadable(f"a list of files that Slurm cannot read: {error}") from None
    if found is None:
        raise Unreadable("a list of more files than are read")
    return found
