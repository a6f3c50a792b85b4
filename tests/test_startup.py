"""Start-up is a design property: what `gputopo inspect FILE` must not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = {
    "pydantic", "rich", "yaml", "pynvml", "psutil", "importlib.metadata", "asyncio", "networkx", "grpc",
    "kubernetes", "dataclasses", "numpy", "pandas", "lzma", "tarfile", "zipfile",
}  # fmt: skip
TOPO = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV18\t0-15\t0\t\tN/A\n"
    "GPU1\tNV18\t X \t16-31\t1\t\tN/A\n"
)
LOADED = """
import sys
before = set(sys.modules)
from gputopo.cli import run
code = run(sys.argv[1:])
print(*sorted(sys.modules), sep="\\n", file=sys.stderr)
sys.exit(code)
"""
# Typer brings these along itself, whatever we do; the floor is not ours to lower.
TYPERS = "import typer, sys; print(*sorted(sys.modules), sep='\\n', file=sys.stderr)"


def loaded(*arguments: str, code: str = LOADED) -> tuple[int, set[str]]:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, set(done.stderr.split("\n"))


@pytest.fixture(scope="module")
def floor() -> set[str]:
    return loaded(code=TYPERS)[1]


@pytest.mark.parametrize("arguments", [[], ["-o", "json"], ["inspect"], ["-v", "--matrix", "full"]])
def test_inspect_of_a_file_loads_nothing_slow(arguments: list[str], tmp_path: Path, floor: set[str]) -> None:
    file = tmp_path / "topo.txt"
    file.write_text(TOPO)
    at_end = [*arguments, str(file)] if arguments == ["inspect"] else [str(file), *arguments]
    status, names = loaded(*at_end)
    assert status == 0
    assert "gputopo.inspection" in names
    assert names & SLOW - floor == set()
    assert not any(name.startswith("gputopo.nccl.") for name in names), "NCCL's model is for --bandwidth"


@pytest.mark.parametrize("form", ["markdown", "csv", "github", "html"])
def test_what_is_passed_on_loads_nothing_slow(form: str, tmp_path: Path, floor: set[str]) -> None:
    file = tmp_path / "topo.txt"
    file.write_text(TOPO)
    status, names = loaded(str(file), "-o", form)
    assert status == 0
    assert names & SLOW - floor == set()


@pytest.mark.parametrize("form", ["ascii", "svg", "dot", "mermaid"])
def test_a_picture_of_a_file_loads_nothing_slow(form: str, tmp_path: Path, floor: set[str]) -> None:
    file = tmp_path / "topo.txt"
    file.write_text(TOPO)
    status, names = loaded("draw", str(file), "-o", form)
    assert status == 0
    assert names & (SLOW | {"cairosvg", "gputopo.inspection_pods"}) - floor == set()


def test_the_slow_ones_are_not_of_typer(floor: set[str]) -> None:
    """Else the test above would let them pass."""
    assert "typer.main" in floor
    assert floor & SLOW <= {"lzma"}


def test_the_version_loads_no_verb(floor: set[str]) -> None:
    status, names = loaded("--version")
    assert status == 0
    ours = {name for name in names if name.startswith("gputopo")}
    assert ours == {"gputopo", "gputopo.cli", "gputopo.errors", "gputopo.version"}
    assert names & SLOW - floor == set()


def test_a_usage_error_loads_neither_parsers_nor_rich(floor: set[str]) -> None:
    status, names = loaded("inspect", "--nonsense")
    assert status == 2
    assert "gputopo.inspection" not in names
    assert names & SLOW - floor == set()
