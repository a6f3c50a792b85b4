"""A generated page of docs/, one file: written, or checked, by `python -m MODULE --write|--check [FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main(module: str, page: Callable[[], str], file: Path, arguments: Sequence[str]) -> int:
    """Exit code 1: the page is not what the program would write now."""
    if not arguments or arguments[0] not in ("--write", "--check") or len(arguments) > 2:
        print(f"usage: python -m {module} --write|--check [FILE]", file=sys.stderr)
        return 2
    file = Path(arguments[1]) if len(arguments) == 2 else file
    wanted = page()
    if arguments[0] == "--write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted, encoding="utf-8")
        return 0
    try:
        there = file.read_text(encoding="utf-8")
    except OSError:
        there = ""
    if there == wanted:
        return 0
    print(f"{file} is stale: python -m {module} --write", file=sys.stderr)
    return 1
