"""GT313: an attribute that the driver of the request does not publish."""

from __future__ import annotations

import pytest

from gputopo.rules.manifests.problem import Context
from tests.lint.linted import lint, place_of

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - {name: a, exactly: {deviceClassName: FIRST}}
    - {name: b, exactly: {deviceClassName: SECOND}}
    constraints: [{matchAttribute: ATTRIBUTE}]
"""
ROOT, NUMA = "resource.kubernetes.io/pcieRoot", "resource.kubernetes.io/numaNode"
SRIOV = "sriovnetwork.k8snetworkplumbingwg.io"


def tied(attribute: str, first: str, second: str) -> str:
    return CLAIM.replace("ATTRIBUTE", attribute).replace("FIRST", first).replace("SECOND", second)


@pytest.mark.parametrize(
    ("attribute", "first", "second", "expected"),
    [
        (NUMA, "gpu.nvidia.com", "dra.net", [("info", "request b", ROOT)]),
        (NUMA, "gpu.nvidia.com", SRIOV, [("warning", "request b", ROOT)]),
        (
            NUMA,
            SRIOV,
            "dra.net",
            [("info", "request b", "dra.net/numaNode"), ("warning", "request a", "dra.net/numaN")],
        ),
        (NUMA, "gpu.amd.com", "gpu.amd.com", [("warning", "request a", "gpu.amd.com/numaNode")] * 2),
        (NUMA, "dra.cpu", "dra.cpu", [("info", "request a", "dra.net/numaNode")] * 2),
        ("dra.net/numaNode", "gpu.nvidia.com", "dra.net", [("error", "request a", ROOT)]),
        ("gpu.amd.com/numaNode", "gpu.amd.com", "dra.net", [("warning", "request b", ROOT)]),
        ("gpu.intel.com/pciRoot", "gpu.intel.com", "dranet", [("warning", "request b", ROOT)]),
        (ROOT, "gpu.intel.com", "dranet", [("info", "request a", "")]),
        (ROOT, "gpu.nvidia.com", "dra.cpu", [("warning", "as a list", "")]),
        (ROOT, "gpu.nvidia.com", "dra.net", []),
        (ROOT, "gpu.amd.com", SRIOV, []),
        ("dra.net/numaNode", "dra.cpu", SRIOV, []),
        ("dra.net/numaNode", "a.class", "b.class", []),
        ("vendor.example.com/rack", "gpu.nvidia.com", "dra.net", []),
        ("gce.dra.net/block", "dra.net", "dra.net", []),
    ],
)
def test_a_constraint_over_devices_of_two_drivers(
    attribute: str, first: str, second: str, expected: list[tuple[str, str, str]]
) -> None:
    found = [one for one in lint(tied(attribute, first, second), context=Context("0.5", True)) if one.rule == "GT313"]
    found.sort(key=lambda one: one.severity != "info")
    assert [one.severity for one in found] == [severity for severity, _, _ in expected]
    for one, (_, part, remedy) in zip(found, expected):
        assert one.place == place_of(CLAIM, "ATTRIBUTE")
        assert remedy in one.remedy
        assert part in one.message or len(set(expected)) == 1


CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: fast-nics}\nspec:\n  selectors:\n" + (
    "  - cel: {expression: \"device.driver == 'dra.net'\"}\n"
)
SLICE = """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: DRIVER
  nodeName: n
  pool: {name: n, generation: 1, resourceSliceCount: 1}
  devices: [{name: d, attributes: {ATTRIBUTES}}]
"""


def slice_of(driver: str, attributes: str) -> str:
    return SLICE.replace("DRIVER", driver).replace("ATTRIBUTES", attributes)


def test_the_class_of_the_same_run_says_whose_devices_they_are() -> None:
    text = tied("dra.cpu/socketID", "fast-nics", "fast-nics")
    assert lint(text) == []
    assert {one.rule for one in lint(text, CLASS)} == {"GT313"}


def test_slices_of_the_run_weigh_more_than_the_table() -> None:
    text = tied(NUMA, "dra.net", "dra.net")
    assert [one.severity for one in lint(text)] == ["info"] * 2
    assert lint(text, slice_of("dra.net", f"{NUMA}: {{int: 0}}")) == []
    found = lint(text, slice_of("dra.net", "dra.net/numaNode: {int: 0}"))
    assert [one.severity for one in found] == ["warning"] * 2
    assert "they have dra.net/numaNode" in found[0].message


def test_slices_of_an_unknown_driver_decide_as_well() -> None:
    text = tied(ROOT, "gpu.intel.com", "gpu.intel.com")
    shown = lint(text, slice_of("gpu.intel.com", "pciRoot: {string: '15'}"))
    assert all("they have gpu.intel.com/pciRoot" in one.message for one in shown)
    assert len(shown) == 2


def test_slices_that_show_an_attribute_silence_the_version_of_nvidia() -> None:
    text = tied(NUMA, "gpu.nvidia.com", "gpu.nvidia.com")
    assert [one.rule for one in lint(text)] == ["GT303"]
    assert lint(text, slice_of("gpu.nvidia.com", f"{NUMA}: {{int: 0}}")) == []


SELECTING = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: a
      exactly:
        deviceClassName: CLASS
        selectors: [{cel: {expression: "EXPRESSION"}}]
"""
STANDARD = "device.attributes['resource.kubernetes.io']"


@pytest.mark.parametrize(
    ("device_class", "expression", "expected"),
    [
        (SRIOV, f"{STANDARD}.numaNode == 0", [("warning", "device.attributes['dra.net'].numaNode")]),
        (SRIOV, f"has({STANDARD}.numaNode) && {STANDARD}.numaNode == 0", []),
        ("dra.net", f"{STANDARD}.numaNode == 0", [("info", "device.attributes['dra.net'].numaNode")]),
        ("gpu.nvidia.com", "device.attributes['dra.net'].rdma", [("error", "")]),
        ("dra.cpu", f"{STANDARD}.pcieRoot == 'pci0000:15'", [("warning", "")]),
        ("any", f"device.driver == 'dra.net' && {STANDARD}.numaNode == 0", [("info", "device.attributes['dra.net']")]),
        ("any", f"{STANDARD}.numaNode == 0", []),
        (SRIOV, "device.attributes['dra.net'].numaNode == 0", []),
    ],
)
def test_a_selector_on_devices_of_another_driver(
    device_class: str, expression: str, expected: list[tuple[str, str]]
) -> None:
    text = SELECTING.replace("CLASS", device_class).replace("EXPRESSION", expression)
    found = [one for one in lint(text) if one.rule == "GT313"]
    assert [one.severity for one in found] == [severity for severity, _ in expected]
    assert all(remedy in one.remedy for one, (_, remedy) in zip(found, expected))


@pytest.mark.parametrize(
    "body", ["spec: 3\n", "spec: {driver: [a], devices: 3}\n", "spec: {devices: [3, {basic: 4}]}\n"]
)
def test_slices_of_a_strange_shape_are_passed_over(body: str) -> None:
    strange = f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\n{body}"
    assert lint(tied(ROOT, "gpu.nvidia.com", "dra.net"), strange) == []
