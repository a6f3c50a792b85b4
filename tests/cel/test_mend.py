"""How a selector that does not compile is mended, and what stays as it is."""

from __future__ import annotations

import pytest

from gputopo.cel.mend import mended
from gputopo.cel.program import diagnose
from gputopo.cel.references import references
from gputopo.cel.repair import repaired
from gputopo.cel.thresholds import thresholds
from gputopo.terms.edits import apply

HERE = "device.attributes['gpu.nvidia.com']."
MEMORY = "device.capacity['gpu.nvidia.com'].memory"


@pytest.mark.parametrize(
    ("text", "right"),
    [
        (f"{MEMORY} >= 80Gi", f"{MEMORY}.compareTo(quantity('80Gi')) >= 0"),
        (f"{MEMORY} > 80 GiB", f"{MEMORY}.compareTo(quantity('80Gi')) > 0"),
        (f"{MEMORY} >= '80 GB'", f"{MEMORY}.compareTo(quantity('80G')) >= 0"),
        (f"{MEMORY}<quantity('80Gi')", f"{MEMORY}.compareTo(quantity('80Gi'))<0"),
        (f"80Gi <= {MEMORY}", f"quantity('80Gi').compareTo({MEMORY}) <= 0"),
        (f"({MEMORY}) >= 80Gi", f"({MEMORY}).compareTo(quantity('80Gi')) >= 0"),
        (f"{MEMORY} = 80Gi", f"{MEMORY} == quantity('80Gi')"),
        (f"{MEMORY} == '80Gi'", f"{MEMORY} == quantity('80Gi')"),
        (f"{MEMORY}.compareTo('80Gi') >= 0", f"{MEMORY}.compareTo(quantity('80Gi')) >= 0"),
        (f"{MEMORY}.isGreaterThan(quantity(79Gi))", f"{MEMORY}.isGreaterThan(quantity('79Gi'))"),
        (f"{MEMORY} >= 85899345920", f"{MEMORY}.compareTo(quantity('85899345920')) >= 0"),
        ("device.capacity['d'].decoders >= 2", "device.capacity['d'].decoders.compareTo(quantity('2')) >= 0"),
        (f"{HERE}type = 'gpu' & {HERE}index = 1", f"{HERE}type == 'gpu' && {HERE}index == 1"),
        (f"{HERE}type=='gpu' and {HERE}index==1", f"{HERE}type=='gpu' && {HERE}index==1"),
        (f"{HERE}type == 'gpu' OR {HERE}a | {HERE}b", f"{HERE}type == 'gpu' || {HERE}a || {HERE}b"),
        (f"not {HERE}type == 'mig'", f"!({HERE}type == 'mig')"),
        (f"{HERE}a and not ({HERE}type == 'mig')", f"{HERE}a && !({HERE}type == 'mig')"),
        (f"not {HERE}type.contains('m') and true", f"!{HERE}type.contains('m') && true"),
        (f"{HERE}type <> 'mig'", f"{HERE}type != 'mig'"),
        (f"{HERE}index =< 3 && {HERE}index => 1", f"{HERE}index <= 3 && {HERE}index >= 1"),
        (f"{HERE}type === 'gpu' && {HERE}type !== 'mig'", f"{HERE}type == 'gpu' && {HERE}type != 'mig'"),
        ("device.attributes['dra.net'].rdma == True", "device.attributes['dra.net'].rdma == true"),
        ("device.driver == \u201cgpu.nvidia.com\u201d", "device.driver == 'gpu.nvidia.com'"),
        ("device.attributes['a.b/c'] == 'x'", "device.attributes['a.b'].c == 'x'"),
        (f"{HERE}type == 'a = b & c' && {MEMORY} > 1Gi",
         f"{HERE}type == 'a = b & c' && {MEMORY}.compareTo(quantity('1Gi')) > 0"),
    ],
)  # fmt: skip
def test_what_can_only_mean_one_thing_is_mended(text: str, right: str) -> None:
    assert diagnose(text)
    assert apply(text, mended(text)) == right
    assert diagnose(right) == []


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("it is right", f"{HERE}type == 'gpu'"),
        ("80 of what?", f"{MEMORY} >= 80"),
        ("80 of what?", f"{MEMORY} == 80"),
        ("no quantity", f"{MEMORY} >= 'much'"),
        ("a bracket is missing", f"({MEMORY} >= 80Gi"),
        ("another fault is beside it", f"{MEMORY} >= 80Gi && device.node == 'a'"),
        ("no unit of quantities", f"{MEMORY} >= 80Gx"),
        ("a name", "and == 1"),
        ("the third level has no meaning", "device.attributes['a.b/c'].d == 'x' && device.node == 'x'"),
        ("nothing there", ""),
        ("brackets without end", "(" * 10000),
    ],
)
def test_what_is_not_certain_stays(why: str, text: str) -> None:
    assert mended(text) == (), why


