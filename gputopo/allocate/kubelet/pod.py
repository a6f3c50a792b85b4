"""A pod as the managers see it: containers with requests and limits, its QoS class, its totals.

Upstream: pkg/apis/core/v1/helper/qos/qos.go, component-helpers/resource (PodLimits),
cpumanager/policy_static.go (guaranteedCPUs, podGuaranteedCPUs), memorymanager/policy_static.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple

from gputopo.allocate.kubelet.stops import ManagerError
from gputopo.terms.quantity import value

Kind = Literal["init", "sidecar", "app"]
GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"
_COMPUTE = ("cpu", "memory")
HUGE_PAGES = "hugepages-"


class Container(NamedTuple):
    """`requests` hold the limits too, where they do not say otherwise (the API server's defaulting)."""

    name: str
    kind: Kind
    limits: Mapping[str, Fraction]
    requests: Mapping[str, Fraction]

    @classmethod
    def of(
        cls, name: str, limits: Mapping[str, Fraction], requests: Mapping[str, Fraction] | None = None,
        kind: Kind = "app",
    ) -> Container:  # fmt: skip
        return cls(name, kind, limits, {**limits, **(requests or {})})


class Pod(NamedTuple):
    """`containers`: init containers and sidecars first, in the order of the spec."""

    uid: str
    containers: tuple[Container, ...]
    own_resources: bool = False  # spec.resources: the managers pass such pods by (PodLevelResourceManagers is off)
    qos_class: str | None = None  # as the object says; None: worked out

    @property
    def qos(self) -> str:
        return self.qos_class or _qos(self.containers)

    @property
    def exclusive(self) -> bool:
        """Whether CPU and Memory manager look at it at all."""
        return self.qos == GUARANTEED and not self.own_resources


def _qos(containers: tuple[Container, ...]) -> str:
    requests: dict[str, Fraction] = {}
    limits: dict[str, Fraction] = {}
    guaranteed = True
    for container in containers:
        for totals, given in ((requests, container.requests), (limits, container.limits)):
            for name in _COMPUTE:
                if given.get(name):
                    totals[name] = totals.get(name, Fraction(0)) + given[name]
        guaranteed = guaranteed and all(container.limits.get(name) for name in _COMPUTE)
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if guaranteed and requests == limits else BURSTABLE


def exclusive_cpus(pod: Pod, container: Container) -> int:
    """CPUs of its own that a container is to get; 0: it runs in the shared pool."""
    if pod.qos != GUARANTEED:
        return 0
    amount = container.requests.get("cpu", Fraction(0))
    whole = value(amount) * 1000 == value(amount * 1000)  # isIntegralCPUAmount: to a thousandth
    return value(amount) if whole else 0


def pinned_memory(container: Container) -> dict[str, int]:
    """Bytes by type. Raises ManagerError for an amount that is no whole number of bytes."""
    found = {}
    for name, amount in container.requests.items():
        if name == "memory" or name.startswith(HUGE_PAGES):
            if amount.denominator != 1:
                raise ManagerError("[memorymanager] failed to represent quantity as int64")
            found[name] = int(amount)
    return found


def devices(container: Container) -> dict[str, int]:
    """Every limit as a count; which of them are devices the device manager knows."""
    return {name: value(amount) for name, amount in container.limits.items()}


def total(pod: Pod, amounts: Callable[[Container], Mapping[str, int]]) -> dict[str, int]:
    """What a pod needs at once: the most that an init container and the sidecars before it need, or all that
    runs together later.
    """
    running: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in pod.containers:
        for name, amount in amounts(container).items():
            if container.kind == "init":
                most[name] = max(most.get(name, 0), sidecars.get(name, 0) + amount)
                continue
            running[name] = running.get(name, 0) + amount
            if container.kind == "sidecar":
                sidecars[name] = sidecars.get(name, 0) + amount
    return {name: max(running.get(name, 0), most.get(name, 0)) for name in {**running, **most}}


def total_memory(pod: Pod) -> dict[str, int]:
    """As the Memory manager adds up: types that no app container requests are left out."""
    kept = {name for container in pod.containers if container.kind == "app" for name in pinned_memory(container)}
    return {name: amount for name, amount in total(pod, pinned_memory).items() if name in kept}
