"""GT312 and GT316: what fails, or costs too much, on every device."""

from __future__ import annotations

import time

import pytest

from gputopo.cel.constants import failing
from gputopo.rules.manifests.problem import Context
from tests.lint.linted import lint
from tests.lint.test_dra_rules import MEMORY, claim

ON = "device.driver == 'x' && "


@pytest.mark.parametrize(
    ("expression", "part", "remedy"),
    [
        (f"{MEMORY}.compareTo(quantity('80GB')) >= 0", "quantity('80GB')", "quantity('80G')"),
        (f"{MEMORY}.compareTo(quantity('80 gib')) >= 0", "quantity('80 gib')", "quantity('80Gi')"),
        (f"{MEMORY}.compareTo(quantity('a lot')) >= 0", "quantity('a lot')", ""),
        (ON + "semver('12.8').major() == 12", "semver('12.8')", "semver('12.8.0')"),
        (ON + "semver('v12').major() == 12", "semver('v12')", "semver('12.0.0')"),
        (ON + "semver('01.2.3-rc').major() == 12", "semver('01.2.3-rc')", "semver('01.2.3-rc', true)"),
        (ON + "ip('10.0.0.300').isLoopback()", "ip('10.0.0.300')", ""),
        (ON + "cidr('10.0.0.0/40').prefixLength() == 8", "cidr('10.0.0.0/40')", ""),
        (ON + "1 / (2 - 2) == 1", "1 / (2 - 2)", ""),
        (ON + "[1, 2][5] == 1", "[1, 2][5]", ""),
        (ON + "cel.bind(q, quantity('80GB'), q.isInteger())", "quantity('80GB')", "quantity('80G')"),
    ],
)
def test_a_part_that_always_fails_is_named(expression: str, part: str, remedy: str) -> None:
    [found] = [one for one in lint(claim(expression)) if one.rule == "GT312"]
    assert found.place == (16, 17 + expression.index(part))
    assert found.message.startswith(f"{part} fails when it runs: ")
    assert found.remedy == remedy


@pytest.mark.parametrize(
    "expression",
    [
        f"{MEMORY}.compareTo(quantity('80G')) >= 0",
        ON + "semver('12.8.0').major() == 12 && semver('v12.8', true).minor() == 8",
        ON + "(true || quantity('80GB').isInteger())",
        "device.driver == 'x' || true || quantity('80GB').isInteger()",
        ON + "(isQuantity('80GB') ? quantity('80GB').isInteger() : true)",
        ON + "[device.driver].all(x, quantity('80GB').isInteger() || x == 'x')",
        ON + "[1, 2].exists(x, x == 2)",
        "device.allowMultipleAllocations",
    ],
)
def test_what_does_not_always_fail_is_not(expression: str) -> None:
    assert [one for one in lint(claim(expression)) if one.rule in ("GT312", "GT316")] == []


def test_what_the_release_does_not_have_is_no_remedy() -> None:
    [found] = lint(claim(ON + "semver('1.2-x').major() == 1"), context=Context(minor=36))
    assert found.rule == "GT312"
    old = claim(ON + "semver('1.2-x').major() == 1").replace("/v1\n", "/v1beta1\n").replace("exactly:", "exactly:")
    assert all("true" not in one.remedy for one in lint(old, context=Context(minor=32)) if one.rule == "GT312")


def test_a_part_over_the_limit_of_cost() -> None:
    dear = "lists.range(3000).all(x, lists.range(3000).all(y, x >= 0))"
    [found] = lint(claim(ON + dear))
    assert (found.rule, found.place) == ("GT316", (16, 17 + len(ON)))
    assert lint(claim(ON + dear.replace("3000", "30"))) == []


@pytest.mark.parametrize(("size", "rules"), [(10240, []), (10241, ["GT316"])])
def test_the_limit_of_length_is_in_bytes(size: int, rules: list[str]) -> None:
    head = "device.driver != 'é"
    text = head + "x" * (size - len(head.encode()) - 1) + "'"
    assert len(text.encode()) == size
    assert [one.rule for one in lint(claim(text))] == rules


def test_hostile_texts_do_not_take_long() -> None:
    started = time.process_time()
    for text in (
        "(" * 5000,
        " && ".join(["quantity('80GB').isInteger()"] * 300),
        "1 / 0 + " * 1200 + "1 == 1",
        "[" * 200 + "1 / 0" + "]" * 200 + " == []",
    ):
        failing(text)
    assert time.process_time() - started < 10
