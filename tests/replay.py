"""Replays recorded answers of the real systems through our code.

    python tests/replay.py KIND PATH... [--verbs A,B]

Prints `KIND PATH: N cases, M mismatches` for each path and the first five mismatches on stderr.
Exit 0: all right. 1: a mismatch, or a path without cases. 2: a wrong command line.

A kind is a module of tests/replay_kinds/, named in the table KINDS there, with

    COMPARED   frozenset of the keys of a recorded answer that are compared
    IGNORED    dict: every other key, with the reason why it is not compared
    cases(path)             the recorded cases: objects with `name` and `expected` (a dict)
    answer(case)            our answer, in a form of the kind's own
    compare(expected, got)  the differences as sentences; [] when right

To add one: write the module, add one line to KINDS. tests/test_replay_kinds.py then checks that each
key of each recorded answer is in COMPARED or IGNORED, so that a kind cannot pass by comparing nothing.
A kind whose cases are command lines may define `uses(case, verbs) -> bool`; `--verbs` keeps those.
`notes()` gives lines to print after the counts: what was left out, and what it waits for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.replay_kinds import KINDS, Kind, load

SHOWN = 5


def replay(kind: Kind, path: Path, verbs: frozenset[str] = frozenset()) -> tuple[int, list[str]]:
    """The number of cases of a path, and a line for each case that differs."""
    count = 0
    mismatches = []
    for case in kind.cases(path):
        if verbs and not _uses(kind, case, verbs):
            continue
        count += 1
        try:
            differences = kind.compare(case.expected, kind.answer(case))
        except Exception as error:  # a crash is a wrong answer, and the other cases still count
            differences = [f"{type(error).__name__}: {error}"]
        if differences:
            more = f" (and {len(differences) - 3} more)" if len(differences) > 3 else ""
            mismatches.append(f"{case.name}: {'; '.join(differences[:3])}{more}")
    return count, mismatches


def _uses(kind: Kind, case: object, verbs: frozenset[str]) -> bool:
    uses = getattr(kind, "uses", None)
    return uses is None or bool(uses(case, verbs))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="replay.py", description="Replay recorded answers of the real systems.")
    parser.add_argument("kind", choices=sorted(KINDS), metavar="KIND", help=", ".join(sorted(KINDS)))
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    parser.add_argument("--verbs", default="", help="only cases that use one of these verbs, comma-separated")
    options = parser.parse_args(arguments)
    try:
        kind = load(options.kind)
    except ImportError as error:
        parser.error(f"kind {options.kind} cannot be loaded: {error}")
    verbs = frozenset(filter(None, options.verbs.split(",")))
    failed = False
    for path in options.paths:
        try:
            count, mismatches = replay(kind, path, verbs)
        except (OSError, ValueError) as error:
            print(f"{options.kind} {path}: {error}", file=sys.stderr)
            count, mismatches = 0, []
        print(f"{options.kind} {path}: {count} cases, {len(mismatches)} mismatches")
        for note in getattr(kind, "notes", list)():
            print(f"  {note}")
        for mismatch in mismatches[:SHOWN]:
            print(mismatch, file=sys.stderr)
        failed = failed or bool(mismatches) or count == 0
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
