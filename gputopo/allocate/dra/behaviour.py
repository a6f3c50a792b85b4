"""How the allocator of a release works, its known defects included: one profile per release and implementation.

Source: k8s.io/dynamic-resource-allocation/structured on the branches release-1.32 to release-1.36 and master. What
is said of 1.32, 1.33 and 1.35 was read, not run; 1.34 was run as its experimental implementation, 1.36.3, 1.36.6 and
1.37.2 as all three.

    >>> of((1, 36, 2)).counters_leak, of((1, 36)).counters_leak, of((1, 35)).sorted_pools
    (True, False, False)
    >>> of((1, 36, 3)).counters_by_driver, of((1, 36, 4)).counters_by_driver, of((1, 36, 5)).limit_by_request
    (False, True, True)
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.dra import features
from gputopo.errors import GputopoError

NEWEST_PATCH_READ = {(1, 36): 6}


class Behaviour(NamedTuple):
    release: features.Release
    gates: frozenset[str]
    channel: str
    sorted_pools: bool  # else Go's map order: any
    combinations: bool  # else permutations: the same answer, found later
    bad_pools_skipped: bool  # incomplete and invalid ones; else used, and an error when reached
    elsewhere_counts: bool  # slices of other nodes are looked at for completeness and counters
    shared_counters_by_node: bool  # slices with counter sets must match the node like others (1.37)
    counters_of_pool: bool  # else of the slice
    counters_by_driver: bool  # else two drivers' pools of one name share what is left (until 1.36.3)
    counters_leak: bool  # of a device rejected after its counters were reserved
    counters_once: bool  # a shared device that is in use is not charged again
    none_blocks: bool  # taints with effect None or an unknown one block, too
    distinct: str  # "none": not known; "identity": compares pointers; "last": one value a request; "all"
    all_needs_one: bool  # All with nothing to take is unsatisfiable
    late_key: bool  # All in a list caches its matches under the subrequest before
    all_loses_subrequest: bool  # All in a list takes its later devices from the first subrequest
    capacity_of_wrong_device: bool  # the last check looks at the device of that place in the slice
    binding_last: bool  # pools with binding conditions go last
    config_for_all_empty: bool  # a config of every request is printed without requests
    names_device: bool  # a runtime error of a selector names the device, and of a missing key says what to write
    limit_by_request: bool  # the limit of devices is looked at, and said, for each request (1.36.5)
    capacity_gate: bool  # capacity requests without the gate are an error; else they are ignored
    all_in_use_counts: bool  # All leaves out shared devices that are too full; else they make it fail

    def on(self, gate: str) -> bool:
        return gate in self.gates

    @property
    def binding(self) -> bool:
        return self.on(features.BINDING) and self.on(features.STATUS)

    @property
    def version(self) -> str:
        return f"{self.release[0]}.{self.release[1]}"

    @property
    def was_run(self) -> bool:
        """Whether answers of this implementation were compared: recorded ones, or fresh ones of conformance/."""
        return self.release >= (1, 36) or self.release == (1, 34)


def of(
    release: tuple[int, ...], gates: frozenset[str] | None = None, channel: str | None = None
) -> Behaviour:
    """`release` with or without its patch. Raises GputopoError for a release before DRA's beta."""
    minor = (release[0], release[1])
    if minor < features.FIRST:
        raise GputopoError(
            f"Kubernetes {minor[0]}.{minor[1]} has no structured allocator of the v1beta1 API",
            "--k8s-version", "1.32 to 1.37",
        )  # fmt: skip
    nearest = min(minor, features.LAST)
    on = features.default_gates(nearest) if gates is None else gates
    which = channel or features.channel(nearest, on)
    patch = release[2] if len(release) > 2 else NEWEST_PATCH_READ.get(nearest, 0)
    new = nearest >= (1, 36) and which != "stable"
    return Behaviour(
        release=nearest,
        gates=on,
        channel=which,
        sorted_pools=new,
        combinations=new,
        bad_pools_skipped=nearest >= (1, 35),
        elsewhere_counts=nearest >= (1, 35),
        shared_counters_by_node=nearest >= (1, 37) and which != "stable",
        counters_of_pool=nearest >= (1, 35),
        counters_by_driver=(*nearest, patch) >= (1, 36, 4),
        counters_leak=nearest < (1, 36) or (nearest == (1, 36) and patch < 3),
        counters_once=nearest >= (1, 35) and which in ("incubating", "experimental"),
        none_blocks=nearest < (1, 35),
        distinct=_distinct(nearest, which),
        all_needs_one=nearest >= (1, 33),
        late_key=nearest < (1, 36),
        all_loses_subrequest=nearest < (1, 36),
        capacity_of_wrong_device=nearest == (1, 34),
        binding_last=new or (which == "experimental" and nearest >= (1, 34)),
        config_for_all_empty=nearest >= (1, 37),
        names_device=nearest >= (1, 37),
        limit_by_request=(*nearest, patch) >= (1, 36, 5),
        capacity_gate=nearest >= (1, 34) and which != "stable",
        all_in_use_counts=nearest < (1, 37),
    )


def _distinct(release: features.Release, channel: str) -> str:
    if release < (1, 34) or channel == "stable" or (release < (1, 36) and channel == "incubating"):
        return "none"
    if release == (1, 34):
        return "identity"
    return "last" if release < (1, 37) else "all"
