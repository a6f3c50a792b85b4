"""What many tests read and none changes: written once in each process of a test run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.machines import MACHINES, Spelled, spellings


@pytest.fixture(scope="session")
def spelled(tmp_path_factory: pytest.TempPathFactory) -> Spelled:
    """Every spelling of a machine, to be read only: a sysfs root is thousands of files."""
    folder = tmp_path_factory.mktemp("machines")
    return cache(lambda name: spellings(MACHINES[name], folder / name))


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C stand-in of the NVIDIA driver's library."""
    from tests.evidence.live import standin

    if standin.compiler() is None:
        pytest.skip(standin.NO_COMPILER)
    return standin.build(tmp_path_factory.mktemp("driver"))
