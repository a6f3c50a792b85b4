"""Texts that are no recording, or a damaged one: Unreadable with its line, or records, never another error."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.parsers import nvml_recording
from gputopo.parsers.unreadable import Unreadable
from tests.parsers.nvml_made import OLD, gpu, text_of


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a recording"),
        ('{"gputopo": "nvml-recording", "version": 1, "snap', "not a recording"),
        ("[1]", "no object"),
        ("{}", "neither"),
        ('{"gputopo": "nvml-recording", "version": 2, "snapshot": {}}', "version 2"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": {}}', "no answers of any GPU"),
        ('{"gputopo": "nvml-recording", "version": 1, "snapshot": {"gpus": [{"index": 1}, {}]}}', "two GPUs alike"),
        ('{"pynvml": "nvidia-ml-py", "calls": {}}', "neither decoded answers nor calls"),
        ('{"pynvml": "nvidia-ml-py", "snap": {}}', "no answers of any GPU"),
        ("[" * 100_000, "nesting"),
        ('{"a": ' + "9" * 5000 + "}", "numbers"),
    ],
)
def test_unreadable(text: str, says: str) -> None:
    with pytest.raises(Unreadable, match=says):
        nvml_recording.parse(text)


def test_the_line_of_damage_is_named() -> None:
    lines = json.dumps(json.loads(text_of(gpu(0))), indent=1).splitlines()
    with pytest.raises(Unreadable) as caught:
        nvml_recording.parse("\n".join([*lines[:20], "<cut>"]))
    assert caught.value.line == 21


def test_sniff() -> None:
    text = text_of(gpu(0))
    assert nvml_recording.sniff(text)
    assert nvml_recording.sniff("\ufeff\n  " + json.dumps(json.loads(text), indent=2))
    assert nvml_recording.sniff('{"pynvml": "nvidia-ml-py", "calls": {}, "snap": {"drv": "1"}}')
    assert nvml_recording.sniff(json.dumps({"calls": {'["nvmlInitWithFlags", 0]': [0, [None]]}}))
    for other in ("", "{}", '{"apiVersion": "gputopo/v1alpha1"}', "nvmlInit failed", '["pynvml", "calls"]'):
        assert not nvml_recording.sniff(other)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.just(10**300),
    st.just([]),
    st.just({}),
    st.just({"error": 15}),
    st.just([[]]),
    st.just([{}]),
    st.just({"error": "x"}),
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, item in items for place in _places(item, (*path, key))]


OWN = json.loads(text_of(gpu(0), gpu(1)))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_damage_is_unreadable_or_records(data: st.DataObject) -> None:
    document = copy.deepcopy(data.draw(st.sampled_from([OWN, OLD])))
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from(_places(document)))
        target = document
        for key in way:
            target = target[key]
        target[last] = copy.deepcopy(data.draw(LEAVES))
    try:
        (node,) = nvml_recording.parse(json.dumps(document))
    except Unreadable:
        return
    assert node.gpus is None or all(record.label.startswith("GPU") for record in node.gpus)
