"""Which attributes and capacities the ResourceSlices of the run show of a driver: they weigh more than any table.

    >>> from gputopo.parsers.manifests import read
    >>> slices = read('''kind: ResourceSlice
    ... spec: {driver: d.example.com, devices: [{name: a, attributes: {x: {int: 1}, e.com/y: {int: 2}}}]}
    ... ''')
    >>> sorted(seen(slices, "d.example.com")), sorted(seen(slices, "other"))
    (['d.example.com/x', 'e.com/y'], [])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gputopo.rules.manifests.asks import value_at
from gputopo.terms.manifest import Manifest


def seen(together: Sequence[Manifest], driver: str) -> frozenset[str]:
    """Qualified names; empty where no slice of the driver is there."""
    return frozenset(
        name if "/" in name else f"{driver}/{name}"
        for one in together
        if one.kind == "ResourceSlice" and value_at(one, ("spec", "driver")) == driver
        for device in _list(value_at(one, ("spec", "devices")))
        for name in _names(device)
    )


def near(names: frozenset[str], attribute: str) -> str:
    """The name that is written most like it, domain aside.

    >>> near(frozenset({"gpu.intel.com/pciRoot", "gpu.intel.com/family"}), "resource.kubernetes.io/pcieRoot")
    'gpu.intel.com/pciRoot'
    """
    from difflib import get_close_matches

    by_name = {name.partition("/")[2]: name for name in sorted(names)}
    found = get_close_matches(attribute.partition("/")[2], by_name, 1, 0.8)
    return by_name[found[0]] if found else ""


def _names(device: Any) -> Iterator[str]:
    """`basic` holds both in v1beta1."""
    basic = device.get("basic") if isinstance(device, dict) else None
    for holder in (device, basic):
        for key in ("attributes", "capacity"):
            found = holder.get(key) if isinstance(holder, dict) else None
            yield from (str(name) for name in found) if isinstance(found, dict) else ()


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []
