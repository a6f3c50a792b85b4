"""NCCL's own answers, recorded: a part of what `replay.py nccl-paths` replays whole."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.replay_kinds import nccl_paths

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")
ORACLE = SHARED / "data/nccl/oracle"
needs_data = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no recorded answers at {ORACLE}; set GPUTOPO_SHARED")
EVERY = 23


@needs_data
def test_one_recorded_answer_in_twenty_three() -> None:
    seen = 0
    for case in islice(nccl_paths.cases(ORACLE), 0, None, EVERY):
        assert nccl_paths.compare(case.expected, nccl_paths.answer(case)) == [], case.name
        seen += 1
    assert seen > 20


@needs_data
def test_an_altered_answer_is_a_mismatch_for_every_compared_key() -> None:
    case = next(case for case in nccl_paths.cases(ORACLE) if case.name == "perlmutter-a100.xml all_p2p_on")
    got = nccl_paths.answer(case)
    assert nccl_paths.compare(case.expected, got) == []
    for key in nccl_paths.COMPARED:
        altered = {**case.expected, key: alter(case.expected[key])}
        assert nccl_paths.compare(altered, got), key


def alter(value: Any) -> Any:
    """Another answer of the same shape: the first number in it a little larger."""
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: alter(value[first])}
    if isinstance(value, list):
        return [*value[:-1], alter(value[-1])]
    return value + 1
