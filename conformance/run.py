"""Draws questions, asks the real upstream code, and replays its answers through our simulators.

    python -m conformance.run [--mechanism M] [--count N] [--seed S] [--release V] [--keep FOLDER]
    python -m conformance.run --differences      the same questions to two kubelet releases

Prints for each mechanism and release how many questions were asked, the seed, and the result of
tests/replay.py; of pods-kubelet, whose answers are read while they stand and not recorded, what was compared.
Exit 0: no difference. 1: a difference. 2: could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random, SystemRandom
from typing import Any, NamedTuple

from conformance import gobuild, records
from conformance.gobuild import DRA, GPUALLOCATOR, KUBELET, BuildError, Program
from conformance.pods import run as pods
from conformance.questions import dra_cel, dra_scenarios, gpuallocator, kubelet_admission, kubelet_devices

ROOT = Path(__file__).resolve().parent.parent
COUNT = 20_000
SHOWN = 5
Question = dict[str, Any]
Draw = Callable[[Random, int], list[Question]]
Record = Callable[[list[Question], list[Question], str], dict[str, str]]


class Mechanism(NamedTuple):
    program: Program
    draw: Draw
    record: Record  # questions and answers → texts of recorded files by name


# Named as the kinds of tests/replay.py.
MECHANISMS = {
    "gpuallocator": Mechanism(GPUALLOCATOR, gpuallocator.policies, records.policies),
    "gpuallocator-outcomes": Mechanism(GPUALLOCATOR, gpuallocator.outcomes, records.outcomes),
    "kubelet-merge": Mechanism(KUBELET, kubelet_devices.merge, records.kubelet),
    "kubelet-hints": Mechanism(KUBELET, kubelet_devices.hints, records.kubelet),
    "kubelet-allocate": Mechanism(KUBELET, kubelet_devices.allocate, records.kubelet),
    "kubelet-admit": Mechanism(KUBELET, kubelet_admission.admit, records.kubelet),
    "dra-scenarios": Mechanism(DRA, dra_scenarios.scenarios, records.dra_scenarios),
    "dra-cel": Mechanism(DRA, dra_cel.expressions, records.dra_cel),
}

# What a release of the module looks like, so that one named is asked of its own program.
_SERIES = {KUBELET: r"v1\.", DRA: r"v0\.\d\d\.", GPUALLOCATOR: r"v0\.\d\."}


def ask(executable: Path, questions: list[Question]) -> list[Question]:
    """The answers of a Go program, one process for each core. Raises BuildError where it gave up."""
    processes = max(1, min(os.cpu_count() or 1, len(questions) // 100))
    cuts = [len(questions) * i // processes for i in range(processes + 1)]
    shares = [questions[start:end] for start, end in pairwise(cuts)]
    with ThreadPoolExecutor(processes) as pool:
        return [answer for share in pool.map(partial(_ask, executable), shares) for answer in share]


def _ask(executable: Path, questions: list[Question]) -> list[Question]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    done = subprocess.run([str(executable)], input=lines, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise BuildError(f"{executable.parent.name} gave up: {said[0][:300] if said else done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def draw(name: str, count: int, seed: int) -> list[Question]:
    """Every mechanism has its own sequence, so that one alone can be drawn again."""
    return MECHANISMS[name].draw(Random(f"{seed} {name}"), count)


def conform(name: str, version: str, count: int, seed: int, folder: Path) -> bool:
    """Whether our simulator gave every answer that the real code gave."""
    mechanism = MECHANISMS[name]
    questions = draw(name, count, seed)
    started = time.monotonic()
    answers = ask(gobuild.build(mechanism.program, version), questions)
    print(f"{name}: {mechanism.program.module} {version}, seed {seed}, {sum(map(size, questions))} questions, "
          f"asked in {time.monotonic() - started:.0f} s", flush=True)  # fmt: skip
    right = True
    for file_name, text in mechanism.record(questions, answers, version).items():
        path = folder / f"{name}-{version}-{file_name}"
        path.write_text(text, encoding="utf-8")
        right = replay(name, path) and right
    return right


def size(question: Question) -> int:
    return len(question["cases"]) if "cases" in question else 1


def replay(kind: str, path: Path) -> bool:
    command = [sys.executable, str(ROOT / "tests" / "replay.py"), kind, str(path)]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def differences(count: int, seed: int) -> bool:
    """Prints where the newest kubelet answers otherwise than the one before it."""
    old, new = gobuild.RELEASES[KUBELET][-2:]
    same = True
    for name, mechanism in MECHANISMS.items():
        if mechanism.program is not KUBELET:
            continue
        questions = draw(name, count, seed)
        first, second = (ask(gobuild.build(KUBELET, version), questions) for version in (old, new))
        other = [
            (question, one, two)
            for question, one, two in zip(questions, first, second)
            if not (one["varies"] or two["varies"]) and records.comparable(one) != records.comparable(two)
        ]
        print(f"{name}: seed {seed}, {len(questions)} questions, {len(other)} answered otherwise by {new} than {old}")
        for question, one, two in other[:SHOWN]:
            print(json.dumps({"question": question, old: one["expect"], new: two["expect"]}))
        same = same and not other
    return same


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="conformance.run", description="Ask the real code fresh questions.")
    names = sorted((*MECHANISMS, pods.NAME))
    parser.add_argument("--mechanism", action="append", choices=names, help="may be repeated; all")
    parser.add_argument("--count", type=int, default=COUNT, help=f"questions for each mechanism; {COUNT}")
    parser.add_argument("--seed", type=int, help="a fresh one, printed")
    parser.add_argument("--release", action="append", help="of the module, as v1.36.3; those named in gobuild.py")
    parser.add_argument("--keep", type=Path, help="folder for the recorded answers; a temporary one")
    parser.add_argument("--differences", action="store_true", help="compare two kubelet releases, not our simulator")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else SystemRandom().randrange(10**6)
    try:
        if options.differences:
            return int(not differences(options.count, seed))
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            return int(not _all(options, seed, folder))
    except BuildError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2


def _all(options: argparse.Namespace, seed: int, folder: Path) -> bool:
    right = True
    for name in options.mechanism or (*MECHANISMS, pods.NAME):
        program = KUBELET if name == pods.NAME else MECHANISMS[name].program
        releases = [one for one in options.release or () if _serves(program, one)] or gobuild.RELEASES[program]
        for version in releases:
            if name == pods.NAME:
                right = pods.conform(version, options.count, seed, folder) and right
            else:
                right = conform(name, version, options.count, seed, folder) and right
    return right


def _serves(program: Program, version: str) -> bool:
    return re.match(_SERIES[program], version) is not None


if __name__ == "__main__":
    raise SystemExit(main())
