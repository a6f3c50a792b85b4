"""ResourceClaims and ResourceSlices of every version, and what drivers publish of a device."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gputopo.holdings import DeviceHeld, DeviceName
from gputopo.parsers.object_holdings import parse
from tests.pods_sources.objects import pod, said
from tests.pods_sources.samples import SHARED, needs_samples

UUID = "GPU-00000000-0000-4000-8000-000000000001"
VERSIONS = ("v1", "v1beta2", "v1beta1", "v1alpha3")


def claim(name: str = "two", version: str = "v1", node: str | None = None, **result: Any) -> dict[str, Any]:
    one = {"request": "gpus", "driver": "gpu.nvidia.com", "pool": "p", "device": "gpu-0", **result}
    allocation: dict[str, Any] = {"devices": {"results": [one]}}
    if node is not None:
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [term]}
    metadata = {"namespace": "ml", "name": name, "uid": "c1"}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceClaim", "metadata": metadata,
            "status": {"allocation": allocation}}  # fmt: skip


def resource_slice(
    attributes: dict[str, Any], version: str = "v1", node: str | None = "n1", generation: int = 1, name: str = "gpu-0"
) -> dict[str, Any]:
    device: dict[str, Any] = {"attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}
    device = {"name": name, **({"basic": device} if version in ("v1beta1", "v1alpha3") else device)}
    spec = {"driver": "gpu.nvidia.com", "pool": {"name": "p", "generation": generation}, "devices": [device]}
    where = {"nodeName": node} if node is not None else {"allNodes": True}
    return {"apiVersion": f"resource.k8s.io/{version}", "kind": "ResourceSlice",
            "metadata": {"name": f"s-{generation}-{name}"}, "spec": {**spec, **where}}  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_a_claim_of_every_version(version: str) -> None:
    [one] = said(claim(version=version, node="n1"))
    [found] = one.claims
    assert (one.node, found.namespace, found.name, found.uid, found.pods) == ("n1", "ml", "two", "c1", ())
    assert found.devices == (("gpus", DeviceHeld("claim:two/gpus", "gpu.nvidia.com/p/gpu-0", "dra")),)
    assert one.names == (DeviceName("k8s.gpu.nvidia.com/claim=c1-gpu-0", "cdi", dra="gpu.nvidia.com/p/gpu-0"),)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_slice_of_every_version(version: str) -> None:
    attributes = {"uuid": {"string": UUID}, "type": {"string": "gpu"}, "minor": {"int": 3}, "index": {"int": 1}}
    [one] = said(resource_slice(attributes, version))
    [name] = one.names
    assert (one.node, name.id, name.uuid, name.minor, name.nvml_index) == ("n1", "gpu.nvidia.com/p/gpu-0", UUID, 3, 1)
    assert one.allocatable == (DeviceHeld("gpu.nvidia.com", "gpu.nvidia.com/p/gpu-0", "dra"),)


@pytest.mark.parametrize(
    "key", ["resource.kubernetes.io/pciBusID", "pciBusID", "gpu.nvidia.com/pcieBusID", "dra.net/pciAddress", "pciAddr"]
)
def test_the_address_by_its_names_in_several_drivers(key: str) -> None:
    [one] = said(resource_slice({key: {"string": "0000:18:00.0"}}))
    assert one.names[0].pci == "0000:18:00.0"


@pytest.mark.parametrize(
    ("attributes", "numa"),
    [
        ({"resource.kubernetes.io/numaNode": {"int": 1}, "numa": {"int": 0}}, (1,)),
        ({"dra.net/numaNode": {"int": 0}}, (0,)),
        ({"numa": {"int": -1}}, None),
        ({"resource.kubernetes.io/numaNode": {"ints": [0, 1]}}, (0, 1)),
        ({"uuid": {"string": UUID}}, None),
    ],
)
def test_the_numa_node_where_a_driver_says_it(attributes: dict[str, Any], numa: tuple[int, ...] | None) -> None:
    assert said(resource_slice(attributes))[0].names[0].numa_nodes == numa


def test_a_mig_device_is_a_part_of_its_gpu() -> None:
    attributes = {"type": {"string": "mig"}, "parentUUID": {"string": UUID}, "profile": {"string": "1g.10gb"}}
    [one] = said(resource_slice(attributes, name="gpu-0-mig-1g10gb-19-0"))
    assert (one.names[0].part_of, one.names[0].uuid) == (UUID, None)


def test_of_a_pool_only_the_highest_generation_counts() -> None:
    old, new = ({"uuid": {"string": f"GPU-{name}"}} for name in ("old", "new"))
    [one] = said(resource_slice(old, generation=1), resource_slice(new, generation=2))
    assert [name.uuid for name in one.names] == ["GPU-new"]


def test_a_device_of_several_nodes_is_named_where_a_claim_has_it() -> None:
    attributes = {"uuid": {"string": UUID}}
    one, other = said(pod("a", "n1", "GPU-a"), claim(node="n2"), resource_slice(attributes, node=None))
    assert (one.node, one.names) == ("n1", ())
    assert (other.node, [name.uuid for name in other.names]) == ("n2", [None, UUID][::-1])


def test_admin_access_and_shares_are_no_whole_device() -> None:
    [one] = said(claim("admin", node="n1", adminAccess=True), claim("part", node="n1", shareID="s-1"))
    assert [held.share for each in one.claims for _, held in each.devices or ()] == ["admin access", "s-1"]


def test_a_claim_nobody_allocated_holds_nothing() -> None:
    body = claim()
    body["status"] = {}
    assert said(body)[0].claims == ()


def test_a_claim_is_on_the_node_of_its_pool_where_nothing_else_says_it() -> None:
    [one] = said(claim(), resource_slice({"uuid": {"string": UUID}}, node="n9"))
    assert (one.node, one.claims[0].name) == ("n9", "two")


def test_claims_without_a_place_beside_several_nodes_are_said() -> None:
    one, _ = said(pod("a", "n1", "GPU-a"), pod("b", "n2", "GPU-b"), claim("lost"))
    assert [(gap.subjects, gap.attribute) for gap in one.gaps] == [(("lost",), "node")]


@needs_samples
def test_published_slices_name_each_gpu() -> None:
    """Two real nodes: the names follow the minor numbers, the order does not."""
    folder = SHARED / "data/dra/samples"
    found = parse((folder / "real-aws-p5-8xh100-two-nodes-k8s-v1.yaml").read_text())
    assert [len(one.names) for one in found] == [8, 8]
    for one in found:
        assert all(name.uuid and name.pci for name in one.names)
        assert sorted(name.id.rpartition("/")[2] for name in one.names) == [f"gpu-{at}" for at in range(8)]
    for name in ("nvidia-8xh100-driver-v25.3.2-k8s-v1beta1", "nvidia-8xh100-driver-v0.5.0-dev-k8s-v1"):
        [one] = parse((folder / f"{name}.yaml").read_text())
        assert len([each for each in one.names if each.uuid and each.pci]) == 8, name
    [one] = parse(json.dumps(json.loads((SHARED / "data/kubernetes-samples/dra-resourceslice-h100.json").read_text())))
    assert one.names[0].pci == "0000:18:00.0"
