"""The common slips of people who write a claim or class: each is found, at its place, with what to write instead.

The list is that of what was found in published manifests; each row is one of them, and a near miss that is right.
"""

from __future__ import annotations

import pytest

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run
from tests.lint.test_dra_rules import FINE, HERE, MEMORY, claim

STANDARD = "device.attributes['resource.kubernetes.io']"
VERSION = f"{HERE}driverVersion"
FIRST = 17  # the column of the expression in `claim`


def lint(text: str, context: Context | None = None) -> list[Problem]:
    manifests = read(text)
    return list(run(manifests, (context or Context())._replace(together=manifests)))


# what is wrong, the rule that says so, at which text of the expression, what to write instead
SELECTORS = [
    ("an attribute that no version publishes", f"{HERE}model == 'NVIDIA L4'", "GT303", "model", "productName"),
    ("an attribute of an older version", f"{HERE}index == 3", "GT303", "index", "published by 25.3"),
    ("a bare standard name", f"{HERE}pcieRoot == 'pci0000:15'", "GT303", "pcieRoot", f"{STANDARD}.pcieRoot"),
    ("a bare standard name", f"{HERE}numaNode == 1", "GT303", "numaNode", f"{STANDARD}.numaNode (0.5)"),
    ("a qualified index of one level", "device.attributes['resource.kubernetes.io/pcieRoot'] == 'pci0000:15'", "GT302",
     "== 'pci", f"{STANDARD}.pcieRoot"),
    ("a qualified index of one level", "device.attributes['gpu.nvidia.com/type'] == 'gpu'", "GT302", "== 'gpu'",
     "device.attributes['gpu.nvidia.com'].type"),
    ("a qualified index with a field", "device.attributes['dra.net/rdma'].bool == true", "GT303", "bool",
     "device.attributes['dra.net'].rdma"),
    ("an operator on a quantity", f"{MEMORY} >= quantity('79Gi')", "GT302", ">=",
     ".compareTo(quantity('79Gi')) >= 0"),
    ("an operator on a quantity", f"{MEMORY} >= 79Gi", "GT302", "Gi", "quantity('79Gi')"),
    ("an operator on a quantity", f"{MEMORY} - quantity('1Gi') == quantity('1Gi')", "GT302", "-", ".sub(...)"),
    ("a capacity equal to a number", f"{MEMORY} == 16", "GT302", "==", "== quantity('16')"),
    ("a comparison without quantity()", f"{MEMORY}.compareTo('79Gi') >= 0", "GT302", "('79Gi')",
     "compareTo(quantity('79Gi'))"),
    ("a comparison without quantity()", f"{MEMORY}.isGreaterThan('79 GB')", "GT302", "('79 GB')",
     "isGreaterThan(quantity('79G'))"),
    ("a unit that is none", f"{MEMORY}.compareTo(quantity('80GB')) >= 0", "GT312", "quantity(", "quantity('80G')"),
    ("a unit that is none", f"{MEMORY}.isLessThan(quantity('80GiB'))", "GT312", "quantity(", "quantity('80Gi')"),
    ("an operator on a version", f"{VERSION} >= semver('580.0.0')", "GT302", ">=",
     ".compareTo(semver('580.0.0')) >= 0"),
    ("a version compared with a text", f"{VERSION} >= '580'", "GT305", "driverVersion",
     ".compareTo(semver('580.0.0')) >= 0"),
    ("a version compared with a text", f"{VERSION}.isGreaterThan('580.1.0')", "GT305", "driverVersion",
     ".isGreaterThan(semver('580.1.0'))"),
    ("a version of two parts", f"{VERSION}.compareTo(semver('580.1')) >= 0", "GT312", "semver(",
     "semver('580.1.0')"),
    ("a version with a v", f"{VERSION}.compareTo(semver('v580.1.0')) >= 0", "GT312", "semver(", "semver('580.1.0')"),
    ("a single &", f"{FINE} & {FINE}", "GT302", "& ", "&&"),
    ("and", f"{FINE} and {FINE}", "GT302", "and ", "&&"),
    ("or", f"{FINE} or {FINE}", "GT302", "or ", "||"),
    ("not", f"not({FINE})", "GT302", "(device", "!"),
    ("a single =", f"{HERE}type = 'gpu'", "GT302", "= 'gpu'", "=="),
    ("three =", f"{HERE}type === 'gpu'", "GT302", "= 'gpu'", "== alone"),
    ("a short product name", f"{HERE}productName == 'H100'", "GT304", "productName", ".contains('H100')"),
    ("the name of the label", f"{HERE}productName == 'NVIDIA-H100-80GB-HBM3'", "GT304", "productName",
     "'NVIDIA H100 80GB HBM3'"),
    ("a list of short names", f"{HERE}productName in ['H100', 'H200']", "GT304", "productName", ".contains('H100')"),
    ("another spelling", f"{HERE}architecture == 'Ada'", "GT304", "architecture", "'Ada Lovelace'"),
    ("another spelling", f"{HERE}brand == 'NVIDIA'", "GT304", "brand", "'Nvidia'"),
    ("another spelling", f"{HERE}profile == '1g.10GB'", "GT304", "profile", "'1g.10gb'"),
    ("the address of nvidia-smi", f"{STANDARD}.pciBusID == '00000000:1B:00.0'", "GT304", "pciBusID",
     "'0000:1b:00.0'"),
    ("a field that there is not", "device.name == 'gpu-0'", "GT302", ".name", "device has driver"),
]  # fmt: skip


