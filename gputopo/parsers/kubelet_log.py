r"""The kubelet's log: whom it refused and why, which devices it asked a plugin for, and the hints that it weighed.

    >>> head = "I1129 03:12:07.100000    77 "
    >>> hint = head + 'scope.go:1] "Best TopologyHint" bestHint={"NUMANodeAffinity":3,"Preferred":false} pod="ml/a"\n'
    >>> no = '"Pod admission denied" podUID="u" pod="ml/a" reason="TopologyAffinityError" message="no"'
    >>> [said] = parse(hint + head + "manager.go:1] " + no)
    >>> [(one.name, one.uid, one.rejected, one.admitted, one.why) for one in said.pods]
    [('a', 'u', ('TopologyAffinityError', 'no'), '11-29T03:12:07', ('best hint: NUMA 0-1, not preferred',))]

A mask is a whole number in JSON (3 is NUMA nodes 0 and 1), and bits in Go's own form, which older kubelets and their
`{01 true}` have (kubernetes pkg/kubelet/cm/topologymanager, bitmask.String). Devices are told by a line of verbosity 4:
`Making allocation request for device plugin`, with the pod since 1.31. What a log tells was so at the time of its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from gputopo.holdings import ContainerHolding, DeviceHeld, HoldingRecords, PodRecord
from gputopo.parsers.klog_line import Line, read
from gputopo.parsers.limits import at_most_hits
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap, Observation
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.device_id import space_of

FORMAT = "kubelet-log"
DENIED, ASKED, BEST, HINTS, EVENT, ADMIT = (
    "Pod admission denied", "Making allocation request for device", "Best TopologyHint", "TopologyHints",
    "Event occurred", "Topology Admit Handler",
)  # fmt: skip
_MARK = re.compile("|".join((DENIED, ASKED, BEST, HINTS, EVENT, ADMIT)))
_HEADER = re.compile(r'(?:^|[\s:])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\] |"caller": ?"[^"]+\.go:\d+"')
_REASONS = ("TopologyAffinityError", "UnexpectedAdmissionError", "SMTAlignmentError", "EmptyPodSharedPoolError")
_OLD_BEST = re.compile(r"Best TopologyHint for \(pod: (\S+?)_(\S+?)\(([^)]*)\)(?: container: (\S+?))?\): (\{[^}]*\})")
_OLD_ASKED = re.compile(r"Making allocation request for devices \[([^\]]*)\] for device plugin (\S+)")
_OF_GO = re.compile(r"\{?(?:NUMANodeAffinity:)?(<nil>|[0-9]+),? (?:Preferred:)?(true|false)\}")
_MOST_HINTS = 12  # shown of one resource
_BITS = 64
Key = tuple[str, str]  # namespace, name


def sniff(given: str) -> bool:
    """Whether a text has a line of klog that is read here."""
    return _HEADER.search(given) is not None and _MARK.search(given) is not None


def parse(given: str) -> tuple[HoldingRecords, ...]:
    """One for each host that the text names. Raises Unreadable."""
    hosts: dict[str, _Told] = {}
    for number, line in at_most_hits(_lines(given)):
        found = read(line)
        if found is not None:
            hosts.setdefault(found.host, _Told()).hear(found, number)
    if not hosts:
        raise Unreadable("no line of the kubelet's log that tells of pods or devices", None, "journalctl -u kubelet")
    return tuple(one for host, told in hosts.items() for one in told.records(host if len(hosts) > 1 else ""))


def _lines(given: str) -> Iterator[tuple[int, str]]:
    """The lines with a mark, each once."""
    number, counted, after = 1, 0, 0
    for match in _MARK.finditer(given):
        if match.start() < after:
            continue
        begin = given.rfind("\n", 0, match.start()) + 1
        after = given.find("\n", match.start())
        after = len(given) if after < 0 else after
        number += given.count("\n", counted, begin)
        counted = begin
        yield number, given[begin:after]


class _Told:
    """What one kubelet's lines say."""

    def __init__(self) -> None:
        self.at: str | None = None
        self.uids: dict[Key, str] = {}
        self.hints: dict[Key, dict[str, None]] = {}
        self.refused: dict[tuple[Key, str], PodRecord] = {}
        self.given: dict[tuple[Key, str], dict[str, tuple[str | None, int, tuple[DeviceHeld, ...]]]] = {}
        self.ended: list[ContainerHolding] = []  # whose devices went to another pod
        self.gaps: list[Gap] = []
        self.seen: list[Observation] = []

    def hear(self, line: Line, number: int) -> None:
        self.at = line.at or self.at
        fields = line.fields
        pod = _pod(fields.get("pod") or fields.get("object"))
        if line.message == ADMIT:
            own = (str(fields.get("podNamespace", "")), str(fields.get("podName", "")))
            self.uids[own] = str(fields.get("podUID", ""))
            self.hints.pop(own, None)  # another try of the same name
        elif line.message == DENIED or (line.message == EVENT and fields.get("reason") in _REASONS):
            self._refuse(pod, line, number)
        elif line.message.startswith(ASKED):
            self._give(pod, line, number)
        elif line.message == BEST and pod:
            self._hint(pod, str(fields.get("containerName", "")), f"best hint: {_hint(fields.get('bestHint'))}", number)
        elif line.message == HINTS and pod:
            for text in _hints(fields.get("hints")):
                self._hint(pod, str(fields.get("containerName", "")), text, number)
        elif old := _OLD_BEST.search(line.message):
            own = (old[2], old[1])
            self.uids[own] = old[3]
            self._hint(own, old[4] or "", f"best hint: {_hint(old[5])}", number)

    def _hint(self, pod: Key, container: str, text: str, number: int) -> None:
        said = f"{container}: {text}" if container else text
        self.hints.setdefault(pod, {})[said] = None
        self.seen.append(Observation("topology-hint", ("/".join(pod),), said, number))

    def _refuse(self, pod: Key | None, line: Line, number: int) -> None:
        if pod is None:
            return
        uid = str(line.fields.get("podUID") or self.uids.get(pod, "")) or None
        if uid:
            self.uids[pod] = uid
        for key in [key for key in self.given if key[0] == pod]:
            del self.given[key]
        why = (str(line.fields.get("reason", "")), str(line.fields.get("message", "")))
        known = self.refused.get((pod, uid or "")) or self.refused.get((pod, ""))
        if known is None or known.rejected != why:
            hints = tuple(self.hints.pop(pod, ()))
            self.refused[pod, uid or ""] = PodRecord(
                pod[0] or None, pod[1], uid, "Failed", admitted=line.at, rejected=why, why=hints, line=number
            )

    def _give(self, pod: Key | None, line: Line, number: int) -> None:
        devices, resource = line.fields.get("devices"), str(line.fields.get("resourceName", ""))
        old = _OLD_ASKED.search(line.message)
        if old is not None:
            devices, resource = old[1].split(), old[2]
        elif isinstance(devices, str):  # Go's own form
            devices = devices.strip("[]").split()
        ids = [one for one in devices if isinstance(one, str) and one] if isinstance(devices, list) else []
        if not ids:
            return
        if pod is None:
            reason = "this kubelet's log does not say to which pod they went"
            self.gaps.append(Gap(tuple(sorted(ids)), "pod", reason, "kubelet_internal_checkpoint", number))
            return
        container = str(line.fields.get("containerName", ""))
        held = tuple(DeviceHeld(resource, id, space_of(id)) for id in sorted(ids))
        self._end(pod, set(ids))
        self.given.setdefault((pod, container), {})[resource] = (line.at, number, held)

    def _end(self, pod: Key, ids: set[str]) -> None:
        """The kubelet gives a device again when the pod that had it is gone."""
        for key, by_resource in list(self.given.items()):
            if key[0] != pod and any(one.id in ids for _, _, held in by_resource.values() for one in held):
                self.ended.append(self._container(key))
                del self.given[key]

    def _container(self, key: tuple[Key, str]) -> ContainerHolding:
        (namespace, name), container = key
        *_, (at, line, _) = self.given[key].values()
        devices = tuple(one for _, _, held in self.given[key].values() for one in held)
        uid = self.uids.get(key[0]) or None
        return ContainerHolding(
            namespace or None, name, uid, container or None, devices=devices, line=line, at=at
        )  # fmt: skip

    def records(self, host: str) -> Iterator[HoldingRecords]:
        """What was so at the end of the log, and what had ended by then."""
        yield HoldingRecords(
            FORMAT, node=host, at=self.at, past=True, containers=tuple(map(self._container, self.given)),
            pods=tuple(self.refused.values()) or None, gaps=tuple(self.gaps), observations=tuple(self.seen),
        )  # fmt: skip
        if self.ended:
            yield HoldingRecords(FORMAT, node=host, at=self.ended[0].at, past=True, containers=tuple(self.ended))


