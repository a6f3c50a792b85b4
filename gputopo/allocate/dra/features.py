"""The feature gates of DRA by release, and which implementation of the allocator they select.

Source: pkg/features/kube_features.go of 1.32–1.37 (1.37: a development snapshot), `SupportedFeatures` of
k8s.io/dynamic-resource-allocation/structured/internal/{stable,incubating,experimental} on the release branches.

    >>> sorted(default_gates((1, 35)))
    ['DRAAdminAccess', 'DRAPrioritizedList', 'DRAResourceClaimDeviceStatus']
    >>> channel((1, 36), default_gates((1, 36))), channel((1, 35), default_gates((1, 35)))
    ('incubating', 'incubating')
    >>> channel((1, 34), default_gates((1, 34)))
    'experimental'
"""

from __future__ import annotations

ADMIN = "DRAAdminAccess"
LIST = "DRAPrioritizedList"
PARTITIONS = "DRAPartitionableDevices"
TAINTS = "DRADeviceTaints"
CAPACITY = "DRAConsumableCapacity"
BINDING = "DRADeviceBindingConditions"
STATUS = "DRAResourceClaimDeviceStatus"
LIST_TYPES = "DRAListTypeAttributes"

Release = tuple[int, int]
FIRST: Release = (1, 32)
LAST: Release = (1, 37)
NEVER: Release = (9, 9)

# gate → first release that has it, first release where it is on by default.
GATES: dict[str, tuple[Release, Release]] = {
    ADMIN: ((1, 32), (1, 34)),
    STATUS: ((1, 32), (1, 33)),
    LIST: ((1, 33), (1, 34)),
    TAINTS: ((1, 33), (1, 36)),
    PARTITIONS: ((1, 33), (1, 36)),
    CAPACITY: ((1, 34), (1, 36)),
    BINDING: ((1, 34), (1, 36)),
    LIST_TYPES: ((1, 36), NEVER),
}
# Locked on: the release from which a gate can no longer be turned off does not matter to an answer, its GA does.


def known(release: Release) -> frozenset[str]:
    return frozenset(gate for gate, (since, _) in GATES.items() if since <= release)


def default_gates(release: Release) -> frozenset[str]:
    return frozenset(gate for gate, (_, on) in GATES.items() if on <= release)


def channel(release: Release, gates: frozenset[str]) -> str:
    """The first implementation that supports what is on; up to 1.33 there is only one."""
    if release < (1, 34):
        return "single"
    binding = BINDING in gates and STATUS in gates
    if LIST_TYPES in gates:
        return "experimental"
    if release == (1, 34):
        if CAPACITY in gates or BINDING in gates or STATUS in gates:
            return "experimental"
        return "incubating" if gates & {ADMIN, LIST, PARTITIONS, TAINTS} else "stable"
    if release == (1, 35):
        if CAPACITY in gates or binding:
            return "experimental"
        return "incubating" if gates & {ADMIN, LIST, PARTITIONS, TAINTS} else "stable"
    return "incubating" if CAPACITY in gates or binding else "stable"
