"""What a call of gputopo costs, as a ratio to `import typer`: `make bench`.

CPU time of child processes by getrusage, in interleaved rounds, so that a busy machine slows all
alike; of each the lower quartile counts. Then parse and load in this process, over the 55 public
dumps where they are at hand. Exit 1 when a limit is missed.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

HERE = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("GPUTOPO_SHARED", HERE.parent / "shared"))
ROUNDS = 25
FLOOR = "import typer"
# Typer's own bytecode was written when it was installed; ours must be allowed to be kept, too.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Line(NamedTuple):
    """One measured thing against its limit; `limit` None: shown only."""

    what: str
    value: float
    unit: str
    limit: float | None
    at_least: bool = False

    @property
    def kept(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def main() -> int:
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as folder:
        dump = big_dump(Path(folder))
        lines = [*startup(dump), *in_process()]
    print(f"{'what':44}{'measured':>12}  {'limit':>9}  verdict")
    for line in lines:
        limit = "" if line.limit is None else f"{'>=' if line.at_least else '<='} {line.limit:g}"
        verdict = "" if line.limit is None else ("ok" if line.kept else "MISSED")
        print(f"{line.what:44}{line.value:>10.2f}{line.unit:<2}  {limit:>9}  {verdict}")
    return 0 if all(line.kept for line in lines) else 1


def big_dump(folder: Path) -> Path:
    """8 GPUs and 17 NICs: the public dump of that size, else a made one."""
    public = SHARED / "data" / "topo-dumps" / "002-a100x8-17nic-singlenuma.txt"
    if public.is_file():
        return public
    gpus, nics = [f"GPU{n}" for n in range(8)], [f"NIC{n}" for n in range(17)]
    labels = gpus + nics
    rows = ["\t" + "\t".join([*labels, "CPU Affinity", "NUMA Affinity"])]
    for row, label in enumerate(labels):
        cells = [" X " if row == column else _letters(row, column) for column in range(len(labels))]
        tail = [f"{label[3:]}-63", "0"] if label in gpus else []
        rows.append("\t".join([label, *cells, *tail]))
    rows += ["", "NIC Legend:", "", *(f"  NIC{n}: mlx5_{n}" for n in range(17))]
    file = folder / "topo.txt"
    file.write_text("\n".join(rows) + "\n")
    return file


def _letters(row: int, column: int) -> str:
    return "NV12" if row < 8 and column < 8 else "PXB" if row % 8 == column % 8 else "NODE"


def startup(dump: Path) -> list[Line]:
    program = [sys.executable, "-c", "import sys; from gputopo.cli import main; main(sys.argv[1:])"]
    cases: dict[str, tuple[list[str], float | None]] = {
        FLOOR: ([sys.executable, "-c", "import typer"], None),
        "gputopo --version": ([*program, "--version"], 1.15),
        "gputopo inspect DUMP": ([*program, "inspect", str(dump)], 1.6),
        "gputopo inspect DUMP -o json": ([*program, "inspect", str(dump), "-o", "json"], 1.6),
        "gputopo inspect --nonsense": ([*program, "inspect", "--nonsense"], 1.2),
    }
    capture = SHARED / "data" / "sysfs" / "hwloc" / "snb-2s-mlx4-mic-nvme.tar.xz"
    against_lstopo = capture.is_file() and shutil.which("lstopo") is not None
    with tempfile.TemporaryDirectory() as folder:
        if against_lstopo:
            shutil.unpack_archive(capture, folder)
            root = next(Path(folder).iterdir())
            cases["gputopo inspect ROOT"] = ([*program, "inspect", str(root)], None)
            cases["lstopo ROOT"] = (["lstopo", "--of", "console", "-i", str(root)], None)
        costs = {name: quartile(rounds) for name, rounds in measure({n: c for n, (c, _) in cases.items()}).items()}
    floor = costs[FLOOR]
    lines = [Line(f"{FLOOR} (CPU)", floor * 1000, "ms", None)]
    for name, (_, limit) in cases.items():
        if limit is not None:
            lines.append(Line(f"{name} / {FLOOR}", costs[name] / floor, "", limit))
    if against_lstopo:
        lines.append(Line("inspect ROOT / lstopo ROOT", costs["gputopo inspect ROOT"] / costs["lstopo ROOT"], "", None))
    else:
        print("no lstopo or no captured root here: that ratio is left out", file=sys.stderr)
    return lines


def measure(commands: dict[str, list[str]]) -> dict[str, list[float]]:
    """CPU seconds of each command, once a round."""
    costs: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(-1, ROUNDS):
        for name, command in commands.items():
            seconds = cpu_seconds(command)
            if number >= 0:  # the round before the first fills caches
                costs[name].append(seconds)
    return costs


def cpu_seconds(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=HERE, env=ENVIRONMENT, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 2) or b"internal error" in done.stderr:
        raise SystemExit(f"failed: {' '.join(command)}\n{done.stderr.decode()}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quartile(values: list[float]) -> float:
    return sorted(values)[len(values) // 4]


def in_process() -> list[Line]:
    """Parses and loads a second, mean over the public dumps."""
    files = sorted((SHARED / "data" / "topo-dumps").glob("[0-9]*.txt"))
    if not files:
        print(f"no public dumps in {SHARED}: parse and load are left out", file=sys.stderr)
        return []
    from gputopo.evidence.piece import Piece
    from gputopo.inspection import nodes
    from gputopo.parsers import nvidia_smi_topo

    texts = [file.read_text(errors="replace") for file in files]
    pieces = [Piece(file.name, data=text.encode()) for file, text in zip(files, texts)]
    return [
        Line("parse topo -m, a second", rate(nvidia_smi_topo.parse, texts), "/s", 1500, at_least=True),
        Line("load topo -m, a second", rate(lambda piece: nodes([piece]), pieces), "/s", 400, at_least=True),
    ]


def rate(work: Callable[..., object], things: Sequence[object]) -> float:
    best = 0.0
    for _ in range(4):
        start = process_time()
        for thing in things:
            work(thing)
        best = max(best, len(things) / (process_time() - start))
    return best


if __name__ == "__main__":
    sys.exit(main())
