"""What the API server refuses of a claim, constraints over all devices, admin access, versions of the API."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputopo.cli import run
from gputopo.rules.manifests.problem import Context
from tests.lint.linted import lint, place_of, said

HEAD = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c, namespace: mon}\nspec:\n  devices:\n"
GPU = "{name: g, exactly: {deviceClassName: gpu.nvidia.com, MORE}}"


def one_request(more: str = "count: 1", extra: str = "") -> str:
    return f"{HEAD}    requests: [{GPU.replace('MORE', more)}]\n{extra}"


@pytest.mark.parametrize(
    ("requests", "path", "part"),
    [
        ("[{name: g}]", "spec.devices.requests[0]", "without exactly or firstAvailable"),
        (
            "[{name: g, exactly: {deviceClassName: c}, firstAvailable: [{name: a, deviceClassName: c}]}]",
            "spec.devices.requests[0]",
            "not both",
        ),
        ("[{name: g, exactly: {count: 1}}]", "spec.devices.requests[0].exactly", "deviceClassName is required"),
        ("[{exactly: {deviceClassName: c}}]", "spec.devices.requests[0]", "request without a name"),
        ("[{name: Big_One, exactly: {deviceClassName: c}}]", "spec.devices.requests[0].name", "small letters"),
        (
            "[{name: g, exactly: {deviceClassName: c}}, {name: g, exactly: {deviceClassName: c}}]",
            "spec.devices.requests[1].name",
            "a second request g",
        ),
        (
            "[{name: g, exactly: {deviceClassName: c, allocationMode: all}}]",
            "spec.devices.requests[0].exactly.allocationMode",
            "ExactCount or All",
        ),
        (
            "[{name: g, exactly: {deviceClassName: c, selectors: [{}]}}]",
            "spec.devices.requests[0].exactly.selectors[0]",
            "without cel",
        ),
        (
            "[{name: g, firstAvailable: [" + ", ".join(f"{{name: a{n}, deviceClassName: c}}" for n in range(9)) + "]}]",
            "spec.devices.requests[0].firstAvailable",
            "9 alternatives",
        ),
    ],
)
def test_what_the_api_server_refuses(requests: str, path: str, part: str) -> None:
    found = [one for one in lint(f"{HEAD}    requests: {requests}\n") if one.rule == "GT300"]
    assert [(one.path, part in one.message) for one in found] == [(path, True)]


def test_too_long_lists_are_counted() -> None:
    asked = ", ".join(f"{{name: g{n}, exactly: {{deviceClassName: c}}}}" for n in range(33))
    found = lint(f"{HEAD}    requests: [{asked}]\n")
    assert ("GT300", "33 requests, and the API server takes 32") in [(one.rule, one.message) for one in found]


@pytest.mark.parametrize(
    "requests",
    [
        "[{name: g, exactly: {deviceClassName: c, allocationMode: All}}]",
        "[{name: g, firstAvailable: [{name: g, deviceClassName: c}, {name: h, deviceClassName: c, count: 2}]}]",
        "[]",
    ],
)
def test_what_it_takes(requests: str) -> None:
    assert lint(f"{HEAD}    requests: {requests}\n") == []


def test_a_flat_request_is_judged_as_one_of_v1beta1() -> None:
    flat = HEAD.replace("/v1\n", "/v1beta1\n") + "    requests: [{name: g, deviceClassName: c}, {name: h}]\n"
    found = [one for one in lint(flat, context=Context(minor=32)) if one.rule == "GT300"]
    assert [(one.path, one.message) for one in found] == [("spec.devices.requests[1]", "deviceClassName is required")]


@pytest.mark.parametrize(("names", "rules"), [("[g]", []), ("[h]", ["GT306"]), ("", [])])
def test_a_configuration_names_requests_too(names: str, rules: list[str]) -> None:
    config = f"    config:\n    - {'requests: ' + names if names else ''}\n      opaque: {{driver: x.example.com}}\n"
    config = config.replace("    - \n      opaque", "    - opaque")
    assert [rule for rule, _ in said(one_request(extra=config))] == rules


@pytest.mark.parametrize(
    ("constraint", "part"),
    [
        ("matchAttribute: gpu.nvidia.com/uuid", "its own uuid"),
        ("matchAttribute: gpu.nvidia.com/productName", "another productName"),
        ("distinctAttribute: gpu.nvidia.com/productName", "the same productName"),
    ],
)
def test_all_devices_under_a_constraint(constraint: str, part: str) -> None:
    [found] = lint(one_request("allocationMode: All", f"    constraints:\n    - {constraint}\n"))
    assert (found.rule, found.place.line, part in found.message) == ("GT314", 8, True)
    assert lint(one_request("count: 2", "    constraints:\n    - matchAttribute: gpu.nvidia.com/productName\n")) == []


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME, labels: {LABEL}}\n"


def namespace(label: str = 'resource.kubernetes.io/admin-access: "true"', name: str = "mon") -> str:
    return NAMESPACE.replace("LABEL", label).replace("NAME", name)


ADMIN = one_request("adminAccess: true")


@pytest.mark.parametrize(
    ("others", "minor", "expected"),
    [
        ([], 36, [("GT315", "info")]),
        ([namespace()], 36, []),
        ([namespace("team: a")], 36, [("GT315", "error")]),
        ([namespace('resource.k8s.io/admin-access: "true"')], 36, [("GT315", "error")]),
        ([namespace("resource.kubernetes.io/admin-access: True")], 36, [("GT315", "error")]),
        ([namespace(name="other")], 36, [("GT315", "info")]),
        ([], 33, [("GT315", "warning")]),
        ([], 32, [("GT315", "warning")]),
    ],
)
def test_admin_access_needs_the_label_of_its_namespace(
    others: list[str], minor: int, expected: list[tuple[str, str]]
) -> None:
    text = ADMIN if minor > 33 else ADMIN.replace("/v1\n", "/v1beta1\n").replace("exactly: {", "").replace("}}]", "}]")
    found = said(text, *others, context=Context(minor=minor))
    assert [one for one in found if one[0] == "GT315"] == expected


def test_without_admin_access_no_label_is_asked_for() -> None:
    assert said(one_request("adminAccess: false")) == said(one_request()) == []


def test_an_alternative_has_no_admin_access() -> None:
    text = HEAD + "    requests: [{name: g, firstAvailable: [{name: a, deviceClassName: c, adminAccess: true}]}]\n"
    [found] = lint(text, namespace())
    assert (found.rule, found.severity, found.place) == ("GT315", "error", place_of(text, "adminAccess"))


@pytest.mark.parametrize(
    ("label", "minor", "part"),
    [
        ('resource.k8s.io/admin-access: "true"', 36, "has no effect in 1.36"),
        ('resource.kubernetes.io/admin-access: "true"', 33, "has no effect in 1.33"),
        ('resource.kubernetes.io/admin-access: "yes"', 36, 'the value "true" only'),
    ],
)
def test_a_namespace_with_the_label_of_another_release(label: str, minor: int, part: str) -> None:
    [found] = lint(namespace(label), context=Context(minor=minor))
    assert (found.rule, found.severity, part in found.message) == ("GT315", "warning", True)


@pytest.mark.parametrize("body", ["metadata: 3\n", "metadata: {labels: [a]}\n", "{}\n", "metadata: {labels: {a: 1}}\n"])
def test_a_namespace_of_a_strange_shape_is_passed_over(body: str) -> None:
    assert lint(f"apiVersion: v1\nkind: Namespace\n{body}".replace("\n{}", "")) == []


VERSIONED = "# a comment\nkind: KIND\napiVersion: resource.k8s.io/VERSION\nmetadata: {name: c}\nspec: {devices: {}}\n"


@pytest.mark.parametrize("version", ["v1alpha9", "v2", "v1beta3", "V1"])
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceSlice", "Gizmo"])
def test_a_version_that_no_release_has_is_one_line_with_its_place_and_exit_2(
    version: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(VERSIONED.replace("VERSION", version).replace("KIND", kind))
    assert run(["lint", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"no release has resource.k8s.io/{version}" in err
    assert err.endswith(f"({file}:3)\n")


def test_allocate_refuses_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(VERSIONED.replace("VERSION", "v1alpha9").replace("KIND", "ResourceClaim"))
    assert run(["allocate", "dra", "--claim", str(file), "sample:hgx-h100"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert f"({file}:2)" in err


@pytest.mark.parametrize(
    ("version", "minor", "severity", "part"),
    [
        ("v1alpha3", 36, "error", "in 1.31 to 1.33"),
        ("v1alpha3", 33, "warning", "--runtime-config only"),
        ("v1alpha2", 36, "error", "in 1.27 to 1.30"),
        ("v1alpha1", 36, "error", "in 1.26"),
    ],
)
def test_an_old_version_is_known_and_a_finding(version: str, minor: int, severity: str, part: str) -> None:
    text = VERSIONED.replace("VERSION", version).replace("KIND", "ResourceClaim")
    [found] = lint(text, context=Context(minor=minor))
    assert (found.rule, found.severity, found.place.line) == ("GT301", severity, 3)
    assert part in found.message
