"""Our answers are those that Kubernetes' own evaluators gave to the same selectors.

answers.json was recorded with k8s.io/dynamic-resource-allocation 0.32.13, 0.33.13, 0.34.9, 0.35.6, 0.36.3 and
0.37.2 (environment StoredExpressions); of a compile error it holds the first line. syntax_errors.json was recorded by
the referee (conformance/) with 0.36.6 and 0.37.2, one case where both say the same, and holds all that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay_kinds import dra_cel

ANSWERS = Path(__file__).parent / "answers.json"
CASES = list(dra_cel.cases(ANSWERS))
BROKEN = list(dra_cel.cases(ANSWERS.with_name("syntax_errors.json")))


@pytest.mark.parametrize("case", CASES, ids=[f"{case.name}: {case.expression}" for case in CASES])
def test_a_selector_gets_the_answer_of_kubernetes(case: dra_cel.CelCase) -> None:
    assert dra_cel.compare(case.expected, dra_cel.answer(case)) == []


@pytest.mark.parametrize("case", BROKEN, ids=[f"{case.name}, {case.release}" for case in BROKEN])
def test_every_error_behind_the_first_is_that_of_kubernetes(case: dra_cel.CelCase) -> None:
    assert dra_cel.compare(case.expected, dra_cel.answer(case)) == []


@pytest.mark.parametrize("kind", sorted(dra_cel.COMPARED))
def test_every_kind_of_answer_was_recorded(kind: str) -> None:
    assert sum(kind in case.expected for case in CASES) > 20


def test_an_answer_of_another_kind_place_or_text_is_a_difference() -> None:
    said = {"compileError": "compilation failed: ERROR: <input>:1:3: Syntax error: x"}
    assert dra_cel.compare(said, {"compileError": "compilation failed: ERROR: <input>:1:3: Syntax error: y"})
    assert dra_cel.compare(said, {"compileError": f"{said['compileError']}\n | a b\n | ..^"}) == []
    assert dra_cel.compare(said, {"compileError": "compilation failed: ERROR: <input>:1:4: Syntax error: x"})
    assert dra_cel.compare(said, {"compileError": "compilation failed: ERROR: <input>:1:3: undefined field 'x'"})
    assert dra_cel.compare({"matches": True}, {"matches": False})
    assert dra_cel.compare({"matches": False}, {"runtimeError": "no such key: x"})
    assert dra_cel.compare({"runtimeError": "no such key: x"}, {"runtimeError": "no such key: y"})
