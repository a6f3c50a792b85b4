"""GT002 affinity-ambiguous-or-damaged

What it says
    The CPU or NUMA cell of a GPU's row cannot be read, or can be read in two ways.

Why it matters
    Where tabs became blanks, an empty CPU cell beside NUMA node 1 and a CPU list `1` look alike; a
    wrapped line ends inside a range. The value is left unknown and not guessed, so placement by
    NUMA node cannot be judged for that GPU. A GPU NUMA ID that equals the GPU's own NUMA affinity
    is doubted as well: on real drivers it is N/A, or the number of a node that holds GPU memory.

What to do
    Save the output without a terminal between: `nvidia-smi topo -m > topo.txt`.

When it is silent
    The cells are readable, N/A or plainly empty (GT012), or the whole row is lost (GT003).

Example
    >>> from gputopo.topology.node import Gpu, NodeTopology, Observed
    >>> seen = Observed("damaged-cpu-cell", ("GPU0",), "GPU0: CPU Affinity '0-'", "s1", 2)
    >>> [finding] = check(NodeTopology(gpus=(Gpu("GPU0"),), observations=(seen,)))
    >>> finding.severity, finding.message
    ('warning', 'CPU affinity of GPU0 cannot be read: the cell is damaged')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.witness import evidence, observed, subjects
from gputopo.rules.wording import names
from gputopo.topology.node import NodeTopology

CODE = "GT002"
SEVERITY = "warning"

_KINDS = (
    # kind, severity, message, why it matters, because
    ("damaged-cpu-cell", SEVERITY,
     "CPU affinity of {} cannot be read: the cell is damaged",
     "which CPUs are near these GPUs is unknown from this text",
     "the text was cut or wrapped inside the cell"),
    ("ambiguous-affinity", SEVERITY,
     "CPU and NUMA affinity of {} can be read in two ways",
     "taking the wrong one would move the GPU to another NUMA node",
     "the tabs between the columns were lost, so an empty cell cannot be told from a short list"),
    ("gpu-numa-id-equals-numa", "info",
     "GPU NUMA ID of {} equals the NUMA affinity, which real drivers do not print",
     "the NUMA node of the GPU's own memory is doubtful; the NUMA affinity is not touched by this",
     "a simulated driver, or a hand-made text"),
)  # fmt: skip


def check(node: NodeTopology) -> Iterator[Finding]:
    for kind, severity, message, matters, because in _KINDS:
        seen = observed(node, kind)
        if seen:
            ids = subjects(node, seen)
            yield Finding(
                CODE,
                severity,
                ids,
                message.format(names(ids)),
                matters=matters,
                because=because,
                remedy="save it again without a terminal between: nvidia-smi topo -m > topo.txt",
                evidence=evidence(seen),
            )
