"""What a picture and a page cost, start-up included: 16 GPUs and 18 NICs, as SVG and as HTML.

    python bench/report.py

CPU time of child processes, the lower quartile of interleaved rounds, as in bench/startup.py: as a ratio to
`import typer`, with a limit, and to `lstopo --of svg` on a captured machine where both are at hand. Exit 1 when a limit
is missed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

import gputopo  # noqa: E402
from bench.startup import FLOOR, SHARED, Line, measure, quartile  # noqa: E402
from tests.draw.made import machine  # noqa: E402

LIMIT = 6.0
CAPTURE = SHARED / "data" / "sysfs" / "hwloc" / "snb-2s-mlx4-mic-nvme.tar.xz"


def main() -> int:
    program = [sys.executable, "-c", "import sys; from gputopo.cli import main; main(sys.argv[1:])"]
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder) / "node.json"
        node.write_text(json.dumps(gputopo.document(machine(gpus=16, nics=18, links="cables"))))
        small = "sample:hgx-h100"
        commands = {
            FLOOR: [sys.executable, "-c", FLOOR],
            "draw -o svg, 16 GPUs, 18 NICs": [*program, "draw", str(node), "-o", "svg"],
            "inspect -o html, 16 GPUs, 18 NICs": [*program, "inspect", str(node), "-o", "html"],
            "inspect -o html, 8 GPUs, 10 NICs": [*program, "inspect", small, "-o", "html"],
        }
        lstopo = "lstopo --of svg"
        if CAPTURE.is_file() and shutil.which("lstopo") is not None:
            shutil.unpack_archive(CAPTURE, folder)
            root = next(path for path in Path(folder).iterdir() if path.is_dir())
            commands[lstopo] = ["lstopo", "--of", "svg", "-i", str(root)]
        else:
            print("no lstopo or no captured root here: ratios are to import typer alone", file=sys.stderr)
        costs = {name: quartile(rounds) for name, rounds in measure(commands).items()}
    lines = [Line(f"{FLOOR} (CPU)", costs[FLOOR] * 1000, "ms", None)]
    asked = [name for name in commands if name not in (FLOOR, lstopo)]
    lines += [Line(f"{name} / {FLOOR}", costs[name] / costs[FLOOR], "", LIMIT) for name in asked]
    if lstopo in costs:
        # A program in C takes a fraction of the time in which Python starts: shown, no limit.
        lines += [Line(f"{name} / {lstopo}", costs[name] / costs[lstopo], "", None) for name in (FLOOR, *asked)]
    print(f"{'what':62}{'measured':>10}  {'limit':>9}  verdict")
    for line in lines:
        limit = "" if line.limit is None else f"<= {line.limit:g}"
        print(f"{line.what:62}{line.value:>8.2f}{line.unit:<2}  {limit:>9}  "
              f"{'' if line.limit is None else 'ok' if line.kept else 'MISSED'}")  # fmt: skip
    return 0 if all(line.kept for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
