"""What the rules over DRA manifests say, and where."""

from __future__ import annotations

import pytest

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.problem import Context, Problem
from gputopo.rules.manifests.run import run

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: four
spec:
  spec:
    devices:
      requests:
      - name: gpus
        exactly:
          deviceClassName: {device_class}
          count: {count}
          selectors:
          - cel:
              expression: |-
                {expression}
      constraints:
      - {key}: {attribute}
        requests: [gpus]
"""
FINE = "device.attributes['gpu.nvidia.com'].type == 'gpu'"
HERE = "device.attributes['gpu.nvidia.com']."
MEMORY = "device.capacity['gpu.nvidia.com'].memory"


def claim(
    expression: str = FINE, attribute: str = "resource.kubernetes.io/pcieRoot", count: int = 1,
    device_class: str = "gpu.nvidia.com", key: str = "matchAttribute",
) -> str:  # fmt: skip
    return CLAIM.format(
        expression=expression, attribute=attribute, count=count, device_class=device_class, key=key
    )  # fmt: skip


def lint(text: str, context: Context | None = None) -> list[Problem]:
    return list(run(read(text), context or Context()))


def codes(text: str, context: Context | None = None) -> list[str]:
    return [one.rule for one in lint(text, context)]


def test_a_claim_that_is_right_is_clean() -> None:
    assert lint(claim()) == []
    assert lint(claim(f"{HERE}productName.contains('H100') && {MEMORY}.compareTo(quantity('79Gi')) >= 0")) == []


@pytest.mark.parametrize(
    ("expression", "rule", "column", "part"),
    [
        (f"{HERE}model.contains('H100')", "GT303", 53, "attribute model"),
        (f"{HERE}memory > 3", "GT303", 53, "memory is a capacity"),
        ("device.capacity['gpu.nvidia.com'].vram.isInteger()", "GT303", 51, "capacity vram"),
        ("device.attributes['resource.kubernetes.io'].socket == 1", "GT303", 61, "no standard attribute"),
        (f"{HERE}productName == 'H100'", "GT304", 53, "never true"),
        (f"{HERE}type == 'GPU'", "GT304", 53, "the driver writes gpu"),
        (f"{HERE}architecture == 'hopper'", "GT304", 53, "Hopper"),
        (f"{HERE}uuid == '1234'", "GT304", 53, "five parts"),
        (f"{HERE}driverVersion >= '580.1'", "GT305", 53, "fails when it runs"),
        (f"{HERE}cudaComputeCapability == '9.0'", "GT305", 53, "fails when it runs"),
        (f"{MEMORY}.compareTo(quantity('80Gi')) >= 0", "GT311", 78, "81559Mi"),
        (f"{HERE}type = 'gpu'", "GT302", 58, "Syntax error"),
        ("device.node == 'a'", "GT302", 23, "undefined field"),
    ],
)
def test_a_fault_of_a_selector_is_named_at_its_place(expression: str, rule: str, column: int, part: str) -> None:
    found = [one for one in lint(claim(expression)) if one.rule == rule]
    assert found, lint(claim(expression))
    assert found[0].place == (16, column)
    assert part in found[0].message
    assert found[0].path == "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression"


@pytest.mark.parametrize(
    "expression",
    [
        f"{HERE}productName == 'NVIDIA H100 80GB HBM3'",
        f"{HERE}productName.contains('H100')",
        f"{HERE}architecture == 'Hopper'",
        f"{HERE}driverVersion.compareTo(semver('580.0.0')) >= 0",
        f"{HERE}productName.contains('A100') && {MEMORY}.compareTo(quantity('80Gi')) >= 0",
        f"{MEMORY}.isGreaterThan(quantity('60Gi'))",
        "device.attributes['other.example.com'].model == 'H100'",
        "device.driver == 'x.example.com' && device.attributes['x.example.com'].version == '1'",
    ],
)
def test_what_can_be_true_is_not_named(expression: str) -> None:
    assert codes(claim(expression)) == []


def test_later_faults_are_found_behind_a_syntax_error() -> None:
    found = lint(claim(f"{HERE}model == 'H100' && {MEMORY} >= 80Gi"))
    assert [one.rule for one in found] == ["GT303", "GT304", "GT302", "GT311", "GT302"]
    assert "in 80Gi" in found[-1].message


MODEL = f"{HERE}model"


@pytest.mark.parametrize(
    ("expression", "severity", "end"),
    [
        (f"has({MODEL}) && {MODEL}.startsWith('x')", "warning", "never true"),
        (f"{MODEL}.startsWith('x') && has({MODEL})", "warning", "never true"),
        (f"(has({MODEL}) && device.driver == 'gpu.nvidia.com') && {MODEL}.size() > 2", "warning", "never true"),
        (f"!has({MODEL}) || {MODEL}.startsWith('x')", "warning", "always true"),
        (f"has({MODEL}) ? {MODEL}.startsWith('x') : false", "warning", "never true"),
        (f"!has({MODEL}) ? false : {MODEL}.startsWith('x')", "warning", "never true"),
        ("'model' in device.attributes['gpu.nvidia.com'] && " + f"{MODEL}.size() > 2", "warning", "never true"),
        ("cel.bind(m, device.attributes['gpu.nvidia.com'], has(m.model) && m.model != '')", "warning", "never true"),
        (f"(has({MODEL}) && {MODEL}.size() > 2) || {FINE}", "warning", "it is never there"),
        ("device.attributes['gpu.nvidia.com'].?model.orValue('') == ''", "warning", "it is never there"),
        (f"has({HERE}index) && {HERE}index == 0", "info", "never true"),
        (f"{HERE}type == 'gpu' && (!has({HERE}index) || {HERE}index == 0)", None, ""),
        (f"has({MODEL}) || {MODEL}.startsWith('x')", "error", "attribute model"),
        (f"has({HERE}type) && {MODEL}.startsWith('x')", "error", "attribute model"),
        (f"has({MODEL}) ? true : {MODEL}.startsWith('x')", "error", "attribute model"),
    ],
)
def test_a_name_that_is_asked_for_where_it_is_there(expression: str, severity: str | None, end: str) -> None:
    found = [one for one in lint(claim(expression)) if one.rule == "GT303"]
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert all(one.message.endswith(end) for one in found)


@pytest.mark.parametrize(
    ("attribute", "line", "said"),
    [
        ("gpu.nvidia.com/nvlinkDomain", "0.5", ("error", "nvlinkDomain")),
        ("resource.kubernetes.io/numaNode", "0.4", ("warning", "resource.kubernetes.io/numaNode")),
        ("gpu.nvidia.com/index", "0.4", ("warning", "index")),
        ("gpu.nvidia.com/partition4", "0.4", ("warning", "partition4")),
        ("gpu.nvidia.com/pcieRoot", "0.4", ("error", "pcieRoot")),
        ("productName", "0.4", ("error", "no domain")),
    ],
)
def test_an_attribute_of_a_constraint_that_is_not_published(attribute: str, line: str, said: tuple[str, str]) -> None:
    [found] = lint(claim(attribute=attribute), Context(line, True))
    assert found.rule == "GT303"
    assert found.place == (18, 25)
    assert (found.severity, said[1] in found.message) == (said[0], True)


@pytest.mark.parametrize(
    ("attribute", "line"),
    [
        ("resource.kubernetes.io/numaNode", "0.5"),
        ("gpu.nvidia.com/index", "25.3"),
        ("gpu.nvidia.com/partition4", "0.5"),
        ("gpu.nvidia.com/parentUUID", "0.4"),
        ("x.example.com/numaNode", "0.4"),
    ],
)
def test_an_attribute_that_the_version_publishes(attribute: str, line: str) -> None:
    assert codes(claim(attribute=attribute), Context(line, True)) == []


def test_a_standard_attribute_is_not_judged_for_devices_of_others() -> None:
    text = claim("device.attributes['x.example.com'].n > 1", "resource.kubernetes.io/numaNode", 1, "x.example.com")
    assert codes(text) == []


@pytest.mark.parametrize(
    ("count", "key", "attribute", "minor", "expected"),
    [
        (2, "matchAttribute", "resource.kubernetes.io/pcieRoot", 36, ["GT308"]),
        (1, "matchAttribute", "resource.kubernetes.io/pcieRoot", 36, []),
        (3, "distinctAttribute", "gpu.nvidia.com/uuid", 36, ["GT309"]),
        (2, "distinctAttribute", "gpu.nvidia.com/uuid", 36, []),
        (3, "distinctAttribute", "gpu.nvidia.com/uuid", 37, []),
        (33, "matchAttribute", "gpu.nvidia.com/productName", 36, ["GT307"]),
        (32, "matchAttribute", "gpu.nvidia.com/productName", 36, []),
    ],
)
def test_how_many_devices_a_constraint_bears(
    count: int, key: str, attribute: str, minor: int, expected: list[str]
) -> None:
    assert codes(claim(count=count, key=key, attribute=attribute), Context(minor=minor)) == expected


def test_a_constraint_that_names_no_request() -> None:
    [found] = lint(claim().replace("requests: [gpus]", "requests: [gpus, nics]"))
    assert (found.rule, found.place) == ("GT306", (19, 26))


ALTERNATIVES = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpus
      firstAvailable:
      - {name: big, deviceClassName: gpu.nvidia.com, count: 40}
      - {name: small, deviceClassName: gpu.nvidia.com, count: 8}
    constraints:
    - {matchAttribute: gpu.nvidia.com/productName, requests: [REQUEST]}
"""


