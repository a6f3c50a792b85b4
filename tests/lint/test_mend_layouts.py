"""Whatever way a file is written in, a mend changes what is at fault and nothing beside it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.manifests import read
from gputopo.rules.manifests.mending import Mended, mended
from gputopo.rules.manifests.problem import Context
from gputopo.terms.manifest import Manifest, Path, below
from tests.lint.yaml_layouts import layouts, written

CONTEXT = Context("0.5", True)
WRONG = "device.attributes['gpu.nvidia.com'].model == 'H100' && device.capacity['gpu.nvidia.com'].memory >= 80Gi"
RIGHT = (
    "device.attributes['gpu.nvidia.com'].productName.contains('H100') && "
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('79Gi')) >= 0"
)
FIELDS = {"deviceClassName": "gpu.nvidia.com", "count": 4, "selectors": [{"cel": {"expression": WRONG}}]}
DEVICES: Path = ("spec", "spec", "devices")
REQUEST = (*DEVICES, "requests", 0)
ATTRIBUTE = (*DEVICES, "constraints", 0, "matchAttribute")


def template(version: str, request: dict[str, Any]) -> dict[str, Any]:
    limit = {"matchAttribute": "gpu.nvidia.com/nvlinkDomain", "requests": ["gpus"]}
    devices = {"requests": [{"name": "gpus", **request}, {"name": "more", **request}], "constraints": [limit]}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "c", "labels": {"a": "b c", "d": "80Gi"}},
        "spec": {"spec": {"devices": devices}},
    }


def slice_of(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.example.com", "nodeName": "n1", "devices": [{"name": "a", **fields}, {"name": "b", **fields}],
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        },
    }  # fmt: skip


def made(text: str, context: Context = CONTEXT) -> Mended:
    return mended({"f": read(text)}, read, context)


def one(text: str) -> Manifest:
    [found] = read(text)
    return found


def between(text: str, paths: list[Path]) -> list[str]:
    """What stands outside the values of these paths, in text order."""
    manifest = one(text)
    nodes = sorted((manifest.node(path) for path in paths), key=lambda node: int(node.start_mark.index))
    found, place = [], 0
    for node in nodes:
        start, end = manifest.source.offset(node.start_mark), manifest.source.offset(node.end_mark)
        found.append(text[place:start])
        place = end
    return [*found, text[place:]]


def without_blanks(text: str) -> str:
    return "".join(text.split())


def check_again(text: str) -> None:
    again = made(text)
    assert again.texts["f"] == text
    assert again.left == ()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_mended_value_leaves_the_rest_of_the_file_byte_for_byte(data: st.DataObject) -> None:
    text, _ = written(data.draw, template("v1", {"exactly": FIELDS}), data.draw(layouts()))
    new = made(text).texts["f"]
    places = [(*DEVICES, "requests", at, "exactly", "selectors", 0, "cel", "expression") for at in (0, 1)]
    paths: list[Path] = [*places, ATTRIBUTE]
    assert between(new, paths) == between(text, paths)
    for path in places:
        node, old = one(new).node(path), one(text).node(path)
        assert without_blanks(node.value) == without_blanks(RIGHT)
        assert node.style == old.style
        assert node.value.count("\n") <= old.value.count("\n")
    assert one(new).node(ATTRIBUTE).value == "resource.kubernetes.io/numaNode"
    check_again(new)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_requests_that_move_keep_their_text_and_their_comments(data: st.DataObject) -> None:
    text, comments = written(data.draw, template("v1beta1", FIELDS), data.draw(layouts()))
    new = made(text).texts["f"]
    assert [(comment, new.count(comment)) for comment in comments] == [(each, text.count(each)) for each in comments]
    body = one(new).object.body
    assert body["apiVersion"] == "resource.k8s.io/v1"
    for request, name in zip(body["spec"]["spec"]["devices"]["requests"], ("gpus", "more")):
        assert request.keys() == {"name", "exactly"}
        assert request["name"] == name
        expression = request["exactly"]["selectors"][0]["cel"].pop("expression")
        assert without_blanks(expression) == without_blanks(RIGHT)
        assert request["exactly"] == {"deviceClassName": "gpu.nvidia.com", "count": 4, "selectors": [{"cel": {}}]}
    check_again(new)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_in_blocks_nothing_is_added_but_the_new_key(data: st.DataObject) -> None:
    """Word by word, comments too: only `exactly:` is new, only the version is another."""
    fields = {"deviceClassName": "gpu.nvidia.com", "count": 4, "adminAccess": False}
    text, _ = written(data.draw, template("v1beta1", fields), data.draw(layouts()))
    requests = one(text).node((*DEVICES, "requests"))
    if any(getattr(node, "flow_style", False) for node in below(one(text).tree) if isinstance(node.value, list)):
        return
    assert len(requests.value) == 2
    new = mended({"f": read(text)}, read, CONTEXT, select=("GT301",)).texts["f"]
    words, before = Counter(re.findall(r"\S+", new)), Counter(re.findall(r"\S+", text))
    assert words - before == Counter({"exactly:": 2, **Counter(re.findall(r"\S*/v1(?!beta)\S*", new))})
    assert {line for line in text.splitlines() if line.strip() == ""} >= {
        line for line in new.splitlines() if line.strip() == ""
    }
    assert new.count("\r\n") == (new.count("\n") if "\r\n" in text else 0)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_devices_lose_basic_and_nothing_else(data: st.DataObject) -> None:
    fields = {"attributes": {"x": {"string": "a b"}, "y": {"int": 1}}, "capacity": {"memory": {"value": "1Gi"}}}
    text, comments = written(data.draw, slice_of({"basic": fields}), data.draw(layouts()))
    new = made(text)
    assert [(each, new.texts["f"].count(each)) for each in comments] == [(each, text.count(each)) for each in comments]
    if new.left:
        assert "comment" in new.left[0].problem.why_not
        assert new.texts["f"] == text
        return
    body = one(new.texts["f"]).object.body
    assert body["apiVersion"] == "resource.k8s.io/v1"
    before = one(text).object.body["spec"]["devices"]  # a layout may break the text "a b" into lines
    assert body["spec"]["devices"] == [{"name": each["name"], **each["basic"]} for each in before]
    check_again(new.texts["f"])


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends_of_what_is_put_in_are_those_of_the_file(ends: str) -> None:
    lines = ["apiVersion: resource.k8s.io/v1beta1", "kind: ResourceClaim", "metadata: {name: c}", "spec:",
             "  devices:", "    requests:", "    - count: 2", "      name: g", "      deviceClassName: c"]  # fmt: skip
    wanted = ["apiVersion: resource.k8s.io/v1", *lines[1:6], "    - exactly:", "        count: 2",
              "        deviceClassName: c", "      name: g"]  # fmt: skip
    assert made(ends.join(lines)).texts["f"] == ends.join(wanted)
    assert made(ends.join([*lines, ""])).texts["f"] == ends.join([*wanted, ""])
