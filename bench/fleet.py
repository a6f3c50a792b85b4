"""How long `gputopo fleet` takes, and whether it finds what is planted: bundles of six machine models, seven faults.

    python bench/fleet.py [NODES ...]        default 1000 10000; the fleets are written to a temporary folder

For each size: nodes a second with 1 and 2 workers (wall clock), CPU seconds of all processes, the memory of the
largest process. Exit 1 where a limit is broken: a planted fault that is not named with its field, or anything else that
is; two documents that differ; growth from the first size to the last that is not linear within 15 % (CPU seconds a
node with one worker, which a busy machine disturbs least); more than 300 MB.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.fleet.planted import FIELDS, write

SIZES = (1_000, 10_000)
LINEAR, MEMORY = 0.15, 300_000  # KB


class Ran(NamedTuple):
    seconds: float
    cpu: float
    kilobytes: int
    document: str


def ran(folder: Path, workers: int, out: Path) -> Ran:
    arguments = ["-m", "gputopo", "fleet", str(folder), "-o", "json", "--output-file", str(out), "--fail-on", "never",
                 "--workers", str(workers)]  # fmt: skip
    begin = monotonic()
    child = os.posix_spawn(sys.executable, [sys.executable, *arguments], os.environ)
    _, status, used = os.wait4(child, 0)
    seconds = monotonic() - begin
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"gputopo fleet ended with exit code {os.waitstatus_to_exitcode(status)}")
    return Ran(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss, out.read_text())


def named(document: dict[str, Any]) -> set[tuple[str, str]]:
    """(file, field) of everything that is said of a node alone."""
    found = {(node["source"], odd["field"]) for odd in document["odd"] for node in odd["nodes"]}
    found |= {(one["source"], "unreadable") for one in document["unreadable"]}
    found |= {(node["source"], "duplicate") for one in document["duplicates"] for node in one["nodes"][1:]}
    return found | {(one["field"], "split") for one in document["split"]}


def main(sizes: list[int]) -> int:
    wrong: list[str] = []
    cpu: dict[int, float] = {}
    print(" nodes  workers  seconds  nodes/s   CPU s  ms CPU/node  largest process")
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="gputopo-fleet-") as place:
            planted = write(Path(place) / "fleet", size)
            wanted = {(path, field) for fault, path in planted.items() for field in FIELDS[fault]}
            documents = []
            for workers in (1, 2):
                one = ran(Path(place) / "fleet", workers, Path(place) / "out.json")
                documents.append(one.document)
                print(f"{size:6}  {workers:7}  {one.seconds:7.1f}  {size / one.seconds:7.1f}  {one.cpu:6.1f}  "
                      f"{one.cpu / size * 1000:11.2f}  {one.kilobytes / 1000:9.1f} MB", flush=True)  # fmt: skip
                if workers == 1:
                    cpu[size] = one.cpu / size
                if one.kilobytes > MEMORY:
                    wrong.append(f"{size} nodes, {workers} workers: {one.kilobytes // 1000} MB")
            if documents[0] != documents[1]:
                wrong.append(f"{size} nodes: the documents of 1 and 2 workers differ")
            found = named(json.loads(documents[0]))
            wrong += [f"{size} nodes: not named: {one}" for one in sorted(wanted - found)]
            wrong += [f"{size} nodes: named and not planted: {one}" for one in sorted(found - wanted)]
    if len(sizes) > 1:
        growth = cpu[sizes[-1]] / cpu[sizes[0]]
        print(f"CPU a node, {sizes[-1]:,} nodes to {sizes[0]:,}: {growth:.3f}")
        if abs(growth - 1) > LINEAR:
            wrong.append(f"growth is not linear: {growth:.3f}")
    print("\n".join(wrong) or f"all {len(planted)} planted faults named with their field, and nothing else")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main([int(one) for one in sys.argv[1:]] or list(SIZES)))
