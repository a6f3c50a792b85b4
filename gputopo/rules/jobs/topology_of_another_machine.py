"""GT527 topology-of-another-machine

What it says
    NCCL's topology file names devices that this machine does not have.

Why it matters
    NCCL leaves them out and plans with what is left: GPUs or NICs of the job may be missing in its graph.

What to do
    Make a file on this type of machine (NCCL_TOPO_DUMP_FILE=topo.xml), or unset NCCL_TOPO_FILE.

When it is silent
    The log has no "Could not find real path" line, or names devices that the node has (then its /sys is not mounted).
    Reading a file on another machine is no fault.

Example
    >>> from gputopo.rules.jobs.example import diagnosis, log
    >>> [found] = check(diagnosis(said=log(0, 1, missing_devices=("0000:9f:00.0",))))
    >>> found.severity, found.message
    ('error', 'the topology file names 0000:9f:00.0, which this machine does not have')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.wording import names

CODE = "GT527"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log = diagnosis.job.nccl
    if log is None:
        return
    have = {gpu.pci for gpu in diagnosis.node.gpus} | {nic.pci for nic in diagnosis.node.nics or ()}
    # A device that is there was not found since /sys is not mounted (GT024); ffff:ff is a vendor's made-up switch.
    missing = tuple(one for one in log.missing_devices if one not in have and not one.startswith("ffff:ff:"))
    if not missing:
        return
    said = [one for one in log.warnings if one.kind == "missing-device"]
    file = next(iter(diagnosis.env("NCCL_TOPO_FILE")), None)
    yield Finding(
        CODE,
        SEVERITY,
        missing,
        f"the topology file names {names(missing)}, which this machine does not have",
        matters="NCCL leaves them out and plans with what is left",
        because=f"NCCL_TOPO_FILE={file.value} is of another type of machine" if file else "the file is of another type",
        remedy="a file of this type of machine: NCCL_TOPO_DUMP_FILE=topo.xml; or unset NCCL_TOPO_FILE",
        evidence=tuple(diagnosis.line(one.line, one.text[:160]) for one in said[:3]),
    )
