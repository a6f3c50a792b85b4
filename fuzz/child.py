"""`python -m fuzz.child TARGET SEED FIRST END SECONDS STATE`: cases one after another, in a process of its own.

Prints one JSON object a failure and one at the end. The number of the case at hand is in STATE, for
when this process is killed. A case is `case(target, SEED, number)`, whatever ran before it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from random import Random
from time import monotonic
from typing import Any

from fuzz import corpus_files
from fuzz.judge import PEAK_KILOBYTES, Failure, judge, limit_this_process, peak_kilobytes
from fuzz.minimise import minimise
from fuzz.targets import Target, target

_FURTHER = 0.05  # of the cases go beyond the parser
_MINIMISING = 15.0  # seconds for each failure


def case(target: Target, seed: int, number: int) -> tuple[Any, bool]:
    """The case of that number, and whether it goes beyond the parser."""
    random = Random(f"{target.name}:{seed}:{number}")
    further = random.random() < _FURTHER
    seeds = target.seeds()
    # The short ones more often: they say as much in less time.
    chosen = seeds[int(random.random() ** 3 * len(seeds))]
    return target.mutate(chosen, random, seeds), further


def main(arguments: list[str]) -> int:
    name, state = arguments[0], arguments[5]
    seed, first, last, seconds = *map(int, arguments[1:4]), float(arguments[4])
    chosen = target(name)
    place = os.open(state, os.O_WRONLY | os.O_CREAT)
    for one in chosen.seeds():  # import all that is imported late
        judge(chosen, one, True)
    limit_this_process()
    gc.freeze()
    said: set[str] = set()
    number, read = first, 0
    end = monotonic() + seconds
    while number < last and monotonic() < end and peak_kilobytes() < PEAK_KILOBYTES:
        os.pwrite(place, b"%20d" % number, 0)
        made, further = case(chosen, seed, number)
        failure, was_read = judge(chosen, made, further)
        number += 1
        read += was_read
        if failure is not None and failure.where not in said:
            said.add(failure.where)
            _say(chosen, made, further, failure, number - 1)
    print(json.dumps({"next": number, "read": read}), flush=True)
    return 0


def _say(target: Target, made: Any, further: bool, failure: Failure, number: int) -> None:
    def fails(shorter: Any) -> bool:
        again, _ = judge(target, shorter, further)
        return again is not None and again.where == failure.where

    if not failure.where.startswith("memory"):  # the peak of a process never goes down again
        made = minimise(made, fails, _MINIMISING)
    path = corpus_files.keep(target, made, failure)
    print(json.dumps({"case": number, "where": failure.where, "what": failure.what, "file": str(path)}), flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
