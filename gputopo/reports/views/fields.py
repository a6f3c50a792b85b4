"""Fields of several devices that say the same, as one: `gpus[0-3].pcie.width`.

    >>> together(["gpus[0].pcie.width", "gpus[1].pcie.width", "gpus[2].pcie.width", "gpus[5].pcie.width"])
    'gpus[0-2,5].pcie.width'
    >>> together(["pairs[GPU0-GPU1].pcie"]), together(["nics.count"])
    ('pairs[GPU0-GPU1].pcie', 'nics.count')
    >>> obvious("gpus[5].name", "GPU5"), obvious("gpus[5].name", "GPU6"), obvious("pairs[NIC0-*].pcie", "NIC0")
    (True, False, True)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLACED = re.compile(r"(\w+)\[([0-9]{1,6})\](.*)", re.DOTALL)
_STEMS = {"gpus": "GPU", "nics": "NIC", "numaNodes": "NUMA", "packages": "PKG"}


def bare(field: str) -> str:
    """The field without its place; what has no numbered place is its own."""
    found = _PLACED.fullmatch(field)
    return f"{found[1]}[]{found[3]}" if found else field


def together(fields: Sequence[str]) -> str:
    """Fields that are alike but for their place."""
    found = [_PLACED.fullmatch(field) for field in fields]
    if len(fields) == 1 or not all(found):
        return fields[0]
    places = sorted(int(one[2]) for one in found if one)
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    first = found[0]
    assert first
    return f"{first[1]}[{','.join(parts)}]{first[3]}"


def obvious(field: str, id: str) -> bool:
    """Whether a field names its device already."""
    found = _PLACED.fullmatch(field)
    if found is None:
        return id in field
    return id == f"{_STEMS.get(found[1], '')}{found[2]}"
