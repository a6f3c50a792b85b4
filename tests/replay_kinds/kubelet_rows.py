"""The rows of the kubelet's recorded answers: inputs beside `expect`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class KubeletCase(NamedTuple):
    name: str
    expected: dict[str, Any]
    row: dict[str, Any]
    exact: bool  # the recorded answer is the only one possible


def rows(path: Path) -> Iterator[KubeletCase]:
    """A file named nondeterministic holds answers that differed between runs."""
    exact = "nondeterministic" not in path.name
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                row = json.loads(line)
                yield KubeletCase(row["id"], row["expect"], row, exact)
