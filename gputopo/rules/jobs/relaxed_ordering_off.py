"""GT523 relaxed-ordering-off

What it says
    A job over several nodes in a virtual machine uses InfiniBand or RoCE without PCIe relaxed ordering.

Why it matters
    In a guest with ACS and ATS, ordered writes wait for each other at the root complex: a part of the NIC's bandwidth
    is lost (nccl issue 1205).

What to do
    NCCL_IB_PCI_RELAXED_ORDERING=1, or leave it unset (2, automatic).

When it is silent
    Bare metal, where it matters little; a job on one node; a log that does not show the NICs.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> on = node()._replace(virtual=True)
    >>> said = log(0, 1, env={"NCCL_IB_PCI_RELAXED_ORDERING": "0"}, relaxed_ordering=False, nodes=2)
    >>> [found] = check(diagnosis(on, said))
    >>> found.message
    'a virtual machine without PCIe relaxed ordering: NCCL_IB_PCI_RELAXED_ORDERING=0'
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis, shown

CODE = "GT523"
SEVERITY = "warning"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    if log is None or not diagnosis.node.virtual or (diagnosis.job.nodes or 1) < 2:
        return
    off = next((one for one in diagnosis.env("NCCL_IB_PCI_RELAXED_ORDERING") if one.value == "0"), None)
    if off is None and log.relaxed_ordering is not False:
        return
    cause = f"{off.name}=0" if off is not None else "the NET/IB line has no [RO]"
    yield Finding(
        CODE,
        SEVERITY,
        (),
        f"a virtual machine without PCIe relaxed ordering: {cause}",
        matters="in a guest with ACS and ATS a part of the NIC's bandwidth is lost",
        because=shown(off) if off is not None else "the NIC or the driver does not offer it",
        remedy="NCCL_IB_PCI_RELAXED_ORDERING=1, or unset it",
        evidence=(diagnosis.line(off.line, shown(off)) if off is not None else diagnosis.line(log.line, "NET/IB"),),
    )
