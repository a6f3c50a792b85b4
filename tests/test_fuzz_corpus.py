"""What fuzzing found once stays found: every kept case is read or refused within its limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz import corpus_files
from fuzz.judge import judge
from fuzz.mutate import mutate
from fuzz.targets import names, target

KEPT = [(name, path) for name in names() for path in corpus_files.files(name)]


@pytest.mark.parametrize(("name", "path"), KEPT, ids=[f"{name}/{path.name}" for name, path in KEPT])
def test_a_kept_case(name: str, path: Path) -> None:
    chosen = target(name)
    for further in (False, True):
        failure, _ = judge(chosen, corpus_files.read(chosen, path), further)
        assert failure is None or failure.where.startswith("memory"), failure  # of this whole process


@pytest.mark.parametrize("name", names())
def test_every_target_has_seeds_that_are_read(name: str) -> None:
    """Without them its mutations would only be refused."""
    chosen = target(name)
    assert any(judge(chosen, seed, True) == (None, True) for seed in chosen.seeds())


def test_a_case_can_be_made_again() -> None:
    from random import Random

    seeds = target("nvidia_smi_topo").seeds()
    assert mutate(seeds[0], Random(1), seeds) == mutate(seeds[0], Random(1), seeds)
