"""What the structured allocator looks at: nodes, slices with their devices, classes, claims, what is allocated.

Field by field the `resource.k8s.io/v1` types (k8s.io/api/resource/v1/types.go); `read_slices` and `read_claims`
make them of objects in v1beta1, v1beta2 and v1. `None` is a field that is not set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gputopo.allocate.dra.amount import Amount

EXACT_COUNT, ALL = "ExactCount", "All"
Json = Mapping[str, Any]


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class Attribute(NamedTuple):
    """`kind`: string, int, bool, version, their plurals with a tuple, "" for a type of the future."""

    kind: str
    value: Any


class RequestPolicy(NamedTuple):
    default: Amount | None = None
    valid_values: tuple[Amount, ...] | None = None
    has_range: bool = False
    minimum: Amount | None = None
    maximum: Amount | None = None
    step: Amount | None = None


class Capacity(NamedTuple):
    value: Amount
    policy: RequestPolicy | None = None


class Taint(NamedTuple):
    key: str
    value: str = ""
    effect: str = ""


class Counters(NamedTuple):
    """A counter set of a slice, or what a device consumes of one."""

    name: str
    counters: Mapping[str, Amount]


class Requirement(NamedTuple):
    """Of a node selector. `body` is the requirement as it stands in the object."""

    key: str
    operator: str
    values: tuple[str, ...]
    body: Json


class SelectorTerm(NamedTuple):
    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class NodeSelector(NamedTuple):
    terms: tuple[SelectorTerm, ...]


class Device(NamedTuple):
    name: str
    attributes: Mapping[str, Attribute] = {}
    capacity: Mapping[str, Capacity] = {}
    consumes: tuple[Counters, ...] = ()
    taints: tuple[Taint, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    allow_multiple: bool | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None


class Slice(NamedTuple):
    name: str
    driver: str
    pool: str
    generation: int = 0
    slice_count: int = 1
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device: bool | None = None
    shared_counters: tuple[Counters, ...] = ()
    devices: tuple[Device, ...] = ()

    def id_of(self, device: Device) -> DeviceId:
        return DeviceId(self.driver, self.pool, device.name)


class Selector(NamedTuple):
    expression: str | None  # None: a selector of a type of the future


class Config(NamedTuple):
    requests: tuple[str, ...]
    body: Json  # without `requests`: {"opaque": {...}}


class DeviceClass(NamedTuple):
    name: str
    selectors: tuple[Selector, ...] = ()
    configs: tuple[Config, ...] = ()


class Toleration(NamedTuple):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    body: Json = {}  # noqa: RUF012  (never mutated)


class Ask(NamedTuple):
    """What one request (or one subrequest of a list) asks for."""

    name: str
    device_class: str = ""
    mode: str = EXACT_COUNT
    number: int = 1  # of devices
    selectors: tuple[Selector, ...] = ()
    admin_access: bool | None = None
    tolerations: tuple[Toleration, ...] = ()
    capacity: Mapping[str, Amount] | None = None


class ClaimRequest(NamedTuple):
    """`first_available` empty: `exactly` is what is asked."""

    name: str
    exactly: Ask
    first_available: tuple[Ask, ...] = ()


class Constraint(NamedTuple):
    requests: tuple[str, ...] = ()
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class Claim(NamedTuple):
    name: str
    namespace: str = ""
    requests: tuple[ClaimRequest, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[Config, ...] = ()

    def __str__(self) -> str:
        """As klog.KObj prints it in messages."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Allocated(NamedTuple):
    """What other claims hold: whole devices, and of shared ones the sum of what is consumed."""

    devices: frozenset[DeviceId] = frozenset()
    shared: frozenset[DeviceId] = frozenset()
    capacity: Mapping[DeviceId, Mapping[str, Amount]] = {}


class KubeNode(NamedTuple):
    name: str
    labels: Mapping[str, str] = {}


class World(NamedTuple):
    """All that an allocation depends on beside the release."""

    node: KubeNode
    slices: tuple[Slice, ...] = ()
    classes: Mapping[str, DeviceClass] = {}
    claims: tuple[Claim, ...] = ()
    allocated: Allocated = Allocated()
