"""Why a selector does not match a device: the parts that decided, with their values."""

from __future__ import annotations

import pytest

from gputopo.cel.devices import Version
from gputopo.cel.explain import explain
from gputopo.cel.program import Device, Program, compile

A = "device.attributes['gpu.nvidia.com']"
DEVICE = Device("gpu.nvidia.com", {"type": "gpu", "slot": 3, "driverVersion": Version("535.161.7")}, {"memory": "80Gi"})


def why(text: str, device: Device = DEVICE) -> list[tuple[str, str]]:
    program = compile(text)
    assert isinstance(program, Program), program
    return [(reason.text.replace(A, "A"), reason.value) for reason in explain(program, device)]


@pytest.mark.parametrize(
    ("says", "text", "reasons"),
    [
        ("a true selector needs no reason", "true", []),
        (
            "of && only the false term",
            f"{A}.type == 'gpu' && {A}.slot == 4",
            [("A.slot == 4", "false"), ("A.slot", "3")],
        ),
        (
            "of || every term",
            f"{A}.slot > 5 || device.driver == 'x'",
            [
                ("A.slot > 5", "false"),
                ("A.slot", "3"),
                ("device.driver == 'x'", "false"),
                ("device.driver", '"gpu.nvidia.com"'),
            ],
        ),
        ("of ! what is true", f"!({A}.type == 'gpu')", [("(A.type == 'gpu')", "true"), ("A.type", '"gpu"')]),
        (
            "a quantity as it was written",
            "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('81Gi')) >= 0",
            [
                ("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('81Gi')) >= 0", "false"),
                ("device.capacity['gpu.nvidia.com'].memory", "80Gi"),
            ],
        ),
        (
            "an error is the reason where nothing else decides",
            f"{A}.model == 'H100' && {A}.type == 'gpu'",
            [("A.model == 'H100'", "no such key: model"), ("A.model", "no such key: model")],
        ),
        (
            "and is none where another term does",
            f"{A}.model == 'H100' && {A}.type == 'mig'",
            [("A.type == 'mig'", "false"), ("A.type", '"gpu"')],
        ),
        (
            "inside cel.bind",
            f"cel.bind(g, {A}, g.type == 'mig' && g.slot == 3)",
            [("g.type == 'mig'", "false"), ("g.type", '"gpu"')],
        ),
        (
            "what a macro was asked about",
            f"['A100', 'H100'].exists(m, {A}.type.contains(m))",
            [("['A100', 'H100'].exists(m, A.type.contains(m))", "false"), ("A.type", '"gpu"')],
        ),
        (
            "the branch that was taken",
            f"has({A}.type) ? {A}.slot == 4 : false",
            [("has(A.type)", "true"), ("A.slot == 4", "false"), ("A.slot", "3")],
        ),
        (
            "a version",
            f"{A}.driverVersion.isGreaterThan(semver('570.0.0'))",
            [("A.driverVersion.isGreaterThan(semver('570.0.0'))", "false"), ("A.driverVersion", "535.161.7")],
        ),
    ],
)
def test_the_parts_that_decided_are_named(says: str, text: str, reasons: list[tuple[str, str]]) -> None:
    assert why(text) == reasons, says


def test_an_attribute_of_an_unknown_type_is_the_reason_for_the_whole() -> None:
    device = Device("d", {"new": None}, {})
    assert why("true", device) == [("true", "attribute new: unsupported attribute value")]
