"""The hard errors of the allocator, as parts: they end the attempt for the pod, with upstream's own sentence.

    >>> str(Failure("feature-off", "", "DRAAdminAccess", claim="ns/a", request="r"))
    'claim ns/a, request r: admin access is requested, but the feature is disabled'
    >>> str(Failure("limit", "33", claim="a"))
    'claim a: number of requested devices 33 exceeds the claim limit of 32'
    >>> str(Failure("limit", "2", "31", claim="a", request="r"))
    'claim a, request r: adding 2 devices exceeds the claim limit of 32, with 31 already accounted for'
    >>> str(Failure("constraint-all", "drv/p/d", claim="a", request="r"))
    'claim a, request r: cannot add device drv/p/d because a claim constraint would not be satisfied'
"""

from __future__ import annotations

from collections.abc import Callable

LIMIT = 32  # AllocationResultsMaxSize of k8s.io/api/resource/v1

_FEATURE = {
    "DRAAdminAccess": "admin access is requested, but the feature is disabled",
    "DRAPrioritizedList": "has subrequests, but the DRAPrioritizedList feature is disabled",
    "DRAConsumableCapacity": "has capacity requests, but the DRAConsumableCapacity feature is disabled",
}

# EnhanceRuntimeError of k8s.io/dynamic-resource-allocation/cel/errors.go, 1.37.
_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


class Failure(Exception):
    """`kind` as in the list of kinds below; `subject` and `detail` are the cause.

    feature-off, unsupported, class-missing, limit, pool-updating, pool-invalid, constraint-all, cel-compile,
    cel-runtime, invalid-pools, node-selector, crash (the Go code panics).
    """

    def __init__(
        self, kind: str, subject: str = "", detail: str = "", *, claim: str = "", request: str = "",
        device_class: str = "", selector: int | None = None, device: str = "", subrequest: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(kind, subject, detail)
        self.kind = kind
        self.subject = subject
        self.detail = detail
        self.claim = claim
        self.request = request
        self.device_class = device_class
        self.selector = selector
        self.device = device  # on which a selector failed; part of the message from 1.37 on
        self.subrequest = subrequest

    @property
    def node_only(self) -> bool:
        """The scheduler goes on with other nodes."""
        return self.kind == "invalid-pools"

    def __str__(self) -> str:
        return _TEXT[self.kind](self)


def _place(one: Failure) -> str:
    if not one.request:
        return f"claim {one.claim}"
    return f"claim {one.claim}, {'subrequest' if one.subrequest else 'request'} {one.request}"


def _cel(one: Failure) -> str:
    whose = f"class {one.device_class}" if one.device_class else f"claim {one.claim}"
    step = "compile" if one.kind == "cel-compile" else "runtime"
    where = f" on device {one.device}" if one.device else ""
    hint = _HINT if one.device and "no such key:" in one.detail else ""
    return f"{whose}: selector #{one.selector}{where}: CEL {step} error: {one.detail}{hint}"


def _unsupported(one: Failure) -> str:
    if one.subject == "class":
        return f"{_place(one)}: missing device class name (unsupported request type?)"
    if one.subject == "mode":
        return f"{_place(one)}: unsupported count mode {one.detail}"
    if one.subject == "selector":
        return f"{_place(one)}, selector #{one.detail}: CEL expression empty (unsupported selector type?)"
    return f"{_place(one)}, constraint #{one.detail}: empty constraint (unsupported constraint type?)"


def _pool_invalid(one: Failure) -> str:
    if not one.claim:  # met during the search: up to 1.34
        return f"pool {one.subject} is invalid: {one.detail}"
    return f"{_place(one)}: asks for all devices, but resource pool {one.subject} is currently invalid"


_TEXT: dict[str, Callable[[Failure], str]] = {
    "feature-off": lambda one: f"{_place(one)}: {_FEATURE[one.detail]}",
    "unsupported": _unsupported,
    "class-missing": lambda one: (
        f'{_place(one)}: could not retrieve device class {one.subject}: '
        f'deviceclasses.resource.k8s.io "{one.subject}" not found'
    ),
    "limit": lambda one: (
        f"{_place(one)}: adding {one.subject} devices exceeds the claim limit of {LIMIT}, "
        f"with {one.detail} already accounted for"
        if one.request
        else f"claim {one.claim}: number of requested devices {one.subject} exceeds the claim limit of {LIMIT}"
    ),
    "pool-updating": lambda one: (
        f"{_place(one)}: asks for all devices, but resource pool {one.subject} is currently being updated"
    ),
    "pool-invalid": _pool_invalid,
    "constraint-all": lambda one: (
        f"{_place(one)}: cannot add device {one.subject} because a claim constraint would not be satisfied"
    ),
    "cel-compile": _cel,
    "cel-runtime": _cel,
    "invalid-pools": lambda one: "invalid resource pools were encountered",
    "node-selector": lambda one: f"{one.subject}: {one.detail}",
    "crash": lambda one: f"the scheduler panics: {one.detail}",
}  # fmt: skip
