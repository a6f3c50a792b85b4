"""What a Pod asks of Koordinator: amounts per device, and what its annotations require.

Read at koordinator-sh/koordinator a7a1b76 (2026-07-24): pkg/scheduler/plugins/deviceshare/utils.go
(DeviceResourceNames, ValidDeviceResourceCombinations, parseGPURequirements), devicehandler_gpu.go,
devicehandler_default.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from gputopo.allocate.decider.asks import Asked, pod_annotations, whole_pod
from gputopo.allocate.koordinator.devices import CORE, MEMORY, RATIO, RDMA_SHARE, Resources
from gputopo.allocate.koordinator.scopes import LEVELS, Wanted
from gputopo.allocate.koordinator.table import HINT, JOINT, SPEC, decoded_mapping, field, labels_of
from gputopo.errors import GputopoError
from gputopo.terms.kube_object import KubeObject
from gputopo.terms.quantity import quantity, value

WHOLE = ("nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu")
SHARED = "koordinator.sh/gpu.shared"
PERCENT = "koordinator.sh/gpu"
# The combinations of names that are valid together, of those that are about NVIDIA and alike.
_VALID = [
    *({name} for name in (*WHOLE, PERCENT, MEMORY, RATIO)), {CORE, MEMORY}, {CORE, RATIO},
    {SHARED, MEMORY}, {SHARED, RATIO}, {SHARED, CORE, MEMORY}, {SHARED, CORE, RATIO},
]  # fmt: skip
_NAMES = {*WHOLE, PERCENT, SHARED, CORE, MEMORY, RATIO}


class Nics(NamedTuple):
    """RDMA devices: how many, and of each how much."""

    number: int
    each: Resources
    functions: Mapping[str, str] | None = None  # vfSelector: labels of a group of virtual functions
    selector: Mapping[str, str] | None = None
    all_of_them: bool = False  # every one that the selector leaves
    apart: bool = False  # allocateStrategy ApplyForAll: never jointly with the GPUs


class Demand(NamedTuple):
    """`gpus` None: none asked for. `invalid`: the scheduler's word for amounts that it does not accept."""

    gpus: Wanted | None = None
    honor: bool = False  # the pod has a gpu-partition-spec
    restricted: bool = False
    bandwidth: Fraction | None = None
    gpu_selector: Mapping[str, str] | None = None
    has_selector: bool = False  # in a hint of any kind of device, also of one that is not asked for
    nics: Nics | None = None
    joint: tuple[str, ...] = ()  # device types, the primary first; only those that are asked for
    same_pcie: bool = False
    invalid: str = ""


def whole_gpus(number: int) -> Wanted:
    """What `nvidia.com/gpu: number` means."""
    return Wanted(number, {CORE: Fraction(100), RATIO: Fraction(100)})


def of_pod(pod: KubeObject) -> Demand:
    """Raises GputopoError for annotations that do not decode."""
    asked = {name: amount for name, amount in whole_pod(pod).items() if amount}
    where = f"pod {pod.name}" if pod.name else pod.where
    notes = pod_annotations(pod)
    hints = decoded_mapping(notes[HINT], "device-allocate-hint", where) if HINT in notes else {}
    gpus, invalid = _gpus(asked)
    hint = field(hints, "gpu")
    nics = _nics(asked, field(hints, "rdma"), where)
    selects = any(field(one, "selector") is not None for one in hints.values())
    demand = Demand(
        gpus, gpu_selector=labels_of(field(hint, "selector"), "device-allocate-hint", where), has_selector=selects,
        nics=nics,
    )  # fmt: skip
    if gpus is not None and hint is not None:
        demand = demand._replace(gpus=gpus._replace(scope=_scope(hint, where)))
    if JOINT in notes:
        types, same = _joint(notes[JOINT], where)
        wanted = {"gpu": gpus is not None, "rdma": nics is not None and not nics.apart}
        demand = demand._replace(joint=tuple(one for one in types if wanted.get(one)), same_pcie=same)
    if SPEC in notes:
        demand = _with_spec(demand, notes[SPEC], where)
    return demand._replace(invalid=invalid)


