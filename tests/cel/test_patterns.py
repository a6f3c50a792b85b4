"""RE2: what matches, and how a pattern is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.cel.pattern_characters import BadPattern
from gputopo.cel.pattern_syntax import parse_pattern
from gputopo.cel.patterns import compile_pattern, find_all, search
from gputopo.cel.program import CompileError
from gputopo.cel.program import compile as compile_selector


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a-", "missing closing ]: `[a-`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
    ],
)
def test_a_bad_pattern_is_refused_in_the_words_of_go(pattern: str, says: str) -> None:
    with pytest.raises(BadPattern) as caught:
        parse_pattern(pattern)
    assert caught.value.text == f"error parsing regexp: {says}"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?i)h100", "NVIDIA H100", (7, 11)),
        ("(?i:k)", "\u212a", (0, 1)),
        ("a|ab", "ab", (0, 1)),
        ("a+?", "aaa", (0, 1)),
        ("(?U)a+", "aaa", (0, 1)),
        ("^b", "a\nb", None),
        ("(?m)^b$", "a\nb\nc", (2, 3)),
        (".", "\n", None),
        ("(?s).", "\n", (0, 1)),
        ("\\bSXM\\d\\b", "A100 SXM4 80GB", (5, 9)),
        ("[^[:digit:]\\s]+", "12 ab", (3, 5)),
        ("\\pL+", "12 \u00e9\u00fc", (3, 5)),
        ("a{2,3}", "aaaa", (0, 3)),
        ("x{,2}", "x{,2}", (0, 5)),
        ("\\Qa.b\\E", "aXb a.b", (4, 7)),
        ("(a*)*b", "aab", (0, 3)),
        # What can be empty, repeated: here Go and Python part (answers of Go 1.26's regexp).
        ("(?:(?:b)*|a)*", "a", (0, 0)),
        ("(?:(?:a)*|b)*", "ab", (0, 2)),
        ("(?:(?:a)?)*", "aa", (0, 2)),
        ("(?:(?:a)?|b)+", "b", (0, 0)),
        ("(?:b*|a){2,}c", "abac", (0, 4)),
    ],
)
def test_the_leftmost_first_match_is_found(pattern: str, text: str, found: tuple[int, int] | None) -> None:
    assert search(compile_pattern(pattern), text) == found


def test_all_matches_do_not_overlap_and_end_with_the_count() -> None:
    assert find_all("aaa", "a*") == ["aaa"]
    assert find_all("baac", "a*") == ["", "aa", ""]
    assert find_all("123", "[0-9]", 2) == ["1", "2"]


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "c"]),
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})")
        | st.tuples(inner.filter(lambda one: not re.fullmatch(one, "")), st.sampled_from("*+?")).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        )
    ),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(SIMPLE, st.text(alphabet="abc", max_size=8))
def test_what_never_repeats_the_empty_text_is_matched_as_python_does(pattern: str, text: str) -> None:
    other = re.search(pattern, text)
    assert search(compile_pattern(pattern), text) == (other.span() if other else None)


def test_a_pattern_with_a_script_is_refused_and_not_guessed() -> None:
    answer = compile_selector("'x'.matches('\\\\p{Greek}')")
    assert isinstance(answer, CompileError)
    assert answer.refused
