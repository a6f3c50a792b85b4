"""GT321: CDI specifications, as the library loads them or does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gputopo.cli import run
from tests.lint.linted import lint

SPEC = """cdiVersion: VERSION
kind: KIND
devices:
- name: NAME
  containerEdits: EDITS
"""
NODE = "{deviceNodes: [{path: /dev/nvidia0}]}"


def spec(version: str = "0.5.0", kind: str = "nvidia.com/gpu", name: str = "gpu0", edits: str = NODE) -> str:
    text = SPEC.replace("VERSION", version).replace("KIND", kind)
    return text.replace("NAME", name).replace("EDITS", edits)


@pytest.mark.parametrize(
    "text",
    [
        spec(),
        spec("v0.5.0"),
        spec("1.1.0"),
        spec(name="0"),
        spec(name="GPU-0a:1_b.c"),
        spec("0.6.0", kind="vendor.example.com/net.fast"),
        spec(edits="{env: [A=, 'B=c=d']}"),
        spec(edits="{deviceNodes: [{path: /dev/a, hostPath: /dev/b, permissions: rw, type: c, major: 195, minor: 0}]}"),
        spec(edits="{DEVICENODES: [{Path: /dev/a, PERMISSIONS: none}]}"),
        spec(edits="{mounts: [{hostPath: /a, containerPath: /b, options: [ro], type: bind}]}"),
        spec(edits="{hooks: [{hookName: createContainer, path: /x, args: [a], env: [A=b], timeout: 3}]}"),
        spec("0.7.0", edits="{additionalGids: [44], intelRdt: {closID: gpus}}"),
        spec("0.7.0", edits="{intelRdt: {}}"),
        spec("1.1.0", edits="{netDevices: [{hostInterfaceName: eth1, name: net1}]}"),
        spec("0.6.0") + "annotations: {a: b}\ncontainerEdits: {}\n",
        spec("0.5.0") + "annotations: {}\ncontainerEdits:\n",
        spec(name="7", edits="{env: [A=1]}"),
    ],
)
def test_what_the_library_loads_is_silent(text: str) -> None:
    assert lint(text) == []


@pytest.mark.parametrize(
    ("text", "line", "part", "remedy"),
    [
        (spec("0.9.0"), 1, "no version 0.9.0", "cdiVersion: 0.3.0"),
        (spec("''"), 1, "no version (empty)", "cdiVersion: 0.3.0"),
        (spec("0.2.0"), 1, "too old", "cdiVersion: 0.3.0"),
        (spec("0.3.0", edits="{mounts: [{hostPath: /a, containerPath: /b, type: bind}]}"), 1, "type of a mount",
         "cdiVersion: 0.4.0"),
        (spec("0.4.0", edits="{deviceNodes: [{path: /a, hostPath: /b}]}"), 1, "hostPath", "cdiVersion: 0.5.0"),
        (spec("0.4.0", name="0"), 1, "begins with a digit", "cdiVersion: 0.5.0"),
        (spec("0.5.0", kind="a.com/b.c"), 1, "a class with a dot", "cdiVersion: 0.6.0"),
        (spec("0.5.0") + "annotations: {a: b}\n", 1, "annotations", "cdiVersion: 0.6.0"),
        (spec("0.6.0", edits="{additionalGids: [44]}"), 1, "additionalGids", "cdiVersion: 0.7.0"),
        (spec("0.6.0", edits="{intelRdt: {}}"), 1, "intelRdt", "cdiVersion: 0.7.0"),
        (spec("1.0.0", edits="{netDevices: [{hostInterfaceName: a, name: b}]}"), 1, "netDevices", "cdiVersion: 1.1.0"),
        (spec("1.0.0", edits="{intelRdt: {enableMonitoring: true}}"), 1, "enableMonitoring", "cdiVersion: 1.1.0"),
        (spec(kind="gpu"), 2, "not VENDOR/CLASS", ""),
        (spec(kind="nvidia.com/"), 2, "not VENDOR/CLASS", ""),
        (spec(kind="nvidia.com/gpu/0"), 2, "the class gpu/0", ""),
        (spec(kind="0vidia.com/gpu"), 2, "does not begin with a letter", ""),
        (spec(kind="nvidia.com-/gpu"), 2, "the vendor nvidia.com-", ""),
        (spec(name="a b"), 4, "the device name a b", ""),
        (spec(name="gpu-"), 4, "the device name gpu-", ""),
        (spec(name="''"), 4, "without a name", ""),
        (spec(edits="{}"), 5, "device gpu0 has no edits", ""),
        (spec(edits="{env: []}"), 5, "device gpu0 has no edits", ""),
        (spec(edits="{env: [A]}"), 5, "the variable A", ""),
        (spec(edits="{env: ['=a']}"), 5, "the variable =a", ""),
        (spec(edits="{deviceNodes: [{hostPath: /dev/a}]}"), 5, "without path", ""),
        (spec(edits="{deviceNodes: [{path: /a, type: char}]}"), 5, "b, c, u or p", ""),
        (spec(edits="{deviceNodes: [{path: /a, permissions: rx}]}"), 5, "of r, w and m", ""),
        (spec(edits="{mounts: [{hostPath: /a}]}"), 5, "without containerPath", ""),
        (spec(edits="{hooks: [{hookName: createcontainer, path: /a}]}"), 5, "hookName is one of", "createContainer"),
        (spec(edits="{hooks: [{hookName: poststop}]}"), 5, "a hook without path", ""),
        (spec(edits="{deviceNodes: [{path: /a, hostpaths: /b}]}"), 5, "no field hostpaths", ""),
        (spec(edits="{deviceNodes: {path: /a}}"), 5, "deviceNodes is no list", ""),
        (spec(edits="[env]"), 5, "containerEdits is no mapping", ""),
        (spec(edits="{deviceNodes: [{path: /a, major: '195'}]}"), 5, "major is no whole number", ""),
        (spec("0.7.0", edits="{additionalGids: [-1]}"), 5, "additionalGids is no whole number from 0", ""),
        (spec("1.1.0", edits="{netDevices: [{hostInterfaceName: a, name: n}, {hostInterfaceName: b, name: n}]}"), 5,
         "a second net device with name n", ""),
        (spec("0.7.0", edits="{intelRdt: {closID: a/b}}"), 5, "closID", ""),
        (spec() + "- name: gpu0\n  containerEdits: {env: [A=b]}\n", 6, "a second device gpu0", ""),
        ("cdiVersion: 0.5.0\nkind: a.com/b\ndevices: []\n", 3, "there are no devices", ""),
        ("cdiVersion: 0.5.0\nkind: a.com/b\n", 1, "there are no devices", ""),
        ("cdiVersion: 0.5.0\ndevices: [{name: a, containerEdits: {env: [A=b]}}]\n", 1, "kind is empty", ""),
    ],
)  # fmt: skip
def test_what_it_refuses_is_named_at_its_line(text: str, line: int, part: str, remedy: str) -> None:
    found = lint(text)
    assert [(one.rule, one.severity) for one in found] == [("GT321", "error")], found
    assert (found[0].place.line, part in found[0].message) == (line, True), found
    assert remedy in found[0].remedy


def test_a_field_that_went_is_a_warning() -> None:
    [found] = lint(spec("0.7.0", edits="{intelRdt: {enableCMT: true}}"))
    assert (found.severity, "went with 1.1.0" in found.message) == ("warning", True)


def test_json_is_read_as_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "a/b", "containerEdits": {}}]}
    file = tmp_path / "nvidia.json"
    file.write_text(json.dumps(body, indent=1))
    assert run(["lint", str(file)]) == 1
    out = capsys.readouterr().out
    assert f"{file}:6:12 GT321 error: the device name a/b" in out


@pytest.mark.parametrize(
    "text", ["cdiVersion: [1]\nkind: {a: b}\n", "cdiVersion:\nkind: 3\ndevices: x\n", "cdiVersion: 1\n"]
)
def test_hostile_shapes_are_findings(text: str) -> None:
    assert {one.rule for one in lint(text)} == {"GT321"}
