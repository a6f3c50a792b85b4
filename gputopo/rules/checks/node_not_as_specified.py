"""GT601 node-not-as-specified

What it says
    A field of the node is not what the specification of `gputopo check --spec` wants, and no other rule
    has a name for it. The line names the field of the JSON document, what is wanted and what is there.

Why it matters
    Nodes of one kind are expected to be alike: a job that is fast on one and slow on the next is looked
    for in the job.

What to do
    Compare with a good node: `gputopo diff GOOD BAD`. Where the node is right, change the specification:
    `gputopo check --write-spec` makes one from a good node.

When it is silent
    What the evidence does not say is undecided, which is neither a pass nor a failure. Names, order and
    PCI addresses of devices are compared with --exact only.

Example
    >>> line("gpus[3].name", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe")
    'gpus[3].name: want NVIDIA H100 80GB HBM3, found NVIDIA H100 PCIe'
"""

from __future__ import annotations

CODE = "GT601"
SEVERITY = "error"


def line(field: str, want: str, found: str) -> str:
    return f"{field}: want {want}, found {found}"
