"""One listing of NVLinks → the records of its GPUs."""

from __future__ import annotations

import re

from gputopo.parsers.nvidia_smi_nvlink.find import (
    ALL_INACTIVE,
    INVALID_LINK,
    NOT_SUPPORTED,
    Listing,
    PrintedGpu,
    PrintedLink,
)
from gputopo.parsers.nvidia_smi_values import keyed, model, uuid
from gputopo.records import Assumption, Gap, GpuRecord, LinkRecord, NodeRecords, Observation
from gputopo.terms.pci_address import PciAddress
from gputopo.terms.unknown import Said, Unknown

FORMAT = "nvidia-smi-nvlink"
COMMANDS = {"s": "nvlink -s", "c": "nvlink -c", "R": "nvlink -R", "e": "nvlink -e", "": "nvlink"}
_STATES = {"inactive": "inactive", "sleep": "sleep", "disabled": "disabled"}
_SPEED = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ?GB/s")
_REMOTE = re.compile(r"Remote Device ([0-9A-Fa-f:.]+?)(?:: Link (\d{1,2}))?\s*\Z")
_COUNT = re.compile(r"(.*?): (\d{1,18})\b")
_CAPABILITY = re.compile(r"(.*?): (true|false)\b")
_BY_STATE = "nvidia-smi nvlink -s"
_BY_DRIVER = "nvidia-smi nvlink -c or -R, or a newer nvidia-smi"
# Of two cards joined by a bridge each sees the other only; three that all reach one address share a third thing.
_FEWEST_ON_A_SWITCH = 3


def build(listing: Listing) -> NodeRecords:
    """Never raises: what cannot be read becomes a gap."""
    notes = _Notes(listing)
    switches = _switches(listing) if listing.kind == "R" else frozenset()
    records = keyed(_record(gpu, listing, switches, notes) for gpu in listing.gpus)
    assumptions: tuple[Assumption, ...] = ()
    if switches:
        names = ", ".join(str(address) for address in sorted(switches))
        text = f"{names}: taken for NVSwitches, since every GPU of the listing has links to each of them"
        assumptions = (Assumption(tuple(record.label for record in records), text),)
    return NodeRecords(
        FORMAT,
        COMMANDS[listing.kind],
        line=listing.line,
        whole=not notes.cut,
        gpus=records,
        gaps=tuple(notes.gaps),
        observations=tuple(notes.observations),
        assumptions=assumptions,
    )


class _Notes:
    """What is odd in one listing, and which GPU's links end too early (by index)."""

    __slots__ = ("cut", "gaps", "observations")

    def __init__(self, listing: Listing) -> None:
        self.gaps: list[Gap] = []
        self.observations: list[Observation] = []
        self.cut = _cut(listing)
        for gpu in listing.gpus:
            if gpu.index in self.cut:
                self.gaps.append(Gap((_label(gpu),), "links", self.cut[gpu.index], _BY_DRIVER, gpu.line))


def _label(gpu: PrintedGpu) -> str:
    return f"GPU{gpu.index}"


def _cut(listing: Listing) -> dict[int, str]:
    """GPUs whose list of links is not whole, with the reason.

    470's `-s` stops at link 12 of GPUs that have more (`Invalid NvLink ID`). Inactive links are listed too,
    so GPUs of one model list equally many; the last GPU of a text that lists fewer was cut.
    """
    found: dict[int, str] = {}
    most: dict[str, int] = {}
    for gpu in listing.gpus:
        numbers = [link.number for link in gpu.links]
        most[gpu.name] = max(most.get(gpu.name, 0), len(set(numbers)))
        for text, _ in gpu.errors:
            if INVALID_LINK in text.lower():
                found[gpu.index] = f"nvidia-smi stopped after link {max(numbers, default=0)}: {text[:100]}"
        if gpu.index not in found and sorted(set(numbers)) != list(range(len(set(numbers)))):
            found[gpu.index] = "link numbers are missing in the text"
    last = listing.gpus[-1]
    if last.links and last.index not in found:
        listed = len({link.number for link in last.links})
        if listed < most[last.name]:
            found[last.index] = f"the text ends after {listed} links; the GPUs before list {most[last.name]}"
        elif listing.kind == "c" and len(last.links) % listed:
            found[last.index] = "the text ends within a link"
    return found


