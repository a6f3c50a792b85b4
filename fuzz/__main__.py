"""`python -m fuzz [TARGET…] [--seconds S] [--seed N]`: run, count, keep what fails.

With one number as SEED the same cases are made again. fuzz/counts.json, which is not committed, adds up
the inputs of all runs, one row a target; without TARGET those that have fewest inputs are run as long as
one is below 200,000. Exit code 1 where something failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from fuzz.seeds import ROOT
from fuzz.targets import names

COUNTS = ROOT / "fuzz" / "counts.json"
WANTED = 200_000


class Result(NamedTuple):
    name: str
    inputs: int
    read: int
    failures: tuple[dict[str, Any], ...]


def main() -> int:
    options = _options()
    chosen = options.targets or _short() or list(names())
    each = options.seconds * options.jobs / max(len(chosen), options.jobs)
    print(f"seed {options.seed}, {len(chosen)} targets, {each:.1f} s each", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        results = []
        totals = _totals()
        left = {name: max(WANTED - totals.get(name, 0), 0) or sys.maxsize for name in chosen}
        for result in pool.map(lambda name: _run(name, options.seed, each, options.first, left[name]), chosen):
            results.append(result)
            _print(result)
            totals = _add(result)
    _print_totals(totals, chosen)
    return int(any(result.failures for result in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Mutated inputs against every parser.")
    parser.add_argument("--seconds", type=float, default=60, help="of all targets together")
    parser.add_argument("--seed", type=int, help="a number that was printed, to make the same cases again")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="of these: " + ", ".join(names()))
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    options = parser.parse_args()
    unknown = [name for name in options.targets if name not in names()]
    if unknown:
        parser.error(f"no such target: {', '.join(unknown)}")
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def _run(name: str, seed: int, seconds: float, first: int, most: int) -> Result:
    """Children one after another: one that ends early (memory, a crash) is followed by the next."""
    end = monotonic() + seconds
    number, read = first, 0
    failures: list[dict[str, Any]] = []
    guided = find_spec("atheris") is not None and name != "sysfs_root"
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "case"
        while (left := end - monotonic() - (seconds / 2 if guided else 0)) > 0 and number < first + most:
            done = _child("fuzz.child", name, str(seed), str(number), str(first + most), f"{left:.2f}", str(state))
            rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            failures += [row for row in rows if "where" in row]
            last = rows[-1] if rows and "next" in rows[-1] else None
            if last is not None:
                number, read = last["next"], read + last["read"]
                continue
            if not state.is_file():
                failures.append({"where": "no start", "what": done.stderr[-2_000:], "case": number, "file": ""})
                break
            died = int(state.read_text() or 0)
            what = f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
            failures.append({"where": "the process died", "what": what, "case": died, "file": ""})
            number = died + 1
        inputs = number - first
        if guided and end > monotonic():
            done = _child("fuzz.with_atheris", name, f"{end - monotonic():.0f}", str(state))
            inputs += int(state.read_text() or 0)
            if done.returncode:
                failures.append({"where": "atheris", "what": done.stderr[-1_500:], "case": -1, "file": ""})
    return Result(name, inputs, read, tuple({row["where"]: row for row in failures}.values()))


def _child(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True, text=True, check=False, cwd=ROOT, errors="replace",
    )  # fmt: skip


def _print(result: Result) -> None:
    print(
        f"{result.name:<20} {result.inputs:>8} inputs, {result.read} read, {len(result.failures)} failures", flush=True
    )
    for row in result.failures:
        print(f"  case {row['case']}  {row['where']}: {row['what']}  {row['file']}", flush=True)


def _totals() -> dict[str, int]:
    try:
        totals: dict[str, int] = json.loads(COUNTS.read_text())
        return totals
    except (OSError, ValueError):
        return {}


def _short() -> list[str]:
    totals = _totals()
    return [name for name in names() if totals.get(name, 0) < WANTED]


def _add(result: Result) -> dict[str, int]:
    totals = _totals()
    totals[result.name] = totals.get(result.name, 0) + result.inputs
    COUNTS.write_text(json.dumps(totals, indent=2, sort_keys=True) + "\n")
    return totals


def _print_totals(totals: dict[str, int], chosen: list[str]) -> None:
    short = [f"{name} {totals[name]}" for name in chosen if totals[name] < WANTED]
    print(
        f"all runs: {sum(totals[name] for name in chosen)} inputs"
        + (f"; below {WANTED}: {', '.join(short)}" if short else "")
    )


if __name__ == "__main__":
    sys.exit(main())
