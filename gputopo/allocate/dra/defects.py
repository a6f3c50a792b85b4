"""What is known to be wrong, or left open, in the release that is asked for, where it touches this request.

    >>> from gputopo.allocate.dra.behaviour import of
    >>> from gputopo.allocate.dra.objects import Claim, Constraint, KubeNode
    >>> claim = Claim("c", constraints=(Constraint((), None, "dra.net/numaNode"),))
    >>> lines(World(KubeNode("n"), claims=(claim,)), of((1, 34)))[0][:63]
    'Kubernetes 1.34 compares distinctAttribute by address, not by v'
"""

from __future__ import annotations

from gputopo.allocate.dra import features
from gputopo.allocate.dra.behaviour import Behaviour
from gputopo.allocate.dra.objects import Claim, World


def lines(world: World, how: Behaviour) -> list[str]:
    found = []
    if any(one.distinct_attribute for claim in world.claims for one in claim.constraints):
        if how.distinct == "identity":
            found.append(
                f"Kubernetes {how.version} compares distinctAttribute by address, not by value: "
                "equal devices pass (fixed in 1.35)"
            )
        elif how.distinct == "last" and any(_three(claim) for claim in world.claims):
            found.append(
                f"Kubernetes {how.version} remembers one distinctAttribute value a request: "
                "of three devices the first and the last may be alike (fixed in 1.37)"
            )
    counted = how.on(features.PARTITIONS) and any(
        device.consumes for own in world.slices for device in own.devices
    )
    if counted and how.counters_leak:
        found.append(
            "up to 1.36.2 a device that is rejected by a taint or a constraint keeps its counters: "
            "later ones may look exhausted"
        )
    return found


def _three(claim: Claim) -> bool:
    asks = [ask for one in claim.requests for ask in (one.first_available or (one.exactly,))]
    return any(ask.number > 2 for ask in asks)


def taken_for_granted(world: World, how: Behaviour) -> list[str]:
    """What the answer assumes of the cluster."""
    found = []
    if how.release < (1, 34):
        found.append(f"the feature gate DynamicResourceAllocation is on: in {how.version} it is off by default")
    pools = [(own.driver, own.pool) for own in world.slices]
    if not how.sorted_pools and len(set(pools)) < len(pools):
        found.append("slices of one pool come in the order given; in the cluster it is the informer's, which is any")
    return found
