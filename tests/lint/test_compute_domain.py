"""GT317: ComputeDomains, the claims for their channels, and the cliques of nodes."""

from __future__ import annotations

import pytest

from gputopo.rules.manifests.problem import Context
from tests.lint.linted import lint, place_of

DOMAIN = "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d, namespace: t}\nspec: "
CHANNEL = "{channel: {resourceClaimTemplate: {name: imex}}}"


def domain(spec: str = CHANNEL) -> str:
    return f"{DOMAIN}{spec}\n"


def node(name: str, clique: str) -> str:
    return f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{nvidia.com/gpu.clique: {clique}}}}}\n"


A, B = "0a0a0a0a-0000-4000-8000-000000000001.7", "0a0a0a0a-0000-4000-8000-000000000001.8"


@pytest.mark.parametrize(
    ("spec", "path", "part"),
    [
        ("{}", "spec.channel", "spec.channel is required"),
        ("3", "spec.channel", "spec.channel is required"),
        ("{channel: {}}", "spec.channel.resourceClaimTemplate", "is required"),
        ("{channel: {resourceClaimTemplate: imex}}", "spec.channel.resourceClaimTemplate", "is required"),
        ("{channel: {resourceClaimTemplate: {}}}", "spec.channel.resourceClaimTemplate.name", "is required"),
        ("{channel: {resourceClaimTemplate: {name: 3}}}", "spec.channel.resourceClaimTemplate.name", "is required"),
        ('{channel: {resourceClaimTemplate: {name: ""}}}', "spec.channel", "name is required"),
        (CHANNEL.replace("}}}", "}, allocationMode: single}}"), "spec.channel.allocationMode", "All or Single"),
        (CHANNEL.replace("}}}", "}, allocationMode: [All]}}"), "spec.channel.allocationMode", "All or Single"),
        ("{numNodes: two, " + CHANNEL[1:], "spec.numNodes", "no whole number"),
        ("{numNodes: true, " + CHANNEL[1:], "spec.numNodes", "no whole number"),
        ("{numNodes: -1, " + CHANNEL[1:], "spec.numNodes", "below 0"),
    ],
)
def test_what_the_crd_refuses(spec: str, path: str, part: str) -> None:
    [found] = lint(domain(spec))
    assert (found.rule, found.severity) == ("GT317", "error")
    assert found.path.startswith(path)
    assert part in found.message


@pytest.mark.parametrize(
    "spec", [CHANNEL, "{numNodes: 0, " + CHANNEL[1:], CHANNEL.replace("}}}", "}, allocationMode: All}}")]
)
def test_what_is_right_is_silent(spec: str) -> None:
    assert lint(domain(spec)) == []


def test_another_group_or_version_is_refused() -> None:
    [found] = lint(domain().replace("v1beta1", "v1"))
    assert (found.rule, found.place.line) == ("GT317", 1)


@pytest.mark.parametrize(("line", "expected"), [("25.8", [("error", "requires numNodes")]), ("0.4", []), ("0.5", [])])
def test_older_versions_require_the_number_of_nodes(line: str, expected: list[tuple[str, str]]) -> None:
    found = lint(domain(), context=Context(line, True))
    assert [one.severity for one in found] == [severity for severity, _ in expected]
    assert all(part in one.message for one, (_, part) in zip(found, expected))


def test_the_oldest_version_has_no_allocation_mode() -> None:
    spec = "{numNodes: 0, " + CHANNEL[1:].replace("}}}", "}, allocationMode: All}}")
    [found] = lint(domain(spec), context=Context("25.3", True))
    assert (found.severity, "no allocationMode" in found.message) == ("warning", True)


NUMBERED = "{numNodes: 3, " + CHANNEL[1:]


@pytest.mark.parametrize(
    ("nodes", "severity", "part"),
    [
        ([], "info", "deprecated"),
        ([A, A, A], "info", "deprecated"),
        ([A, A, B, B], "warning", "more than 2"),
        ([A], "warning", "more than 1"),
    ],
)
def test_the_number_of_nodes_is_held_against_the_cliques(nodes: list[str], severity: str, part: str) -> None:
    [found] = lint(domain(NUMBERED), *(node(f"n{place}", clique) for place, clique in enumerate(nodes)))
    assert (found.severity, found.place.line, part in found.message) == (severity, 4, True)


