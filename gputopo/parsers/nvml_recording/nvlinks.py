"""NVLink, C2C and fabric answers of one GPU → records."""

from __future__ import annotations

from gputopo.parsers.nvml_recording.answers import (
    INVALID_ARGUMENT,
    NOT_SUPPORTED,
    Notes,
    number,
    part,
    refusal,
    refusal_code,
    said,
    settled,
    text,
)
from gputopo.records import Assumption, FabricRecord, Gap, LinkRecord
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

# Field ids (nvml.h); the scope of the per-link ones is the link. Speeds are MB/s.
_LINK_COUNT = 91
_SPEED_COMMON, _SPEED = 90, 164
_STATE = 165
_REMOTE_LINK = 146
_C2C_COUNT, _C2C_SPEED = 170, 172

_ABSURD = 1e12  # no count, state or speed in MB/s comes near

_STATES = {0: "inactive", 1: "active", 2: "sleep", 3: "disabled"}
_REMOTE_KINDS = {0: "gpu", 1: "npu", 2: "switch"}
_STATE_CALL = "nvmlDeviceGetNvLinkState"
_SETTLED_BY = "`nvidia-smi nvlink -s` or `nvidia-smi topo -m`"

Answers = dict[str, object]
Fields = dict[tuple[int, int], float]


class NvLinks:
    """Links of one GPU and how many of them are on."""

    __slots__ = ("active", "links", "total")

    def __init__(self, links: Said[tuple[LinkRecord, ...]], active: Said[int], total: Said[int]) -> None:
        self.links = links
        self.active = active
        self.total = total


def field_values(answers: Answers) -> Fields:
    """The field values the driver gave, by (field, scope)."""
    values: Fields = {}
    fields = answers.get("fields")
    for answer in fields if isinstance(fields, list) else ():
        if not isinstance(answer, list) or len(answer) != 4 or answer[2] != 0:
            continue
        field, scope, value = number(answer[0]), number(answer[1]), answer[3]
        usable = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _ABSURD
        if field is not None and scope is not None and usable:
            values[field, scope] = value
    return values


def read_nvlinks(answers: Answers, label: str, notes: Notes) -> NvLinks:
    """Every link with its state, speed and far end.

    INVALID_ARGUMENT is the driver's answer past the last link. NOT_SUPPORTED for the states, or for
    the number of links where none is on, is how it says that a GPU has no NVLink; where MIG is on,
    NVLink may only be switched off with it.
    """
    values = field_values(answers)
    listed = answers.get("links")
    states = [link for link in listed if isinstance(link, dict)] if isinstance(listed, list) else []
    past_end = [link for link in states if refusal_code(link.get("state")) == INVALID_ARGUMENT]
    states = [link for link in states if link not in past_end]
    total = _total(answers, values, past_end[0].get("link") if past_end else None)
    refused = _refused_alike(states, values)
    countless = _count_refused(answers) == NOT_SUPPORTED and not isinstance(total, int)
    if (refused == NOT_SUPPORTED and not total) or (countless and (refused == NOT_SUPPORTED or listed == [])):
        if not _mig_is_on(answers):
            return NvLinks((), 0, 0)
        why = Unknown(f"{_STATE_CALL} answered NOT_SUPPORTED while MIG is on", "a recording with MIG off")
        return NvLinks(why, why, why)
    if refused is not None:
        unknown = settled(refusal(refused, _STATE_CALL), _SETTLED_BY)
        return NvLinks(unknown, unknown, total)
    if not isinstance(listed, list):
        return NvLinks((), 0, 0) if total == 0 else NvLinks(None, None, total)
    links = tuple(link for link in (_link(answer, values, label, notes) for answer in states) if link is not None)
    active: Said[int] = sum(link.state == "active" for link in links)
    if any(link.state is None for link in links) or (isinstance(total, int) and len(links) < total):
        active = Unknown(f"{_STATE_CALL} did not answer for every link", _SETTLED_BY)
    return NvLinks(links, active, total)


def _total(answers: Answers, values: Fields, past_end: object) -> Said[int]:
    """Number of links: field 91, else the first number that the driver called invalid."""
    total = number(values.get((_LINK_COUNT, 0)))
    if total is None:
        total = number(past_end)
    if total is not None:
        return total
    code = _count_refused(answers)
    return settled(refusal(code, "nvmlDeviceGetFieldValues (link count)"), _SETTLED_BY) if code else None


def _count_refused(answers: Answers) -> int | None:
    """How the driver refused the number of links (field 91)."""
    fields = answers.get("fields")
    for answer in fields if isinstance(fields, list) else ():
        if isinstance(answer, list) and answer[:2] == [_LINK_COUNT, 0] and len(answer) > 2:
            return number(answer[2]) or None
    return refusal_code(fields)


def _refused_alike(states: list[Answers], values: Fields) -> int | None:
    """The one refusal that every link's state got, where the states are not known otherwise."""
    codes = {refusal_code(link.get("state")) for link in states}
    if len(codes) != 1 or any(field == _STATE for field, _ in values):
        return None
    return codes.pop()