@pytest.mark.parametrize(("why", "expression", "rule", "at", "instead"), SELECTORS, ids=[row[1] for row in SELECTORS])
def test_a_slip_in_a_selector_is_found_with_what_to_write(
    why: str, expression: str, rule: str, at: str, instead: str
) -> None:
    found = [one for one in lint(claim(expression)) if one.rule == rule]
    places = [expression.index(at), expression.rindex(at)]
    assert any(one.place == (16, FIRST + place) and instead in one.remedy for one in found for place in places), (
        why, lint(claim(expression)),
    )  # fmt: skip


@pytest.mark.parametrize(
    "expression",
    [
        f"{STANDARD}.pcieRoot == 'pci0000:15'",
        f"{MEMORY}.compareTo(quantity('79Gi')) >= 0 && {MEMORY} == quantity('80G')",
        f"{MEMORY}.sub(quantity('1Gi')).isGreaterThan(quantity('40Gi'))",
        f"{VERSION}.compareTo(semver('v580.1', true)) >= 0 && {VERSION} == semver('580.1.0')",
        f"{VERSION}.major() == 580",
        f"{HERE}type == 'gpu' && !({HERE}brand == 'Tesla') || {HERE}architecture == 'Ada Lovelace'",
        f"{HERE}productName in ['NVIDIA H100 80GB HBM3', 'NVIDIA H200']",
        f"{HERE}productName.matches(r'\\bA10\\b')",
        f"{HERE}uuid == '0f1e2d3c-0000-5000-8000-000000000001'",
        f"{HERE}productName == 'GH100 [H100 SXM5 80GB]'",
        f"{HERE}productName == 'GRID A100-10C'",
        f"{STANDARD}.pciBusID == '0000:1b:00.0'",
        f"{HERE}deviceID == '0x2330' && {HERE}iommuFDEnabled",
        "device.capacity['gpu.nvidia.com'].addressableMemory.isGreaterThan(quantity('1Gi'))",
        "isQuantity('80GB') && quantity('80GB').isInteger()",
    ],
)
def test_what_is_right_is_silent(expression: str) -> None:
    assert lint(claim(expression)) == []


CONSTRAINED = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.nvidia.com, COUNT}}
    - {name: nic, exactly: {deviceClassName: dra.net, count: 1}}
    constraints:
    - {requests: [REQUESTS], ATTRIBUTE}
"""


def constrained(attribute: str, requests: str = "gpu, nic", count: str = "count: 1") -> str:
    text = CONSTRAINED.replace("REQUESTS", requests).replace("COUNT", count)
    return text.replace("ATTRIBUTE", attribute)


ROOT = "matchAttribute: resource.kubernetes.io/pcieRoot"
NUMA = "matchAttribute: resource.kubernetes.io/numaNode"


@pytest.mark.parametrize(
    ("text", "rule", "severity", "instead"),
    [
        (constrained(ROOT, count="count: 4"), "GT308", "warning", "one GPU and one NIC a constraint"),
        (constrained(NUMA), "GT313", "info", "resource.kubernetes.io/pcieRoot"),
        (constrained("matchAttribute: dra.net/numaNode"), "GT313", "error", "resource.kubernetes.io/pcieRoot"),
        (constrained("matchAttribute: gpu.nvidia.com/nvlinkDomain", "gpu"), "GT303", "error", "partition1"),
        (constrained("matchAttribute: pcieRoot"), "GT303", "error", ""),
        (constrained("distinctAttribute: gpu.nvidia.com/uuid", "gpu", "count: 3"), "GT309", "warning", "one request"),
        (constrained(ROOT, "gpu", "allocationMode: All"), "GT314", "warning", "a count"),
        (constrained(ROOT, count="count: 33"), "GT307", "error", ""),
        (constrained(ROOT, "gpus, nic"), "GT306", "error", "there are gpu, nic"),
        (constrained(ROOT, "gpu/big, nic"), "GT306", "error", "there are gpu, nic"),
        (constrained(ROOT, count="adminAccess: true"), "GT315", "info", "resource.kubernetes.io/admin-access"),
        (constrained(ROOT, count="count: 1, allocationMode: All"), "GT300", "error", "ExactCount"),
    ],
)
def test_a_slip_in_a_claim_is_found(text: str, rule: str, severity: str, instead: str) -> None:
    found = [one for one in lint(text) if one.rule == rule]
    assert [one.severity for one in found] == [severity], lint(text)
    assert instead in found[0].remedy


def test_one_gpu_and_one_nic_below_one_root_is_right() -> None:
    assert lint(constrained(ROOT)) == []


def test_a_class_without_a_guard_and_with_one() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n"
    [found] = lint(f'{text}  - cel: {{expression: "{FINE}"}}\n')
    assert (found.rule, found.remedy) == ("GT310", "device.driver == 'gpu.nvidia.com' && ...")
    assert lint(f"{text}  - cel: {{expression: \"device.driver == 'gpu.nvidia.com' && {FINE}\"}}\n") == []