def test_the_label_of_a_node_has_two_parts() -> None:
    assert lint(node("n", A)) == []
    [found] = lint(node("n", "7x"))
    assert (found.rule, found.severity, found.place.line) == ("GT317", "warning", 3)
    assert lint("apiVersion: v1\nkind: Node\nmetadata: {labels: [a]}\n") == []


TEMPLATE = """apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: NAME, namespace: t}
spec:
  spec:
    devices:
      requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com, COUNT}}]
      config:
      - requests: [REQUEST]
        opaque:
          driver: compute-domain.nvidia.com
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: KIND, PARAMETERS}
"""
UID = "domainID: 6f1d2c3b-0000-4000-8000-00000000000a"


def channel(
    parameters: str = UID, kind: str = "ComputeDomainChannelConfig", request: str = "channel", count: str = "count: 1",
    name: str = "own",
) -> str:  # fmt: skip
    text = TEMPLATE.replace("PARAMETERS", parameters).replace("KIND", kind).replace("REQUEST", request)
    return text.replace("COUNT", count).replace("NAME", name)


@pytest.mark.parametrize(
    ("text", "there", "part"),
    [
        (channel("domainID: ''"), "''}", "domainID cannot be empty"),
        (channel("allocationMode: All"), "{apiVersion: resource.nvidia", "domainID cannot be empty"),
        (channel("domainID: 3"), "3}", "domainID is no text"),
        (channel("domainID: my-domain"), "my-domain", "domainID is no UID"),
        (channel(f"{UID}, domainId: x"), "domainId", "has no field domainId"),
        (channel(f"{UID}, 3: x"), "3: x", "has no field 3"),
        (channel(kind="GpuConfig"), "{apiVersion: resource.nvidia", "takes ComputeDomainChannelConfig or"),
        (channel(count="count: 2"), "2}", "a node has one"),
        (channel(request="other"), "compute-domain-default", "has no ComputeDomainChannelConfig"),
        (channel(kind="ComputeDomainDaemonConfig"), "compute-domain-default", "has no ComputeDomainChannelConfig"),
    ],
)
def test_a_claim_for_a_channel_that_the_driver_does_not_prepare(text: str, there: str, part: str) -> None:
    found = [one for one in lint(text) if one.rule == "GT317"]
    assert [(one.severity, one.place, part in one.message) for one in found] == [("error", place_of(text, there), True)]


def test_a_claim_for_a_channel_without_any_configuration() -> None:
    text = channel().partition("      config:")[0]
    [found] = lint(text)
    assert (found.rule, found.place) == ("GT317", place_of(text, "compute-domain-default"))
    assert found.remedy.startswith("the ResourceClaimTemplate that the ComputeDomain names")


@pytest.mark.parametrize("parameters", [UID, f"{UID}, allocationMode: All"])
def test_a_claim_that_the_controller_could_have_made_is_right(parameters: str) -> None:
    assert lint(channel(parameters)) == []


def test_the_name_of_a_domain_is_not_its_uid() -> None:
    [found] = lint(channel("domainID: d"), domain())
    assert "the name of a ComputeDomain" in found.message


def test_a_template_of_the_same_name_is_in_the_way() -> None:
    [found] = lint(domain(), channel(name="imex"))
    assert (found.severity, found.place) == ("error", place_of(domain(), "imex"))
    assert lint(domain(), channel(name="other")) == []
    assert lint(domain(), channel(name="imex").replace("namespace: t", "namespace: u")) == []
    made = channel(name="imex").replace("namespace: t", "namespace: t, labels: {resource.nvidia.com/computeDomain: u}")
    assert lint(domain(), made) == []


@pytest.mark.parametrize(
    "config", ["3", "[3]", "[{opaque: 3}]", "[{opaque: {driver: compute-domain.nvidia.com, parameters: [a]}}]"]
)
def test_strange_configurations_are_passed_over(config: str) -> None:
    text = channel().partition("      config:")[0] + f"      config: {config}\n"
    assert {one.rule for one in lint(text)} <= {"GT317", "GT300"}
