"""What claims, templates and classes ask, with paths; what is not of the API's shape is passed over (GT300 says it)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gputopo.allocate.dra.published import COMPUTE_DOMAIN, DRIVER
from gputopo.cel.references import Reference, drivers, references
from gputopo.terms.manifest import Manifest, Path, Place

CLAIMS = ("ResourceClaim", "ResourceClaimTemplate")
WITH_SELECTORS = (*CLAIMS, "DeviceClass")
# Device classes that drivers install, and those that are named like their driver in its own examples: google/dranet,
# k8snetworkplumbingwg/dra-driver-sriov, kubernetes-sigs/dra-driver-cpu, ROCm/k8s-gpu-dra-driver,
# intel/intel-resource-drivers-for-kubernetes.
_CLASSES = {
    "gpu.nvidia.com": DRIVER, "mig.nvidia.com": DRIVER, "vfio.gpu.nvidia.com": DRIVER,
    "compute-domain-daemon.nvidia.com": COMPUTE_DOMAIN, "compute-domain-default-channel.nvidia.com": COMPUTE_DOMAIN,
    "dra.net": "dra.net", "dranet": "dra.net", "dra.cpu": "dra.cpu", "gpu.amd.com": "gpu.amd.com",
    "gpu.intel.com": "gpu.intel.com", "sriovnetwork.k8snetworkplumbingwg.io": "sriovnetwork.k8snetworkplumbingwg.io",
}  # fmt: skip


class Selector(NamedTuple):
    path: Path  # of the expression
    text: str

    def place(self, manifest: Manifest, line: int, column: int) -> Place:
        return manifest.inside(self.path, line, column)

    @property
    def references(self) -> list[Reference]:
        return references(self.text)


class Ask(NamedTuple):
    """A request, or one of its alternatives as `request/alternative`."""

    name: str
    path: Path
    device_class: str
    mode: str
    number: int
    selectors: tuple[Selector, ...]
    drivers: frozenset[str]  # those that the class and the selectors name; empty: nothing says whose devices

    @property
    def of_nvidia(self) -> bool:
        return DRIVER in self.drivers


class Constraint(NamedTuple):
    path: Path
    key: str  # matchAttribute or distinctAttribute
    attribute: str
    requests: tuple[str, ...]

    def covers(self, ask: Ask) -> bool:
        return not self.requests or ask.name in self.requests or ask.name.partition("/")[0] in self.requests


def devices_path(manifest: Manifest) -> Path:
    return ("spec", "spec", "devices") if manifest.kind == "ResourceClaimTemplate" else ("spec", "devices")


def value_at(manifest: Manifest, path: Path) -> Any:
    """None where there is none."""
    found: Any = manifest.object.body
    for step in path:
        if isinstance(step, int):
            found = found[step] if isinstance(found, list) and step < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def _listed(manifest: Manifest, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    found = value_at(manifest, path)
    for place, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict):
            yield (*path, place), one


def _text(body: dict[str, Any], key: str) -> str:
    found = body.get(key)
    return found if isinstance(found, str) else ""


def asks(manifest: Manifest, together: Sequence[Manifest] = ()) -> Iterator[Ask]:
    """Of a claim or template; fields directly under the request (v1beta1) and under `exactly`, whatever is there.
    `together`: where DeviceClass objects are looked for."""
    classes = {name: driver for one in together if one.kind == "DeviceClass" for name, driver in _tested(one)}
    for path, request in _listed(manifest, (*devices_path(manifest), "requests")):
        name = _text(request, "name")
        alternatives = list(_listed(manifest, (*path, "firstAvailable")))
        for own, body in alternatives:
            yield _ask(manifest, own, body, f"{name}/{_text(body, 'name')}", classes)
        if alternatives:
            continue
        inner = request.get("exactly")
        if isinstance(inner, dict):
            yield _ask(manifest, (*path, "exactly"), inner, name, classes)
        else:
            yield _ask(manifest, path, request, name, classes)


def _tested(of_class: Manifest) -> Iterator[tuple[str, frozenset[str]]]:
    """The name of a DeviceClass and the drivers that its selectors name."""
    name = value_at(of_class, ("metadata", "name"))
    if isinstance(name, str):
        found = (driver.name for one in _selectors(of_class, ("spec",)) for driver in drivers(one.text))
        yield name, frozenset(found)


def _ask(
    manifest: Manifest, path: Path, body: dict[str, Any], name: str, classes: dict[str, frozenset[str]]
) -> Ask:  # fmt: skip
    count = body.get("count")
    number = count if isinstance(count, int) and not isinstance(count, bool) else 1
    mode = _text(body, "allocationMode") or "ExactCount"
    device_class = _text(body, "deviceClassName")
    own = tuple(_selectors(manifest, path))
    installed = frozenset({_CLASSES[device_class]} if device_class in _CLASSES else ())
    named = classes.get(device_class, installed) or installed
    named |= {driver.name for selector in own for driver in drivers(selector.text)}
    return Ask(name, path, device_class, mode, number, own, named)


def _selectors(manifest: Manifest, path: Path) -> Iterator[Selector]:
    for own, body in _listed(manifest, (*path, "selectors")):
        cel = body.get("cel")
        text = cel.get("expression") if isinstance(cel, dict) else None
        if isinstance(text, str):
            yield Selector((*own, "cel", "expression"), text)


def selectors(manifest: Manifest, together: Sequence[Manifest] = ()) -> Iterator[tuple[Selector, bool]]:
    """Every selector, and whether it is asked of NVIDIA's devices."""
    if manifest.kind == "DeviceClass":
        for one in _selectors(manifest, ("spec",)):
            yield one, any(driver.name == DRIVER for driver in drivers(one.text))
        return
    for ask in asks(manifest, together):
        for one in ask.selectors:
            yield one, ask.of_nvidia


def constraints(manifest: Manifest) -> Iterator[Constraint]:
    for path, body in _listed(manifest, (*devices_path(manifest), "constraints")):
        named = body.get("requests")
        requests = tuple(one for one in named if isinstance(one, str)) if isinstance(named, list) else ()
        for key in ("matchAttribute", "distinctAttribute"):
            if _text(body, key):
                yield Constraint(path, key, _text(body, key), requests)
