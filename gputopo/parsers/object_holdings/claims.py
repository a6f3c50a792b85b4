"""ResourceClaims and ResourceSlices of resource.k8s.io: v1, v1beta2, v1beta1 and v1alpha3 (DRA of 1.31 and later).

    >>> result = {"request": "gpus", "driver": "gpu.nvidia.com", "pool": "n", "device": "gpu-0"}
    >>> status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [{"resource": "pods", "uid": "u1"}]}
    >>> said = claim({"metadata": {"name": "two", "uid": "c1"}, "status": status})
    >>> [(to, one.id) for to, one in said.record.devices], said.record.pods
    ([('gpus', 'gpu.nvidia.com/n/gpu-0')], ('u1',))

What a device is, its slice says in attributes, bare or with a domain (facts: dra.md §4): uuid, pciBusID, minor, index,
numaNode. Which of them there are changes with the driver's release, and NUMA node -1 is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gputopo.holdings import ClaimRecord, DeviceHeld, DeviceName
from gputopo.parsers.object_holdings.said import ClaimSaid, SliceSaid
from gputopo.terms.kube_object import Body, WrongShape, boolean, integer, mapping, mappings, sequence, text

ADMIN = "admin access"
_PCI = ("resource.kubernetes.io/pciBusID", "pciBusID", "pcieBusID", "pciAddress", "pciAddr")
_NUMA = ("resource.kubernetes.io/numaNode", "numaNode", "numa", "numaNodeID")
_NETWORK = ("rdmaDevice", "rdmaDev", "ifName", "interfaceName")


def claim(body: Body) -> ClaimSaid:
    """Raises WrongShape."""
    metadata, status = mapping(body, "metadata"), mapping(body, "status")
    name, uid = text(metadata, "name", "metadata.name"), text(metadata, "uid", "metadata.uid") or None
    allocation = mapping(status, "allocation", "status.allocation")
    results = mappings(mapping(allocation, "devices"), "results", "status.allocation.devices.results")
    devices = tuple(_result(one, name) for one in results) if allocation else None
    pods = tuple(
        text(one, "uid")
        for one in mappings(status, "reservedFor", "status.reservedFor")
        if text(one, "resource") == "pods" and text(one, "uid")
    )
    record = ClaimRecord(text(metadata, "namespace", "metadata.namespace") or None, name, uid, devices, pods)
    pools = tuple(dict.fromkeys((text(one, "driver"), text(one, "pool")) for one in results))
    return ClaimSaid(record, _nodes(mapping(allocation, "nodeSelector")), pools, tuple(_cdi_names(record)))


def _result(body: Body, claim: str) -> tuple[str, DeviceHeld]:
    request = text(body, "request")
    id = "/".join(text(body, key) for key in ("driver", "pool", "device"))
    share = ADMIN if boolean(body, "adminAccess") else text(body, "shareID")
    # A subrequest of a prioritized list is written request/subrequest; containers ask for the request.
    return request, DeviceHeld(f"claim:{claim}/{request}" if request else f"claim:{claim}", id, "dra", share=share)


def _cdi_names(record: ClaimRecord) -> Iterator[DeviceName]:
    """The CDI name of each device, as drivers on the helper of Kubernetes write it: k8s.DRIVER/claim=UID-DEVICE."""
    for _, device in record.devices or ():
        driver, _, rest = device.id.partition("/")
        if record.uid:
            name = f"k8s.{driver}/claim={record.uid}-{rest.rpartition('/')[2]}"
            yield DeviceName(name, "cdi", dra=device.id)


def _nodes(selector: Body) -> tuple[str, ...]:
    found: list[str] = []
    for term in mappings(selector, "nodeSelectorTerms", "status.allocation.nodeSelector.nodeSelectorTerms"):
        for one in mappings(term, "matchFields"):
            if text(one, "key") == "metadata.name" and text(one, "operator") == "In":
                found += [value for value in sequence(one, "values") if isinstance(value, str)]
    return tuple(dict.fromkeys(found))


def resource_slice(body: Body) -> SliceSaid:
    """Raises WrongShape."""
    spec = mapping(body, "spec")
    pool = mapping(spec, "pool", "spec.pool")
    driver, name = text(spec, "driver", "spec.driver"), text(pool, "name", "spec.pool.name")
    names, held = [], []
    for one in mappings(spec, "devices", "spec.devices"):
        known, kind = _device(one, f"{driver}/{name}/{text(one, 'name')}", driver)
        names.append(known)
        if kind in ("gpu", "mig"):
            held.append(DeviceHeld(driver, known.id, "dra", known.numa_nodes))
    generation = integer(pool, "generation", "spec.pool.generation") or 0
    return SliceSaid(driver, name, generation, text(spec, "nodeName", "spec.nodeName"), tuple(names), tuple(held))


def _device(body: Body, id: str, driver: str) -> tuple[DeviceName, str]:
    """v1beta1 has attributes below `basic`."""
    basic = mapping(body, "basic") or body
    attributes = mapping(basic, "attributes")
    values = {key: _value(attributes, key) for key in attributes}
    bare = {key.rpartition("/")[2]: value for key, value in values.items()} | values

    def first(keys: Iterable[str]) -> object:
        return next((bare[key] for key in keys if bare.get(key) is not None), None)

    kind = _string(bare.get("type"))
    name = DeviceName(
        id, "dra", _string(bare.get("uuid")), _string(first(_PCI)), _number(bare.get("index")),
        _number(bare.get("minor")), _string(first(_NETWORK)), id, _numa(first(_NUMA)),
        part_of=_string(bare.get("parentUUID")) if kind == "mig" else None,
    )  # fmt: skip
    is_gpu = (name.uuid or "").startswith("GPU-") or "gpu" in driver
    return name, (kind or ("gpu" if is_gpu else "")) if is_gpu or kind == "mig" else ""


def _value(attributes: Body, key: str) -> object:
    """{"string": "…"}, {"int": 1}, {"version": "1.2.3"}, {"bool": true}; lists of these since 1.36."""
    one = attributes[key]
    if not isinstance(one, dict):
        raise WrongShape(f"attribute {key} is no mapping")
    return next(iter(one.values()), None)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _numa(value: object) -> tuple[int, ...] | None:
    numbers = [_number(one) for one in value] if isinstance(value, list) else [_number(value)]
    return tuple(one for one in numbers if one is not None) or None
