"""What differs between Kubernetes releases in the code that is imitated here.

Read in the sources of 1.31.14, 1.32.13, 1.33.13, 1.34.4, 1.35.4, 1.36.1, 1.36.2 and 1.37.2. The newest
verified release answers for newer ones.
"""

from __future__ import annotations

from typing import NamedTuple

OLDEST, NEWEST = 31, 37
PREFERRED_ALLOCATION = 19  # the first in which a device plugin is asked which devices it prefers
DEFAULT = 36  # the release whose recorded answers are replayed

ALPHA, BETA, STABLE = "alpha", "beta", "stable"


class Release(NamedTuple):
    """`minor` of 1.x."""

    minor: int

    @property
    def hints_only_where_devices_are(self) -> bool:
        """Device hints over the NUMA nodes that have devices, not over all (GB200 has dozens without)."""
        return self.minor >= 36

    @property
    def whole_uncore_cores(self) -> bool:
        """prefer-align-cpus-by-uncorecache counts the odd CPU of a request as a core."""
        return self.minor >= 34

    @property
    def capped_shares(self) -> bool:
        """distribute-cpus-across-numa never asks a node for more than it has, and knows align-by-socket."""
        return self.minor >= 37

    @property
    def checkpoint_before_smt(self) -> bool:
        """A container that has CPUs keeps them also where full-pcpus-only would refuse it now."""
        return self.minor >= 37

    @property
    def memory_skips_empty(self) -> bool:
        """A container without memory request is passed by."""
        return self.minor >= 37

    def cpu_option(self, name: str) -> str | None:
        """The level of a CPU manager policy option; None: unknown to this release."""
        return _level(_CPU_OPTIONS, name, self.minor)

    def topology_option(self, name: str) -> str | None:
        return _level(_TOPOLOGY_OPTIONS, name, self.minor)

    @property
    def cpu_options(self) -> tuple[str, ...]:
        return tuple(name for name in _CPU_OPTIONS if self.cpu_option(name) is not None)

    @property
    def topology_options(self) -> tuple[str, ...]:
        return tuple(name for name in _TOPOLOGY_OPTIONS if self.topology_option(name) is not None)


# name: the first minor of (alpha, beta, stable); None: not reached.
_Levels = tuple["int | None", "int | None", "int | None"]
_CPU_OPTIONS: dict[str, _Levels] = {
    "full-pcpus-only": (0, 0, 33),
    "distribute-cpus-across-numa": (0, 33, None),
    "align-by-socket": (0, None, None),
    "distribute-cpus-across-cores": (0, None, None),
    "strict-cpu-reservation": (32, 33, 35),
    "prefer-align-cpus-by-uncorecache": (32, 34, 36),
}
_TOPOLOGY_OPTIONS: dict[str, _Levels] = {
    "prefer-closest-numa-nodes": (0, 0, 32),
    "max-allowable-numa-nodes": (0, 0, 35),
}


def _level(table: dict[str, _Levels], name: str, minor: int) -> str | None:
    found = None
    for level, first in zip((ALPHA, BETA, STABLE), table.get(name, (None, None, None))):
        if first is not None and minor >= first:
            found = level
    return found


def parse(version: str) -> Release | None:
    """`1.36`, `v1.36.2`, `1.36.2-gke.100` → the release; anything else None.

    >>> parse("v1.35.4"), parse("36")
    (Release(minor=35), None)
    """
    parts = version.strip().removeprefix("v").split(".")
    if len(parts) < 2 or parts[0] != "1" or not parts[1].isdecimal() or len(parts[1]) > 3:
        return None
    return Release(int(parts[1]))