def test_words_in_strings_and_names_are_left_alone() -> None:
    for text in ("a.and == 'x and y'", "'a = b' == x", "// 80Gi", "and.or(not)", "r'\\d = 1' == a"):
        assert repaired(text).text == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{HERE}a = 1 and {HERE}b = 2", [("a", 39), ("b", 77)]),
        (f"not {HERE}a and {MEMORY} >= 80Gi and {HERE}b == 'x'", [("a", 41), ("memory", 82), ("b", 139)]),
    ],
)
def test_what_is_read_behind_a_fault_has_its_place_in_the_text_as_written(
    text: str, found: list[tuple[str, int]]
) -> None:
    made = references(text)
    for one in made:
        assert one.spans.name is not None
        assert text[slice(*one.spans.name)] == one.name
    assert [(one.name, one.spans.name[0] + 1) for one in made if one.spans.name] == [
        (one.name, one.column) for one in made
    ]
    assert [one.name for one in made] == [name for name, _ in found]


def test_each_fault_behind_the_first_is_said() -> None:
    text = f"{HERE}a and {HERE}b and {MEMORY} >= 80Gi and device.node == 'n'"
    places = {fault.column: fault.message.split("'")[0].strip() for fault in diagnose(text)}
    for word in (" and ", ">=", "Gi", "node"):
        assert any(
            abs(text.index(word) + 1 - column) <= 1 for column in places
        ), (word, places)  # fmt: skip
    ands = [place for place in range(len(text)) if text.startswith("and ", place)]
    assert {place + 1 for place in ands} <= places.keys()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{MEMORY}.compareTo(quantity('80Gi')) >= 0", [(">=", "80Gi")]),
        (f"0 <= {MEMORY}.compareTo(quantity('80Gi'))", [(">=", "80Gi")]),
        (f"{MEMORY}.compareTo(quantity('80Gi')) < 0", [("<", "80Gi")]),
        (f"{MEMORY}.compareTo(quantity('80Gi')) == 1", [(">", "80Gi")]),
        (f"{MEMORY}.compareTo(quantity('80Gi')) != -1", [(">=", "80Gi")]),
        (f"{MEMORY}.isGreaterThan(quantity('80Gi')) && {MEMORY}.isLessThan(quantity('1Ti'))",
         [(">", "80Gi"), ("<", "1Ti")]),
        (f"{MEMORY} >= 80Gi", [(">=", "80Gi")]),
        (f"{MEMORY} == quantity('80Gi')", [("==", "80Gi")]),
        (f"{MEMORY}.compareTo(quantity('80Gi')) == 2", []),
        ("device.capacity['d'].cores >= 80Gi", []),
        ("cel.bind(c, device.capacity['d'], c.memory > 80Gi)", [(">", "80Gi")]),
    ],
)  # fmt: skip
def test_with_what_a_capacity_is_compared(text: str, found: list[tuple[str, str]]) -> None:
    made = thresholds(text, "memory")
    assert [(one.operator, one.text) for one in made] == found
    assert all(one.span is None or text[slice(*one.span)] == one.text for one in made)