def _mig_is_on(answers: Answers) -> bool:
    mode = part(answers, "mig").get("mode")
    return isinstance(mode, list) and mode[:1] == [1]


def _link(answer: Answers, values: Fields, label: str, notes: Notes) -> LinkRecord | None:
    link = number(answer.get("link"))
    if link is None:
        return None
    state = _STATES.get(_whole(values.get((_STATE, link)), answer.get("state")))
    if state != "active":
        return LinkRecord(link, state)
    speed = values.get((_SPEED, link)) or values.get((_SPEED_COMMON, 0))
    bus_id = answer.get("remoteBusId")
    remote = PciAddress.parse(bus_id) if isinstance(bus_id, str) else None
    kind = _REMOTE_KINDS.get(_whole(answer.get("remoteType")))
    if kind is None and remote is None and isinstance(bus_id, str):
        # As NCCL takes it (src/graph/xml.cc): a far end that is not visible is an NVSwitch.
        kind = "switch"
        assumed = Assumption(
            (label,), "links whose far end the driver does not show (PCI address all ones) end in an NVSwitch"
        )
        if assumed not in notes.assumptions:
            notes.assumptions.append(assumed)
    remote_link = _whole(values.get((_REMOTE_LINK, link)))
    return LinkRecord(
        link,
        state,
        speed / 1000 if speed and speed > 0 else None,
        remote,
        kind,
        None if remote_link < 0 else remote_link,
    )


def _whole(*answers: object) -> int:
    """The first that is a whole number; -1, which is no key of any table here, for none."""
    return next((value for value in map(number, answers) if value is not None), -1)


def read_c2c(answers: Answers) -> dict[str, float] | None:
    """NVLink-C2C to the CPU (Grace): `None` where there is none or it was not asked."""
    values = field_values(answers)
    count = number(values.get((_C2C_COUNT, 0)))
    if not count:
        return None
    c2c: dict[str, float] = {"count": count}
    speeds = {speed for (field, _), speed in values.items() if field == _C2C_SPEED and speed > 0}
    if len(speeds) == 1:
        c2c["gbpsPerLink"] = speeds.pop() / 1000
    return c2c


_FABRIC_CALL = "nvmlDeviceGetGpuFabricInfoV"
_FABRIC_STATES = {0: "Not Supported", 1: "Not Started", 2: "In Progress", 3: "Completed"}
_COMPLETED = 3
_STATUSES = {0: "Success", 3: "Not Supported", 10: "Timeout", 15: "GPU is lost", 999: "Unknown Error"}
_SUMMARIES = {1: "Healthy", 2: "Unhealthy", 3: "Limited Capacity"}
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"
# Two bits each in the health mask: 0 not supported, 1 true, 2 false (nvml.h).
_TROUBLES = (
    (0, "degraded bandwidth"),
    (2, "route recovery"),
    (4, "route unhealthy"),
    (6, "access timeout recovery"),
)
_CONFIGURATION_SHIFT, _CONFIGURATION_FINE = 8, (0, 1)  # four bits: 0 not supported, 1 correct


def read_fabric(answers: Answers, label: str, notes: Notes) -> Said[FabricRecord]:
    """What the GPU knows of the fabric beyond the node, worded as nvidia-smi prints it.

    Status, clique and cluster mean something in state Completed only. An all-zero cluster UUID is
    "no multi-node fabric", and a clique id says nothing without its cluster.
    """
    fabric = said(answers, "fabric", _FABRIC_CALL, lambda answer: answer if isinstance(answer, dict) else None)
    if fabric is None or isinstance(fabric, Unknown):
        return fabric
    number_of_state = _whole(fabric.get("state"))
    state = _FABRIC_STATES.get(number_of_state)
    if state is None:
        return Unknown(f"{_FABRIC_CALL} answered a state that is not known here: {fabric.get('state')!r}")
    if number_of_state != _COMPLETED:
        return FabricRecord(state)
    cluster = text(fabric.get("clusterUuid"))
    clique = number(fabric.get("cliqueId"))
    if cluster is None and clique is not None:
        reason = "the recording holds a clique id without the cluster UUID it belongs to"
        notes.gaps.append(Gap((label,), "fabric", reason, "`nvidia-smi -q`, section Fabric"))
    if cluster == _NO_CLUSTER:
        cluster = None
    status = number(fabric.get("status"))
    return FabricRecord(
        state,
        None if status is None else _STATUSES.get(status, f"error {status}"),
        cluster,
        clique if cluster else None,
        _health(fabric),
    )


def _health(fabric: Answers) -> str | None:
    """The driver's own summary, or what its mask says: named troubles, or "Healthy" without any."""
    summary = _SUMMARIES.get(_whole(fabric.get("healthSummary")))
    mask = number(fabric.get("healthMask"))
    if summary or not mask:
        return summary
    troubles = [name for shift, name in _TROUBLES if mask >> shift & 3 == 1]
    if mask >> _CONFIGURATION_SHIFT & 15 not in _CONFIGURATION_FINE:
        troubles.append("incorrect configuration")
    return ", ".join(troubles) or "Healthy"