def _pod(said: Any) -> Key | None:
    if not isinstance(said, str) or not said:
        return None
    namespace, slash, name = said.rpartition("/")
    return (namespace, name) if slash else ("", said)


def _hints(said: Any) -> Iterable[str]:
    """Of `"TopologyHints" hints={"nvidia.com/gpu":[…]}`; null is no preference, [] that none is possible."""
    for resource, hints in said.items() if isinstance(said, dict) else ():
        if hints is None:
            yield f"{resource}: no preference"
        elif isinstance(hints, list):
            shown = "; ".join(_hint(one) for one in hints[:_MOST_HINTS])
            more = f" and {len(hints) - _MOST_HINTS} more" if len(hints) > _MOST_HINTS else ""
            yield f"{resource}: {shown or 'no hint, nothing fits'}{more}"


def _hint(said: Any) -> str:
    """
    >>> _hint({"NUMANodeAffinity": 242, "Preferred": True}), _hint({"NUMANodeAffinity": None, "Preferred": False})
    ('NUMA 1,4-7, preferred', 'any NUMA node, not preferred')
    >>> _hint("{01 true}"), _hint("{NUMANodeAffinity:0110 Preferred:false}")
    ('NUMA 0, preferred', 'NUMA 1-2, not preferred')
    """
    mask: Any = None
    preferred: Any = None
    if isinstance(said, dict):
        mask, preferred = said.get("NUMANodeAffinity"), said.get("Preferred")
    elif isinstance(said, str) and (match := _OF_GO.search(said)):
        preferred = match[2] == "true"
        mask = None if match[1] == "<nil>" else _bits(match[1])
    else:
        return "not read"
    known = isinstance(mask, int) and not isinstance(mask, bool) and 0 < mask < 1 << _BITS
    where = f"NUMA {CpuSet(mask)}" if known else "any NUMA node" if mask is None else "no NUMA node"
    return f"{where}, {'preferred' if preferred is True else 'not preferred'}"


def _bits(digits: str) -> int:
    """Go's own form has pairs of binary digits; a whole number that could be either is taken for those."""
    if len(digits) > _BITS:
        return 0
    return int(digits, 2) if len(digits) % 2 == 0 and set(digits) <= {"0", "1"} else int(digits)
