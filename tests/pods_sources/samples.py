"""Files that others made: the shared samples of the kubelet, where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("GPUTOPO_SHARED") or Path(__file__).parents[3] / "shared")
FOLDER = SHARED / "data/kubelet/samples"
needs_samples = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no samples of the kubelet in {FOLDER}; GPUTOPO_SHARED")


def gpu(number: int) -> str:
    """The UUID that the samples' README writes as …05."""
    return f"GPU-00000000-0000-4000-8000-{number:012d}"


def pod(number: int) -> str:
    return f"aaaaaaaa-0000-4000-8000-{number:012x}"


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
