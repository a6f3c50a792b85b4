"""GT130 fabric-not-healthy

What it says
    A GPU on an NVSwitch board has not joined the NVLink fabric (Fabric State is not Completed), joined it
    with an error (Status is not Success), or the driver calls the fabric unhealthy.

Why it matters
    On such a board CUDA does not start, or NCCL fails or falls back to PCIe, until the fabric is up. The
    NVLinks show as active at full speed all the same: link state is no proof.

What to do
    HGX and DGX: `systemctl status nvidia-fabricmanager` (its version must be the driver's), its log; on
    Blackwell the NVLSM (package nvlsm) must run too, and "NV_WARN_NOTHING_TO_DO" in the log means that it
    does not. GB200 and GB300: both run on the switch trays, not on this node.

When it is silent
    The driver prints N/A or Not Supported: A100 and everything without an NVSwitch, bridged cards included,
    belong to no such fabric and need no Fabric Manager. State Completed with status Success is healthy, also
    with clique 0 and an all-zero cluster UUID: a fabric of one node. Where nothing tells whether the GPU is
    on an NVSwitch board, a fabric that is not completed is a warning.

Example
    >>> from gputopo.topology.node import Fabric, Gpu, NodeTopology
    >>> gpus = tuple(Gpu(f"GPU{n}", name="NVIDIA B200", fabric=Fabric("In Progress")) for n in range(8))
    >>> [finding] = check(NodeTopology(gpus=gpus))
    >>> finding.severity, finding.message
    ('error', 'GPU0-GPU7 have not joined the NVLink fabric: state In Progress')
    >>> tuple(check(NodeTopology(gpus=(Gpu("GPU0", name="NVIDIA B200", fabric=Fabric("Completed", "Success")),))))
    ()
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gputopo.rules.finding import Finding
from gputopo.rules.witness import claimed, evidence, observed
from gputopo.rules.wording import names, one_line
from gputopo.topology.node import Gpu, NodeTopology

CODE = "GT130"
SEVERITY = "error"

_IN_NO_FABRIC = ("not supported", "n/a", "none")
# Sold on NVSwitch boards only. Hopper's are too, but a board of four has cables instead.
_ALWAYS_SWITCHED = ("B200", "B300")
_SWITCHED_BY_EIGHT = ("HBM3", "H200", "H800", "H20")
_BRIDGED = ("PCIE", " NVL")
_BROKEN = ("unhealthy", "route unhealthy", "incorrect configuration")
_FINE = ("healthy", "")


class _Trouble(NamedTuple):
    severity: str
    says: str  # after "GPU0 has" or "GPU0-GPU7 have"
    joined: bool


def check(node: NodeTopology) -> Iterator[Finding]:
    seen = observed(node, "fabric-trouble")
    told: dict[str, str] = {}
    for one in seen:
        for id in one.subjects:
            told.setdefault(id, one_line(one.text))
    alike: dict[_Trouble, list[Gpu]] = {}
    for gpu in node.gpus:
        trouble = _trouble(node, gpu, told.get(gpu.id, ""))
        if trouble is not None:
            alike.setdefault(trouble, []).append(gpu)
    for trouble, gpus in alike.items():
        ids = tuple(gpu.id for gpu in gpus)
        witnesses = tuple(one for one in seen if set(one.subjects) & set(ids))
        yield Finding(
            CODE,
            trouble.severity,
            ids,
            f"{names(ids)} {'has' if len(ids) == 1 else 'have'} {trouble.says}",
            matters="NVLink between GPUs works only through this fabric; CUDA may not start, NCCL may fail or "
            "fall back to PCIe, although the links show as active",
            because=_because(trouble, gpus),
            remedy=_remedy(gpus),
            evidence=(*(claimed(node, f"{gpu.id}: {_printed(gpu)}") for gpu in gpus[:8]), *evidence(witnesses)),
        )


def _trouble(node: NodeTopology, gpu: Gpu, told: str) -> _Trouble | None:
    fabric = gpu.fabric
    if fabric is None:
        return None
    state = (fabric.state or "").strip().lower()
    if state in _IN_NO_FABRIC:
        return None
    if state not in ("completed", ""):
        switched = _is_switched(node, gpu)
        if switched is False:
            return None
        severity = SEVERITY if switched else "warning"
        return _Trouble(severity, f"not joined the NVLink fabric: state {one_line(fabric.state or '')}", False)
    status = (fabric.status or "").strip().lower()
    if status not in ("", "success", *_IN_NO_FABRIC):
        printed = one_line(fabric.status or "")
        return _Trouble(SEVERITY, f"joined the NVLink fabric with an error: status {printed}", True)
    health = one_line(fabric.health or "")
    said = health if health.lower() not in (*_FINE, *_IN_NO_FABRIC) else told
    if not said:
        return None
    more = f" ({told})" if told and told != said else ""
    broken = any(word in f"{said} {told}".lower() for word in _BROKEN)
    return _Trouble(SEVERITY if broken else "warning", f"trouble on the NVLink fabric: {said}{more}", True)


def _is_switched(node: NodeTopology, gpu: Gpu) -> bool | None:
    """Whether the GPU sits on an NVSwitch board; `None` where nothing tells."""
    if node.nvswitches or (gpu.nvlinks and gpu.nvlinks.via == "switch"):
        return True
    name = (gpu.name or "").upper()
    if (gpu.nvlinks and gpu.nvlinks.via == "direct") or any(word in name for word in _BRIDGED):
        return False
    if any(word in name for word in _ALWAYS_SWITCHED):
        return True
    eight = sum(other.name == gpu.name for other in node.gpus) >= 8
    return True if eight and any(word in name for word in _SWITCHED_BY_EIGHT) else None


def _is_rack(gpus: list[Gpu]) -> bool:
    return any(word in (gpu.name or "").upper() for gpu in gpus for word in ("GB200", "GB300"))


def _because(trouble: _Trouble, gpus: list[Gpu]) -> str:
    if trouble.joined:
        return "a link, a switch or the fabric's configuration: Fabric Manager's log tells which"
    if _is_rack(gpus):
        return "Fabric Manager or NVLSM on the NVLink switch trays is not running or does not know this node"
    return "Fabric Manager is not running or failed; on Blackwell also where NVLSM, which it needs, is missing"


def _remedy(gpus: list[Gpu]) -> str:
    if _is_rack(gpus):
        return "look at Fabric Manager and NVLSM on the NVLink switch trays, and at nvidia-imex here; nvidia-smi -q"
    return (
        "systemctl status nvidia-fabricmanager (same version as the driver), and on Blackwell nvlsm (NVLSM); "
        "then nvidia-smi -q | grep -A 8 Fabric"
    )


def _printed(gpu: Gpu) -> str:
    fabric = gpu.fabric
    if fabric is None:
        return ""
    parts = (("state", fabric.state), ("status", fabric.status), ("health", fabric.health))
    return "fabric " + ", ".join(f"{name} {one_line(said)}" for name, said in parts if said)