def _gpus(asked: Asked) -> tuple[Wanted | None, str]:
    """calcDesiredRequestsAndCountForGPU after the conversion to core and memory ratio."""
    own = {name: amount for name, amount in asked.items() if name in _NAMES}
    if not own:
        return None, ""
    if set(own) not in _VALID or not _percentages(own):
        return None, f"invalid resource device requests: [{' '.join(sorted(own))}]"
    amounts = dict(own)
    for name in WHOLE:
        if name in own:
            amounts = {CORE: own[name] * 100, RATIO: own[name] * 100}
    if PERCENT in own:
        amounts = {CORE: own[PERCENT], RATIO: own[PERCENT]}
    number = value(amounts.pop(SHARED, Fraction(0)))
    ratio = value(amounts.get(RATIO, Fraction(0)))
    if number == 0:
        number = ratio // 100 if ratio > 100 and ratio % 100 == 0 else 1
    each = {name: Fraction(value(amount) // number) for name, amount in amounts.items()}
    return Wanted(number, each, shared=each.get(RATIO, Fraction(0)) < 100), ""


def _percentages(own: Asked) -> bool:
    parts = value(own[SHARED]) if SHARED in own else 0
    for name in (PERCENT, CORE, RATIO):
        amount = value(own.get(name, Fraction(0)))
        if parts and (amount % parts or amount // parts > 100):
            return False
        if not parts and amount > 100 and amount % 100:
            return False
    return True


def _nics(asked: Asked, hint: Any, where: str) -> Nics | None:
    if RDMA_SHARE not in asked:
        return None
    amount = value(asked[RDMA_SHARE])
    functions = labels_of(field(hint, "vfSelector"), "device-allocate-hint", where)
    selector = labels_of(field(hint, "selector"), "device-allocate-hint", where)
    if amount > 100 and amount % 100 == 0:
        apart = field(hint, "allocateStrategy") == "ApplyForAll"
        return Nics(amount // 100, {RDMA_SHARE: Fraction(100)}, functions, selector, apart=apart)
    strategy = field(hint, "allocateStrategy")
    if strategy == "ApplyForAll":
        return Nics(0, {RDMA_SHARE: Fraction(amount)}, functions, selector, all_of_them=True, apart=True)
    if strategy == "RequestsAsCount":
        whole = field(hint, "exclusivePolicy") == "DeviceLevel"
        return Nics(amount, {RDMA_SHARE: Fraction(100 if whole else 1)}, functions, selector)
    return Nics(1, {RDMA_SHARE: Fraction(amount)}, functions, selector)


def _scope(hint: Any, where: str) -> str:
    scope = field(hint, "requiredTopologyScope") or ""
    if scope not in LEVELS:
        known = ", ".join(name for name in LEVELS if name)
        raise GputopoError(f"device-allocate-hint: no such requiredTopologyScope: {scope}", where, f"one of {known}")
    return str(scope)


def _joint(text: str, where: str) -> tuple[tuple[str, ...], bool]:
    body = decoded_mapping(text, "device-joint-allocate", where)
    types = field(body, "deviceTypes") or []
    if not isinstance(types, list) or not all(isinstance(one, str) for one in types):
        raise GputopoError("device-joint-allocate: deviceTypes is not a list of strings", where)
    scope = field(body, "requiredScope") or ""
    if scope not in ("", "SamePCIe"):
        raise GputopoError(f"device-joint-allocate: no such requiredScope: {scope}", where, "SamePCIe, or none")
    return tuple(types), scope == "SamePCIe"


def _with_spec(demand: Demand, text: str, where: str) -> Demand:
    body = decoded_mapping(text, "gpu-partition-spec", where)
    policy = field(body, "allocatePolicy") or "BestEffort"
    if policy not in ("BestEffort", "Restricted"):
        raise GputopoError(
            f"gpu-partition-spec: no such allocatePolicy: {policy}", where, "Restricted or BestEffort"
        )
    ring = field(body, "ringBusBandwidth")
    try:
        least = None if ring is None else quantity(ring)
    except ValueError as error:
        raise GputopoError(f"gpu-partition-spec: ringBusBandwidth: {error}", where) from None
    return demand._replace(honor=True, restricted=policy == "Restricted", bandwidth=least)
