"""GT528 address-translation-off

What it says
    In a virtual machine a NIC that the job uses with GPUDirect RDMA has address translation (ATS) turned off, while
    ACS redirects peer traffic.

Why it matters
    With ACS on, which a host of virtual machines needs, only translated requests take the short way between NIC and
    GPU. Without ATS every one of them goes up to the root complex: a guest of nccl-tests issue 256 reached 260 GB/s
    where bare metal has 350, until the host's ACS and ATS were right.

What to do
    Enable ATS on the NIC: on ConnectX `mlxconfig -d DEVICE set ATS_ENABLED=1`, and ATS for the device in the
    hypervisor. Leave ACS on.

When it is silent
    ATS is enabled (ACS redirect is then the right setting), the node is bare metal, its ACS or ATS was not read, or the
    job does not use the NIC with GPUDirect RDMA.

Example
    >>> from gputopo.nccl_records import NetDeviceRecord
    >>> from gputopo.rules.jobs.example import diagnosis, log, node
    >>> from gputopo.topology.node import Nic, Observed
    >>> seen = (Observed("acs-enabled", ("0000:05:00.0",), "ACSCtl: ReqRedir+ CmpltRedir+ UpstreamFwd+", "s1", 3),
    ...         Observed("ats", ("mlx5_0",), "ATSCtl: Enable-", "s1", 9))
    >>> on = node()._replace(virtual=True, nics=(Nic("mlx5_0", "mlx5_0"),), observations=seen)
    >>> said = log(0, 1, nodes=2, net_devices=(NetDeviceRecord("mlx5_0", "IB", 0, gdr=True),))
    >>> [found] = check(diagnosis(on, said))
    >>> found.severity, found.message
    ('error', 'ATS is off on mlx5_0 of this virtual machine, while ACS redirects its traffic to the GPUs')
"""

from __future__ import annotations

from collections.abc import Iterator

from gputopo.rules.finding import Finding
from gputopo.rules.jobs.diagnosis import Diagnosis
from gputopo.rules.witness import evidence, observed
from gputopo.rules.wording import names
from gputopo.topology.gpudirect_facts import facts_of

CODE = "GT528"
SEVERITY = "error"


def check(diagnosis: Diagnosis) -> Iterator[Finding]:
    log, node = diagnosis.job.nccl, diagnosis.node
    if log is None or not node.virtual:
        return
    used = {one.name for one in log.net_devices if one.gdr}
    nics = {nic.id for nic in node.nics or () if nic.id in used or nic.device in used}
    facts = facts_of(node)
    off = tuple(id for id, enabled in facts.ats.items() if id in nics and not enabled)
    if not off or not any(acs.redirects for acs in facts.acs.values()):
        return
    of_nics = [seen for seen in observed(node, "ats") if set(seen.subjects) & set(off)]
    yield Finding(
        CODE,
        SEVERITY,
        off,
        f"ATS is off on {names(off)} of this virtual machine, while ACS redirects its traffic to the GPUs",
        matters="every GPUDirect RDMA request goes up to the root complex instead of the short way below the switch",
        because="the NIC's firmware or the hypervisor does not enable ATS",
        remedy=f"mlxconfig -d {off[0]} set ATS_ENABLED=1, and ATS in the hypervisor; leave ACS on",
        evidence=evidence((*of_nics, *observed(node, "acs-enabled"))),
    )