@pytest.mark.parametrize(("request_name", "expected"), [("gpus", []), ("gpus/big", []), ("big", ["GT306"])])
def test_alternatives_are_named_with_their_request(request_name: str, expected: list[str]) -> None:
    assert codes(ALTERNATIVES.replace("REQUEST", request_name)) == expected


FLAT = """apiVersion: resource.k8s.io/VERSION
kind: ResourceClaim
metadata: {name: c}
spec:
  devices:
    requests:
    - name: gpus
      deviceClassName: gpu.nvidia.com
"""


@pytest.mark.parametrize(
    ("version", "minor", "expected"),
    [
        ("v1beta1", 36, [("GT301", "warning")]),
        ("v1beta1", 32, []),
        ("v1beta2", 33, [("GT300", "error")]),
        ("v1", 36, [("GT300", "error")]),
        ("v1alpha3", 36, [("GT301", "error")]),
        ("v1beta2", 32, [("GT300", "error"), ("GT301", "error")]),
    ],
)
def test_a_flat_request_is_legal_in_v1beta1_only(version: str, minor: int, expected: list[tuple[str, str]]) -> None:
    found = lint(FLAT.replace("VERSION", version), Context(minor=minor))
    assert sorted((one.rule, one.severity) for one in found) == expected


def test_a_field_of_the_wrong_type_is_placed() -> None:
    [found] = lint(
        FLAT.replace("VERSION", "v1beta1").replace("class", "class") + "      count: two\n", Context(minor=32)
    )
    assert (found.rule, found.place) == ("GT300", (9, 14))


def test_a_class_of_any_driver() -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors:\n"
    bare = f'  - cel: {{expression: "{FINE}"}}\n'
    guard = "  - cel: {expression: \"device.driver == 'gpu.nvidia.com'\"}\n"
    assert codes(text + bare) == ["GT310"]
    assert codes(text + guard + bare) == []
    assert codes(text + bare + guard) == ["GT310"]


@pytest.mark.parametrize(
    "body",
    [
        "spec: 3\n",
        "spec: {devices: {requests: {a: 1}}}\n",
        "spec: {devices: {requests: [3, {name: [a]}], constraints: [3, {requests: 3, matchAttribute: 4}]}}\n",
        "spec: {devices: {requests: [{name: g, exactly: {selectors: [{cel: 3}, 4], count: true}}]}}\n",
    ],
)
def test_shapes_that_the_api_refuses_are_said_once(body: str) -> None:
    text = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n" + body
    assert codes(text) == ["GT300"]
