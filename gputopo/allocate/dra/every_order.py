"""Every answer that is possible where the order of the devices in a slice is not known.

First fit gives any full solution under the order that lists that solution's devices first, request by request; in a
firstAvailable list a later subrequest only where no earlier one has a solution. So all solutions are searched for.
"""

from __future__ import annotations

from gputopo.allocate.dra.candidates import RequestKey
from gputopo.allocate.dra.result import ClaimResult, results
from gputopo.allocate.dra.search import DONE, FAILED, OVERFLOW, Search

MOST = 200  # solutions that are listed


class Enough(Exception):
    """More solutions than are listed."""


class EverySolution(Search):
    """`found`: a solution per set of devices of each request."""

    def everything(self) -> bool:
        """Fills `found`. False: there are more than are listed."""
        self.found: dict[object, tuple[ClaimResult, ...]] = {}
        try:
            self.run()
        except Enough:
            return False
        return True

    def _one(self, key: RequestKey, device: int, in_list: bool, start: int) -> int:
        if key[0] < len(self.world.claims):
            return super()._one(key, device, in_list, start)
        seen = frozenset(
            (at, one.wanted.name, one.candidate.id) for at, taken in enumerate(self.results) for one in taken
        )
        if seen not in self.found:
            if len(self.found) == MOST:
                raise Enough
            self.found[seen] = results(self)
        return FAILED

    def _list(self, key: RequestKey, device: int) -> int:
        claim, request, _ = key
        place = 0
        all_overflow = True
        while (claim, request, place) in self.wanted:
            before = len(self.found)
            self.chosen[claim, request] = place
            end = self._one((claim, request, place), device, True, 0)
            if len(self.found) > before or end == DONE:
                return FAILED
            all_overflow = all_overflow and end == OVERFLOW
            place += 1
        return OVERFLOW if all_overflow else FAILED
