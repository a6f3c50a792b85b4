"""What differs between releases of NVIDIA/k8s-device-plugin.

Read in the repository at the tags v0.7 to v0.20.0 and the go-gpuallocator that each vendors. BestEffort
and its weights are the same since v0.9 (go-gpuallocator v0.2.1), but for what stands here.

    >>> behaviour("v0.17.2").link_limit, behaviour("0.20.0").link_limit, behaviour("v0.14.2").link_limit
    (18, 36, 12)
    >>> behaviour("v0.15.0-rc.1").ignores_empty_must_include, behaviour("v0.15.0").ignores_empty_must_include
    (True, False)
    >>> behaviour("v0.21.3").known
    False
"""

from __future__ import annotations

from typing import NamedTuple

NEWEST = "v0.20.0"  # the newest release that was read
OLDEST = "v0.9.0"  # older ones vendor a go-gpuallocator that was not compared
_FINAL = 1 << 20  # a release sorts behind its candidates

Number = tuple[int, int, int, int]


class Behaviour(NamedTuple):
    version: str
    known: bool  # whether this release was read; else the nearest one that was answers
    link_limit: int  # NVML's NVLINK_MAX_LINKS compiled in: links from this number on are not asked for
    ignores_empty_must_include: bool  # Filter(nil) returned every device: the answer is empty
    spreads: bool  # replicas are spread by allocated units
    packed: bool  # has the option sharedDevicesAllocationPolicy
    least_picked: bool  # ties of replicas go to the GPU picked least in this call
    unique_ids: bool  # NVIDIA_VISIBLE_DEVICES names each device once


def number(version: str) -> Number | None:
    """A version as numbers that compare; `None` when it is none.

    >>> number("v0.15.0-rc.2"), number("0.7"), number("newest")
    ((0, 15, 0, 2), (0, 7, 0, 1048576), None)
    """
    base, dash, candidate = version.strip().removeprefix("v").partition("-")
    parts = base.split(".")
    if not 2 <= len(parts) <= 3 or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in parts):
        return None
    rank = candidate.removeprefix("rc.")
    if dash and not (rank.isascii() and rank.isdigit() and len(rank) < 4):
        return None
    numbers = [int(part) for part in parts] + [0] * (3 - len(parts))
    return numbers[0], numbers[1], numbers[2], int(rank) if dash else _FINAL


def behaviour(version: str) -> Behaviour:
    """How a release answers. Raises ValueError for what is no version."""
    asked = number(version)
    if asked is None:
        raise ValueError(f"{version!r} is no version")
    known = _at(OLDEST) <= asked <= _at(NEWEST)
    return Behaviour(
        version="v" + version.strip().removeprefix("v"),
        known=known,
        link_limit=12 if asked < _at("v0.14.3") else 18 if asked < _at("v0.20.0") else 36,
        ignores_empty_must_include=_at("v0.14.4-rc.0") <= asked < _at("v0.15.0-rc.2"),
        spreads=asked >= _at("v0.13.0-rc.2"),
        packed=asked >= _at("v0.20.0"),
        least_picked=asked >= _at("v0.20.0"),
        unique_ids=asked >= _at("v0.18.0"),
    )


def _at(version: str) -> Number:
    found = number(version)
    assert found is not None
    return found