def _record(gpu: PrintedGpu, listing: Listing, switches: frozenset[PciAddress], notes: _Notes) -> GpuRecord:
    links, active, total = _links(gpu, listing.kind, switches, notes)
    reason = notes.cut.get(gpu.index)
    if reason is not None:
        active = total = Unknown(reason, _BY_DRIVER)
    return GpuRecord(
        _label(gpu),
        line=gpu.line,
        nvml_index=gpu.index,
        uuid=uuid(gpu.uuid),
        name=model(gpu.name),
        vendor="nvidia",
        nvlinks_active=active,
        nvlinks_total=total,
        links=links,
    )


_Counts = tuple[Said[tuple[LinkRecord, ...]], Said[int], Said[int]]


def _links(gpu: PrintedGpu, kind: str, switches: frozenset[PciAddress], notes: _Notes) -> _Counts:
    """Links, how many are on, how many there are."""
    label = _label(gpu)
    refused: _Counts | None = None
    for text, line in gpu.errors:
        low = text.lower()
        if ALL_INACTIVE in low:
            refused = (), 0, None
        elif any(words in low for words in NOT_SUPPORTED):
            refused = (), 0, 0
        elif INVALID_LINK not in low and not gpu.links:
            why = Unknown(f"nvidia-smi printed: {text[:100]}", _BY_DRIVER)
            refused = why, why, why
        notes.observations.append(Observation(_error_kind(low), (label,), text[:160], line))
    if refused and not gpu.links:
        return refused
    if not gpu.links:
        return None, None, None
    if kind == "s":
        links = tuple(_state(link) for link in gpu.links)
        if any(link.state is None for link in links):
            return links, Unknown("the state of a link cannot be read", _BY_DRIVER), len(links)
        return links, sum(link.state == "active" for link in links), len(links)
    if kind == "R":
        return tuple(_remote(link, switches) for link in gpu.links), None, None
    if kind == "c":
        _capabilities(gpu, label, notes)
        why = Unknown("nvlink -c lists what links can do, not whether they are on", _BY_STATE)
        return None, why, len({link.number for link in gpu.links})
    _errors(gpu, label, notes)
    return None, None, None


def _error_kind(text: str) -> str:
    if ALL_INACTIVE in text:
        return "nvlink-all-inactive"
    if INVALID_LINK in text:
        return "nvlink-invalid-link"
    if any(words in text for words in NOT_SUPPORTED):
        return "nvlink-not-supported"
    return "nvlink-not-readable"


def _state(link: PrintedLink) -> LinkRecord:
    speed = _SPEED.match(link.text)
    if speed:
        rate = float(speed[1])
        # A link that moves nothing is off, whatever the tool calls it.
        return LinkRecord(link.number, "active" if rate else "inactive", rate or None)
    return LinkRecord(link.number, _STATES.get(link.text.strip("<> ").lower()))


def _remote(link: PrintedLink, switches: frozenset[PciAddress]) -> LinkRecord:
    match = _REMOTE.match(link.text)
    address = PciAddress.parse(match[1]) if match else None
    if match is None or address is None:
        return LinkRecord(link.number, None)
    kind = "switch" if address in switches else None
    return LinkRecord(link.number, None, None, address, kind, int(match[2]) if match[2] else None)


def _switches(listing: Listing) -> frozenset[PciAddress]:
    """Far ends that every GPU has links to. A GPU has none to itself, so such an address is no GPU of the listing."""
    ends = [
        {address for link in gpu.links if (address := _remote(link, frozenset()).remote) is not None}
        for gpu in listing.gpus
        if gpu.links
    ]
    if len(ends) < _FEWEST_ON_A_SWITCH or any(one != ends[0] for one in ends):
        return frozenset()
    return frozenset(ends[0])


def _capabilities(gpu: PrintedGpu, label: str, notes: _Notes) -> None:
    """How many links can do what: one observation a capability."""
    counts: dict[str, list[int]] = {}
    for link in gpu.links:
        match = _CAPABILITY.match(link.text)
        if match:
            counts.setdefault(match[1], [0, 0])[match[2] == "false"] += 1
    for name, (yes, no) in counts.items():
        text = f"{name}: true {yes}, false {no}"
        notes.observations.append(Observation("nvlink-capability", (label,), text, gpu.line))


def _errors(gpu: PrintedGpu, label: str, notes: _Notes) -> None:
    """Error counters above zero, by link."""
    found: list[str] = []
    for link in gpu.links:
        match = _COUNT.match(link.text)
        if match and int(match[2]):
            found.append(f"link {link.number} {match[1]}: {match[2]}")
    if found:
        notes.observations.append(Observation("nvlink-errors", (label,), "; ".join(found)[:400], gpu.line))
