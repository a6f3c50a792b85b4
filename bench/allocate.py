"""How long BestEffort takes here and in Go: one order, and the whole outcome set, for 8 to 16 GPUs and every size.

    python bench/allocate.py [--most 16]

CPU seconds of one call, all GPUs free and none required, on three nodes: two sockets (as HGX), every pair
alike (the worst for outcome sets), random levels and NVLinks. Beside it the real go-gpuallocator v0.6.0 on the
first of them, in the same run where Go is at hand (conformance/ builds it) and for up to 14 GPUs; figures marked
* were measured once, with Go 1.27 on a loaded 2-core machine, since 16 GPUs alone take minutes.

Exit 1 where a limit is broken: 1.2 s for one order, 3 s for an outcome set, 50 times faster than Go at 16 GPUs
and size 3, slower than Go where Go needs more than 0.1 s.
"""

from __future__ import annotations

import argparse
import random
import sys
from math import comb, factorial
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gputopo.allocate.device_plugin import best_effort, best_effort_outcomes

ONE_ORDER, OUTCOMES, FACTOR = 1.2, 3.0, 50
# (GPUs, size) → wall seconds of the Go code.
GO = {
    (8, 2): 0.00012, (8, 3): 0.00042, (8, 4): 0.00006, (8, 5): 0.00012, (8, 6): 0.00014, (8, 8): 0.00003,
    (10, 2): 0.00131, (10, 3): 0.02153, (10, 4): 0.00764, (10, 5): 0.00029, (10, 6): 0.00064, (10, 8): 0.00114,
    (12, 2): 0.02111, (12, 3): 0.10442, (12, 4): 0.01392, (12, 5): 0.09852, (12, 6): 0.00137, (12, 8): 0.0028,
    (14, 2): 0.50032, (14, 3): 6.30216, (14, 4): 3.39373, (14, 5): 1.23334, (14, 6): 0.92844, (14, 8): 0.04455,
    (16, 2): 5.98411, (16, 3): 123.286, (16, 4): 19.87156, (16, 5): 25.93478, (16, 6): 12.31863, (16, 8): 0.11605,
}  # fmt: skip
MEASURED = 14  # GPUs up to which Go is run each time
_TYPES = {10: 1, 20: 2}  # points → links.P2PLinkType
Scores = list[list[int]]


def nodes(count: int) -> dict[str, Scores]:
    draw = random.Random(count)
    levels = [[0] * count for _ in range(count)]
    for a in range(count):
        for b in range(a):
            levels[a][b] = levels[b][a] = draw.choice((10, 20, 30, 40, 50, 120, 220, 420, 1220))
    return {
        "two sockets": [
            [0 if a == b else 20 if (a < count // 2) == (b < count // 2) else 10 for b in range(count)]
            for a in range(count)
        ],
        "all alike": [[0 if a == b else 10 for b in range(count)] for a in range(count)],
        "random": levels,
    }


def partitions(count: int, size: int) -> int:
    """How many the Go code enumerates."""
    full, short = divmod(count, size)
    cuts = factorial(count - short) // (factorial(size) ** full * factorial(full))
    return int(comb(count, short) * cuts)


def go_seconds(most: int) -> dict[tuple[int, int], float]:
    """Wall seconds of the real code, measured now; {} where it cannot be built."""
    import json
    import subprocess

    from conformance.gobuild import GPUALLOCATOR, RELEASES, BuildError, build

    try:
        program = build(GPUALLOCATOR, RELEASES[GPUALLOCATOR][-1])
    except BuildError as error:
        print(f"Go figures are kept ones: {error}", file=sys.stderr)
        return {}
    found = {}
    for count in range(8, min(most, MEASURED) + 1):
        links = [[a, b, [_TYPES[nodes(count)["two sockets"][a][b]]]] for a in range(count) for b in range(a)]
        sizes = list(range(2, count + 1))
        asked = json.dumps({"n": count, "links": [[b, a, kinds] for a, b, kinds in links], "sizes": sizes})
        done = subprocess.run([program], input=asked + "\n", capture_output=True, text=True, check=True)
        found.update(zip(((count, size) for size in sizes), json.loads(done.stdout)["seconds"]))
    return found


def seconds(call: object, *arguments: object) -> float:
    start = process_time()
    call(*arguments)  # type: ignore[operator]
    return process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=16, help="GPUs of the largest node")
    most = parser.parse_args().most
    broken = []
    fresh = go_seconds(most)
    print(f"{'GPUs':>4} {'size':>4} {'partitions':>12} {'one order':>10} {'outcomes':>9} {'Go':>10} {'Go / ours':>9}")
    for count in range(8, most + 1):
        for size in range(2, count + 1):
            made = nodes(count).values()
            one = max(seconds(best_effort, scores, range(count), (), size) for scores in made)
            whole = max(seconds(best_effort_outcomes, scores, range(count), (), size) for scores in made)
            go = fresh.get((count, size), GO.get((count, size)))
            ratio = f"{go / one:9.1f}" if go is not None and one else f"{'':9}"
            mark = " " if (count, size) in fresh else "*"
            shown = f"{go:9.4f}{mark}" if go is not None else f"{'':10}"
            enumerated = partitions(count, size)
            print(f"{count:4} {size:4} {enumerated:12} {one:10.4f} {whole:9.4f} {shown} {ratio}", flush=True)
            broken += check(count, size, one, whole, go)
    for line in broken:
        print(line, file=sys.stderr)
    return int(bool(broken))


def check(count: int, size: int, one: float, whole: float, go: float | None) -> list[str]:
    broken = []
    if one > ONE_ORDER:
        broken.append(f"{count} GPUs, size {size}: one order takes {one:.2f} s, more than {ONE_ORDER}")
    if whole > OUTCOMES:
        broken.append(f"{count} GPUs, size {size}: the outcome set takes {whole:.2f} s, more than {OUTCOMES}")
    if go is not None and go > 0.1 and one > go:
        broken.append(f"{count} GPUs, size {size}: slower than Go, {one:.3f} s against {go:.3f}")
    if (count, size) == (16, 3) and go is not None and go / one < FACTOR:
        broken.append(f"16 GPUs, size 3: {go / one:.0f} times faster than Go, not {FACTOR}")
    return broken


if __name__ == "__main__":
    raise SystemExit(main())
