"""One attempt for one node: pools, the look at the claims, the search, the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gputopo.allocate.dra.asks import prepare
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.candidates import Selectable, lined_up
from gputopo.allocate.dra.failure import Failure
from gputopo.allocate.dra.objects import World
from gputopo.allocate.dra.pools import Pool, gather
from gputopo.allocate.dra.pruning import leaves_traces, pruning_for
from gputopo.allocate.dra.result import ClaimResult, results
from gputopo.allocate.dra.search import Search, TimedOut
from gputopo.allocate.dra.selectors import Selectors


class Attempt(NamedTuple):
    """`satisfied` None: the search was ended before it had an answer."""

    satisfied: bool | None
    results: tuple[ClaimResult, ...] = ()
    failure: Failure | None = None

    @property
    def devices(self) -> tuple[tuple[str, str], ...]:
        """What tells two attempts apart: request and device."""
        return tuple((f"{one.claim} {one.request}", str(one.id)) for claim in self.results for one in claim.given)


def attempt(
    world: World, selectors: Selectors, how: Behaviour, pools: Sequence[Pool] | None = None,
    out_of_time: Callable[[], bool] | None = None, whole: bool = False,
) -> Attempt:  # fmt: skip
    """`pools`: in another order than `gather` gives. `whole`: nothing is left out of the search."""
    try:
        own = gather(world.slices, world.node, how) if pools is None else pools
        prepared = prepare(world, own, Selectable(world.node, world.claims, selectors, how), how)
        selectable = Selectable(world.node, world.claims, selectors, how)
        lined = lined_up(own)
        search = Search(world, lined, prepared, selectable, how, out_of_time)
        pruning = None if whole else pruning_for(search, out_of_time)
        if pruning is not None and not leaves_traces(search):
            search.pruning = pruning
        found = (pruning is None or not pruning.unsatisfiable) and search.run()
        if found:
            return Attempt(True, results(search))
        if any(pool.invalid for pool in own) and how.bad_pools_skipped:
            raise Failure("invalid-pools")
    except Failure as failure:
        return Attempt(False, failure=failure)
    except TimedOut:
        return Attempt(None)
    return Attempt(False)
