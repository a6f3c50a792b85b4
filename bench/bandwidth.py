"""What GB/s cost: the matrix of 16 GPUs, all sets of 8 of them, NCCL's search; as a ratio to `import typer`.

    python bench/bandwidth.py

CPU time, the least of a few rounds in this process, on a machine written here: sixteen cards on two sockets, four
below each of four PCIe switches, as L20 servers have them. The floor is CPU time of a child process, the lower quartile
of interleaved rounds, as in bench/startup.py. Exit 1 when a limit is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

HERE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE))

from bench.startup import FLOOR, Line, cpu_seconds, quartile  # noqa: E402
from gputopo.evidence.piece import Piece  # noqa: E402
from gputopo.inspection import nodes  # noqa: E402
from gputopo.nccl import Machine, graphs, machine, paths  # noqa: E402
from gputopo.nccl.bandwidth import with_bandwidth  # noqa: E402
from gputopo.nccl.set_ranking import ranking  # noqa: E402
from gputopo.nccl.set_shapes import Shapes  # noqa: E402
from gputopo.topology.node import NodeTopology  # noqa: E402
from tests.nccl.files import INTEL_SPR, cpu, gpu, nvswitch_node, switch, system  # noqa: E402

ROUNDS, FLOOR_ROUNDS = 3, 9
# What is measured → most seconds of CPU, most times the floor.
LIMITS = {
    "matrix of 16 GPUs": (0.1, 1.0),
    "12,870 sets of 8 out of 16, by load": (2.0, 12.0),
    "the same with NCCL's model for those shown": (None, 60.0),
    "NCCL's search, 8 GPUs on NVSwitches": (2.0, 8.0),
    "NCCL's search, 16 GPUs on PCIe": (None, 60.0),
}


def main() -> int:
    floor = quartile([cpu_seconds([sys.executable, "-c", FLOOR]) for _ in range(FLOOR_ROUNDS + 1)][1:])
    cards = [switch(n, *(gpu(4 * n + k, 89) for k in range(4))) for n in range(4)]
    node = node_of(system(cpu(0, INTEL_SPR, *cards[:2]), cpu(1, INTEL_SPR, *cards[2:])))
    fabric = node_of(nvswitch_node(90, 18))
    works = (
        lambda: paths(made(node)),
        lambda: ranking(node, made(node), 8, Shapes(node)),
        lambda: with_bandwidth(node, count=8),
        lambda: graphs(made(fabric)),
        lambda: graphs(made(node)),
    )
    lines = [Line(f"{FLOOR} (CPU)", floor * 1000, "ms", None)]
    for (what, (most, times)), work in zip(LIMITS.items(), works):
        spent = seconds(work)
        lines += [Line(what, spent, "s", most), Line(f"  / {FLOOR}", spent / floor, "", times)]
    print(f"{'what':44}{'measured':>12}  {'limit':>9}  verdict")
    for line in lines:
        limit = "" if line.limit is None else f"<= {line.limit:g}"
        verdict = "" if line.limit is None else ("ok" if line.kept else "MISSED")
        print(f"{line.what:44}{line.value:>10.3f}{line.unit:<2}  {limit:>9}  {verdict}")
    return 0 if all(line.kept for line in lines) else 1


def node_of(text: str) -> NodeTopology:
    [node] = nodes([Piece("topo.xml", data=text.encode())])
    return node


def made(node: NodeTopology) -> Machine:
    found = machine(node)
    assert isinstance(found, Machine)
    return found


def seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = process_time()
        work()
        best = min(best, process_time() - start)
    return best


if __name__ == "__main__":
    sys.exit(main())
