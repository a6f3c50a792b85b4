"""Kubernetes objects out of YAML and JSON."""

from __future__ import annotations

import pytest

from gputopo.parsers.kube_objects import looks_like, read
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.kube_object import KubeObject, WrongShape

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {app: x}}\n"


def test_documents_have_the_line_they_begin_at() -> None:
    found = read(f"# first\n{POD}---\n{POD.replace('name: a', 'name: b')}")
    assert [(one.name, one.where) for one in found] == [("a", "line 2"), ("b", "line 6")]


def test_lists_are_taken_apart() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- {kind: Node, metadata: {name: n}}\n- {kind: Pod, metadata: {name: p}}\n"
    )
    assert [(one.kind, one.name) for one in read(text)] == [("Node", "n"), ("Pod", "p")]


def test_items_of_a_typed_list_have_the_kind_of_the_list() -> None:
    text = '{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n"}}]}'
    assert [(one.kind, one.name) for one in read(text)] == [("Node", "n")]


def test_json_objects_one_after_another() -> None:
    assert [one.kind for one in read('{"kind": "Pod"}\n{"kind": "Node"}\n')] == ["Pod", "Node"]


def test_a_flow_mapping_is_yaml() -> None:
    assert read("{kind: Pod, metadata: {name: a}}")[0].name == "a"


def test_a_time_stamp_stays_a_string_and_a_key_is_one() -> None:
    body = read("kind: Pod\nstatus: {startTime: 2026-01-02T03:04:05Z}\nspec: {2: a, true: b}\n")[0].body
    assert body["status"] == {"startTime": "2026-01-02T03:04:05Z"}
    assert body["spec"] == {"2": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no Kubernetes object in it"),
        ("---\n", "no Kubernetes object in it"),
        ("- 1\n", "a document is no mapping"),
        ("apiVersion: v1\n", "an object without a kind"),
        ("kind: [Pod]\n", "an object without a kind"),
        ("kind: PodList\nitems: 3\n", "items of PodList is no list"),
        ("kind: Pod\n\tspec: 1\n", "not YAML"),
        ("kind: Pod\nspec: *nowhere\n", "not YAML"),
        ("kind: !!python/object:os.system Pod\n", "not YAML"),
        ('{"kind": "Pod"', "not JSON"),
        ("kind: Pod\nspec: &a [*a]\n", "too deep or too large"),
        ("[" * 100_000, "not JSON"),
        ("kind: Pod\nspec: !!binary aGk=\n", "a value that JSON does not have: bytes"),
        ("kind: Pod\nspec: {[1]: 2}\n", ""),
    ],
)
def test_what_is_no_object_is_said_in_one_line(text: str, what: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read(text)
    assert raised.value.what.startswith(what)
    assert "\n" not in raised.value.what


def test_anchors_that_multiply_end() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Unreadable, match="too deep or too large"):
        read("kind: Pod\n" + "\n".join(rows))


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (POD, True),
        ("kind: Pod\n", False),
        ('{"apiVersion": "v1", "kind": "Pod"}', True),
        ('{"apiVersion": "gputopo/v1alpha1", "kind": "NodeTopology"}', False),
        ("\tGPU0\tGPU1\n", False),
        ("a log line with kind: and apiVersion: in it\n", False),
    ],
)
def test_what_looks_like_objects(text: str, seen: bool) -> None:
    assert looks_like(text) is seen


def test_a_field_of_another_type_is_named() -> None:
    pod = KubeObject({"kind": "Pod", "metadata": {"annotations": {"a": True}}, "spec": []})
    with pytest.raises(WrongShape, match=r"metadata\.annotations\.a is true, not a string"):
        _ = pod.annotations
    with pytest.raises(WrongShape, match="spec is a list, not a mapping"):
        _ = pod.spec
