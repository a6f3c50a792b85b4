"""Where a character of a value stands in the file, in every style of YAML and in JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers.manifests import read
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.manifest import Manifest, Place

STYLES = {
    "literal": "kind: Pod\nspec:\n  text: |\n    one two\n      three @here\n",
    "literal with a header": "kind: Pod\nspec:\n  text: |2- # why\n      one\n\n      two @here\n",
    "folded": "kind: Pod\nspec:\n  text: >-\n    one\n    two\n\n    three @here\n",
    "plain": "kind: Pod\nspec:\n  text: one two\n     three\n     a@here\n",
    "plain in one line": "kind: Pod\nspec: {text: one two a@here}\n",
    "single quotes": "kind: Pod\nspec:\n  text: 'it''s one\n    two ''@here'\n",
    "double quotes": 'kind: Pod\nspec:\n  text: "a \\"b\\" \\x41\\u00e4\\\n    two @here"\n',
    "JSON": '{"kind": "Pod",\n "spec": {"text": "a\\n\\"b\\" \\/ @here"}}',
    "not ASCII": "kind: Pod\nspec:\n  text: größer 🙂 @here\n",
    "Windows": "kind: Pod\r\nspec:\r\n  text: |\r\n    one\r\n    two @here\r\n",
}
PATH = ("spec", "text")


def value_of(manifest: Manifest) -> str:
    found = manifest.object.body["spec"]["text"]
    assert isinstance(found, str)
    return found


def place_in(text: str, mark: str) -> Place:
    before = text[: text.index(mark)]
    return Place(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


@pytest.mark.parametrize("style", STYLES)
def test_a_character_of_the_value_is_found_in_the_file(style: str) -> None:
    text = STYLES[style]
    [manifest] = read(text)
    inner = place_in(value_of(manifest), "@here")
    assert manifest.inside(PATH, *inner) == place_in(text, "@here")


def test_of_a_list_each_object_has_its_own_places() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n  spec: {a: 1}\n- kind: Pod\n  spec:\n    a: 1\n"
    first, second = read(text)
    assert first.at(("spec", "a")) == Place(5, 13)
    assert second.at(("spec", "a")) == Place(8, 8)
    assert (first.line, second.line) == (4, 6)


def test_an_absent_value_is_placed_at_what_would_hold_it() -> None:
    [manifest] = read("kind: Pod\nspec:\n  a: {b: 1}\n")
    assert manifest.at(("spec", "a", "c", 0)) == Place(3, 6)
    assert manifest.key(("spec", "a")) == Place(3, 3)


def test_of_a_merged_mapping_the_place_is_where_the_value_is_written() -> None:
    [manifest] = read("kind: Pod\nbase: &base\n  a: 1\nspec:\n  <<: *base\n  b: 2\n")
    assert manifest.at(("spec", "a")) == Place(3, 6)


def test_json_that_yaml_does_not_read_has_the_line_of_the_object() -> None:
    found = read('{"kind": "Pod"}\n{"kind": "Node", "spec": {"a": 1}}')
    assert [one.at(("spec", "a")) for one in found] == [Place(1, 1), Place(2, 1)]


@pytest.mark.parametrize("text", ["", "- 1\n", "kind: [\n", "a: 1\n", "kind: Pod\n--- 3\n"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text)


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=30))
def test_in_json_every_character_is_found(value: str) -> None:
    text = json.dumps({"kind": "Pod", "spec": {"text": value + "@"}}, ensure_ascii=False)
    try:
        [manifest] = read(text)
    except Unreadable:
        return
    if manifest.tree is None or value_of(manifest) != value + "@":
        return
    place = manifest.inside(PATH, 1, len(value) + 1) if "\n" not in value else None
    assert place is None or manifest.source.text[manifest.source.starts[place.line - 1] + place.column - 1] == "@"
