"""Objects of the three API versions read alike, and devices joined to a node by UUID or PCI address."""

from __future__ import annotations

from typing import Any

import pytest

from gputopo.allocate.dra.amount import amount
from gputopo.allocate.dra.join import joined
from gputopo.allocate.dra.objects import Attribute, Device, DeviceId, Slice
from gputopo.allocate.dra.published import line_of, published
from gputopo.allocate.dra.read_claims import allocated_of, claim_of
from gputopo.allocate.dra.read_slices import slice_of
from gputopo.terms.kube_object import KubeObject, WrongShape
from gputopo.terms.path_level import PathLevel
from gputopo.topology.node import Bridge, Gpu, NodeTopology, Pair, System

GROUP = "resource.k8s.io"


def made(version: str, kind: str, spec: dict[str, Any], **more: Any) -> KubeObject:
    head = {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": "x"}}
    return KubeObject({**head, "spec": spec, **more})


def test_a_claim_is_the_same_in_every_version() -> None:
    flat = {"name": "r", "deviceClassName": "c", "selectors": [{"cel": {"expression": "true"}}]}
    nested = {"name": "r", "exactly": {key: value for key, value in flat.items() if key != "name"}}
    claims = [
        claim_of(made(version, "ResourceClaim", {"devices": {"requests": [one]}}))
        for version, one in (("v1beta1", flat), ("v1beta2", nested), ("v1", nested))
    ]
    assert claims[0] == claims[1] == claims[2]
    assert claims[0].requests[0].exactly.mode == "ExactCount"


def test_a_slice_is_the_same_in_every_version() -> None:
    fields = {"attributes": {"a": {"version": "1.0.0"}}, "capacity": {"memory": {"value": "1Gi"}}}
    spec = {"driver": "d", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    old = slice_of(made("v1beta1", "ResourceSlice", {**spec, "devices": [{"name": "x", "basic": fields}]}))
    new = slice_of(made("v1", "ResourceSlice", {**spec, "devices": [{"name": "x", **fields}]}))
    assert old == new
    assert new.devices[0].attributes == {"a": Attribute("version", "1.0.0")}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"devices": [{"name": "x", "basic": {}}]}, r"devices\[0\].basic"),
        ({"devices": [{"name": "x", "attributes": {"a": 7}}]}, r"attributes.a is no mapping"),
        ({"devices": [{"name": "x", "attributes": {"a": {"int": "7"}}}]}, "a.int has a value of another type"),
        ({"devices": [{"name": "x", "attributes": {"a": {"int": 1, "bool": True}}}]}, "has several types"),
        ({"devices": [{"name": "x", "capacity": {"m": {"value": "80 Gi"}}}]}, "capacity.m.value is no quantity"),
        ({"pool": "p"}, "spec.pool is the string"),
    ],
)
def test_what_the_api_server_would_refuse_is_said_with_its_path(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(WrongShape, match=says):
        slice_of(made("v1", "ResourceSlice", spec))


def test_admin_access_holds_nothing_and_shares_add_up() -> None:
    id = {"driver": "d", "pool": "p"}
    results = [
        {**id, "device": "a"},
        {**id, "device": "b", "adminAccess": True},
        {**id, "device": "c", "shareID": "1", "consumedCapacity": {"m": "1Gi"}},
        {**id, "device": "c", "shareID": "2", "consumedCapacity": {"m": "512Mi"}},
    ]
    status = {"allocation": {"devices": {"results": results}}}
    held = allocated_of([made("v1", "ResourceClaim", {}, status=status)], True)
    assert held.devices == {DeviceId("d", "p", "a")}
    assert str(held.capacity[DeviceId("d", "p", "c")]["m"]) == "1536Mi"
    assert len(allocated_of([made("v1", "ResourceClaim", {}, status=status)], False).devices) == 2


@pytest.mark.parametrize(
    ("text", "printed"),
    [("81559Mi", "81559Mi"), ("1024Mi", "1Gi"), ("1500m", "1500m"), ("0", "0"), ("1e3", "1e3"), ("1000k", "1M"),
     ("0.5Gi", "512Mi"), ("100", "100")],
)  # fmt: skip
def test_quantities_print_in_canonical_form(text: str, printed: str) -> None:
    assert str(amount(text)) == printed


def test_devices_are_joined_by_uuid_or_address_and_never_by_the_number_in_a_name() -> None:
    devices = (
        Device("gpu-1", {"uuid": Attribute("string", "GPU-a")}),
        Device("gpu-0", {"resource.kubernetes.io/pciBusID": Attribute("string", "0000:1B:00.0")}),
        Device("gpu-2"),
    )
    own = Slice("s", "gpu.nvidia.com", "n", devices=devices)
    node = NodeTopology(gpus=(Gpu("GPU0", uuid="GPU-a"), Gpu("GPU1", pci="0000:1b:00.0"), Gpu("GPU2")))
    found = joined(node, (own,)).gpus
    assert {id.device: gpu for id, gpu in found.items()} == {"gpu-1": "GPU0", "gpu-0": "GPU1"}


def test_what_the_driver_publishes_differs_by_its_version() -> None:
    gpu = Gpu("GPU0", minor=3, uuid="GPU-a", pci="0000:1b:00.0", parent="pci0000:15", numa_nodes=(1,), nvml_index=0,
              compute_capability="9.0", memory_bytes=81559 << 20)  # fmt: skip
    host = Bridge("pci0000:15", None, "hostBridge")
    node = NodeTopology("n", gpus=(gpu,), bridges=(host,), system=System(driver="580.105.08"))
    seen = {line: published(node, line).slices[0].devices[0] for line in ("25.3", "25.8", "0.4", "0.5")}
    assert {one.name for one in seen.values()} == {"gpu-3"}
    assert seen["0.5"].attributes["driverVersion"] == Attribute("version", "580.105.8")
    assert seen["0.5"].attributes["resource.kubernetes.io/pcieRoot"] == Attribute("string", "pci0000:15")
    standard = "resource.kubernetes.io"
    told = ("index", "pcieBusID", f"{standard}/pciBusID", f"{standard}/numaNode")
    assert [[name.rpartition("/")[2] for name in told if name in one.attributes] for one in seen.values()] == [
        ["index", "pcieBusID"], ["pcieBusID"], ["pciBusID"], ["pciBusID", "numaNode"],
    ]  # fmt: skip
    assert str(seen["0.4"].capacity["memory"].value) == "81559Mi"
    assert {"productName", "architecture", "brand"} <= published(node, "0.4").unknown
    assert line_of("v0.5.0-dev") == "0.5"


def test_roots_are_one_where_a_pair_says_so_and_open_where_none_does() -> None:
    gpus = tuple(Gpu(f"GPU{at}") for at in range(3))
    near = Pair("GPU0", "GPU1", pcie_candidates=(PathLevel.PXB,))
    open_ = Pair("GPU0", "GPU2", pcie_candidates=(PathLevel.PHB, PathLevel.NODE))
    far = Pair("GPU1", "GPU2", pcie_candidates=(PathLevel.PHB, PathLevel.NODE))
    node = NodeTopology(gpus=gpus, pairs=(near, open_, far))

    def roots(coarse: bool) -> int:
        devices = published(node, "0.4", coarse).slices[0].devices
        return len({one.attributes["resource.kubernetes.io/pcieRoot"] for one in devices})

    assert (roots(False), roots(True)) == (2, 1)
