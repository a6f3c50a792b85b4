"""What a lint needs: every fault of a selector, and what a selector reads."""

from __future__ import annotations

import pytest

from gputopo.cel.program import diagnose
from gputopo.cel.references import Driver, drivers, references
from gputopo.cel.syntax import Fault

DOMAIN = "device.attributes['gpu.nvidia.com']"


def places(text: str) -> list[tuple[int, int, str]]:
    return [(fault.line, fault.column, fault.message.split("'")[0].strip()) for fault in diagnose(text)]


@pytest.mark.parametrize(
    ("why", "text", "found"),
    [
        ("a right selector has none", f"{DOMAIN}.type == 'gpu'", []),
        (
            "faults of types before and behind a syntax error are found",
            "device.capacity['d'].m > 80Gi && device.node == 'n'",
            [
                (1, 24, "found no matching overload for"),
                (1, 28, "Syntax error: mismatched input"),
                (1, 40, "undefined field"),
            ],
        ),
        (
            "two syntax errors are two faults",
            "1 = 1 && true & false",
            [
                (1, 3, "Syntax error: token recognition error at:"),
                (1, 5, "Syntax error: mismatched input"),
                (1, 15, "Syntax error: token recognition error at:"),
                (1, 17, "Syntax error: extraneous input"),
            ],
        ),
        (
            "on the second line",
            "device.driver == 'x'\n&& device.driver < 1",
            [(2, 18, "found no matching overload for")],
        ),
        (
            "a result that is no bool",
            "device.driver",
            [(1, 7, "must evaluate to bool or the unknown type, not string")],
        ),
        ("a constant that cannot be converted", "int('x') == 1", [(1, 1, "type conversion error from")]),
        ("an unfinished text", "device.driver ==", [(1, 17, "Syntax error: mismatched input")]),
    ],
)
def test_faults_have_their_places(why: str, text: str, found: list[tuple[int, int, str]]) -> None:
    assert places(text) == found, why


def test_what_one_release_has_another_may_not() -> None:
    assert diagnose("[2, 1].sort() == [1, 2]", "1.34") == []
    assert diagnose("[2, 1].sort() == [1, 2]", "1.33") == [
        Fault(1, 12, "undeclared reference to 'sort' (in container '')")
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            f"{DOMAIN}.model == 'H100'",
            [("attributes", "gpu.nvidia.com", "model", 37, False, ("==", "H100"))],
        ),
        (
            f"'H100' in {DOMAIN} && has({DOMAIN}.index)",
            [
                ("attributes", "gpu.nvidia.com", None, 29, False, ("in", "H100")),
                ("attributes", "gpu.nvidia.com", "index", 53, True, None),
            ],
        ),
        (
            f"cel.bind(g, {DOMAIN}, g.type == 'gpu' || g.?slot.orValue(1) == 1)",
            [
                ("attributes", "gpu.nvidia.com", None, 31, False, None),
                ("attributes", "gpu.nvidia.com", "type", 52, False, ("==", "gpu")),
                ("attributes", "gpu.nvidia.com", "slot", 72, True, ("orValue", 1)),
            ],
        ),
        (
            "device.capacity['gpu.nvidia.com'].memory >= 80Gi",
            [("capacity", "gpu.nvidia.com", "memory", 35, False, None)],
        ),
        (
            "device.attributes['resource.kubernetes.io/pcieRoot'] == 'x'",
            [("attributes", "resource.kubernetes.io/pcieRoot", None, 19, False, ("==", "x"))],
        ),
    ],
)
def test_references_name_what_is_read_and_where(text: str, found: list[tuple[object, ...]]) -> None:
    assert [
        (one.kind, one.domain, one.name, one.column, one.guarded, one.compared) for one in references(text)
    ] == found


def test_the_drivers_that_a_selector_names() -> None:
    assert drivers("device.driver == 'a' || 'b' == device.driver") == [Driver("a", 1, 18), Driver("b", 1, 25)]
    assert drivers("device.driver.startsWith('a')") == []
