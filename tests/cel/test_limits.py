"""Selectors come from strangers: whatever they hold, an answer comes soon and the machine keeps its memory."""

from __future__ import annotations

import random
import sys
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.cel.program import CompileError, Device, Program, RuntimeError_, compile, diagnose, evaluate

DEVICE = Device("gpu.nvidia.com", {"type": "gpu"}, {})
SECONDS = 2.0


def nested(count: int, value: str) -> str:
    """A value that holds itself twice, `count` times over."""
    text = f"cel.bind(a, {value}, "
    for index in range(count):
        before = "a" if index == 0 else f"a{index - 1}"
        text += f"cel.bind(a{index}, [{before}, {before}], "
    return text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(" * 5120 + "true" + ")" * 5120, "expression recursion limit exceeded: 250"),
        ("[" * 10240, "expression recursion limit exceeded: 250"),
        ("1+" * 300 + "1 == 1", "max recursion depth exceeded"),
        ("a" + ".b" * 300, "max recursion depth exceeded"),
        ("a" + ".b" * 5000 + " )", "max recursion depth exceeded"),
        ("-1[" * 1000, "expression recursion limit exceeded: 250"),
        ("[" + "-1," * 300, "Syntax error"),
        ("[" + "a b + " * 600, "error recovery token lookahead limit exceeded: 256"),
        ("-" * 10240, "Syntax error"),
        ("\x00@#$" * 2_621_440, "expression code point size exceeds limit: size: 10485760, limit 100000"),
        ("'" * 99_999, "Syntax error"),
        ("".join(random.Random(1).choices("abc(){}[]'\".,+-&|=!?:@#0123456789 \n\\", k=99_000)), "rror"),
    ],
    ids=[
        "brackets",
        "lists",
        "sum",
        "fields",
        "many fields",
        "nested numbers",
        "numbers",
        "pairs",
        "minus",
        "10 MB of junk",
        "quotes",
        "100 kB of junk",
    ],
)
def test_an_endless_or_senseless_text_is_a_clean_error(text: str, says: str) -> None:
    started = time.process_time()
    error = compile(text)
    faults = diagnose(text)
    assert time.process_time() - started < SECONDS
    assert isinstance(error, CompileError)
    assert says in error.text
    assert faults


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lists.range(3000).all(x, lists.range(3000).all(y, x >= 0))", "actual cost limit exceeded"),
        ("lists.range(1000000000).size() == 0", "not evaluated here"),
        (nested(40, "[1]") + "a39 == a39" + ")" * 41, "not evaluated here"),
        (nested(40, "[1]") + "dyn(a39).flatten(39).size() == 0" + ")" * 41, "not evaluated here"),
        ("'a'.replace('', '" + "x" * 3000 + "').replace('x', '" + "y" * 3000 + "').size() == 0", "not evaluated here"),
        ("lists.range(5000).map(x, '" + "a" * 50 + "').join().matches('(a{30}){30}b')", "is not made here"),
    ],
    ids=["loops", "long list", "shared lists", "flatten", "long string", "pattern"],
)
def test_an_expensive_selector_ends_and_says_so(text: str, says: str) -> None:
    started = time.process_time()
    answer = evaluate(text, DEVICE)
    assert time.process_time() - started < 4 * SECONDS
    assert isinstance(answer, RuntimeError_)
    assert says in answer.text
    assert answer.refused == ("here" in says)


def test_the_memory_stays_small() -> None:
    tracemalloc.start()
    try:
        assert evaluate(nested(40, "[1]") + "a39.size() == 2" + ")" * 41, DEVICE) is True
        assert evaluate("lists.range(20000).map(x, x).size() == 20000", DEVICE) is True
        compile("\x00@#$" * 2_621_440)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


def test_the_cost_limit_is_that_of_the_api_unless_told_otherwise() -> None:
    program = compile("[1, 2, 3].all(x, x < 4)")
    assert isinstance(program, Program)
    assert program.measured(DEVICE) == (True, 16)
    assert program.evaluate(DEVICE, limit=16) is True
    assert program.evaluate(DEVICE, limit=15) == RuntimeError_("operation cancelled: actual cost limit exceeded")


def test_a_pattern_that_makes_backtracking_explode_is_matched_in_no_time() -> None:
    started = time.process_time()
    assert evaluate("'" + "a" * 2000 + "'.matches('(a+)+b')", DEVICE) is False
    assert time.process_time() - started < SECONDS


def test_the_recursion_limit_of_the_process_is_left_as_it_was() -> None:
    before = sys.getrecursionlimit()
    compile("(" * 200 + "true" + ")" * 200)
    assert sys.getrecursionlimit() == before


def test_the_deepest_text_that_is_accepted_is_evaluated() -> None:
    assert evaluate("(" * 249 + "true" + ")" * 249, DEVICE) is True
    assert evaluate("[" * 240 + "]" * 240 + ".size() == 1", DEVICE) is True
    assert evaluate("1+" * 240 + "1 == 241", DEVICE) is True


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1\.31"):
        compile("true", "1.31")


TEXTS = st.text(alphabet="abdevic.[]'(){}<=>&|!?:,+-*/% 019\"\n\\\u00e9@", max_size=60)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_any_text_is_one_of_the_three_answers(text: str) -> None:
    answer = evaluate(text, DEVICE)
    assert isinstance(answer, (bool, CompileError, RuntimeError_))
    if isinstance(answer, CompileError):
        assert diagnose(text)
