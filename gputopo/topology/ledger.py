"""Claims: who said what of which attribute. One function reads the attribute table.

The used value, the conflicts, the provenance and the reasons for not knowing are views of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from gputopo.records import Gap, NodeRecords, Pcie
from gputopo.terms.cpu_set import CpuSet
from gputopo.terms.unknown import Unknown
from gputopo.topology.attributes import ATTRIBUTES, Attribute
from gputopo.topology.node import Conflict, NoteUnknown, Source, Value


class Spoken(NamedTuple):
    """One node's part of one source."""

    source: Source
    records: NodeRecords


class Claim(NamedTuple):
    value: Any
    source: Source


# Record field → JSON field, where they differ; the tables speak the document's language.
_JSON_NAME = {
    "nvml_index": "index", "numa_nodes": "numaNodes", "cpus_complete": "cpusComplete", "boot_id": "bootId",
    "taken_at": "at", "compute_capability": "computeCapability", "memory_bytes": "memoryBytes",
    "module_id": "moduleId", "memory_numa_node": "memoryNumaNode", "nvlinks_active": "nvlinks",
    "nvlinks_total": "nvlinks", "link_layer": "linkLayer", "rate_gbps": "rateGbps",
    "virtual_function_of": "virtualFunctionOf", "allowed_cpus": "allowedCpus", "chain": "parent",
}  # fmt: skip


def json_name(field: str) -> str:
    return _JSON_NAME.get(field, field)


def json_value(value: Any) -> Any:
    """A claim's value as the document spells it."""
    if isinstance(value, CpuSet):
        return str(value)
    if isinstance(value, Pcie):
        return {"generation": value.generation, "width": value.width,
                "maxGeneration": value.max_generation, "maxWidth": value.max_width}  # fmt: skip
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


class Ledger:
    """Collects conflicts, reasons and provenance while the node is built; frozen at the end."""

    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []
        self.provenance: dict[str, dict[str, str]] = {}
        # The subjects of each note in order: a node of hundreds of devices has 100,000 pairs under one reason.
        self._reasons: dict[tuple[str, str], tuple[dict[str, None], NoteUnknown]] = {}

    def settle(self, kind: str, id: str, field: str, claims: Sequence[Claim]) -> Any:
        """The used value of `kind.field`, or `None` with the sources' own reason kept."""
        if not claims:
            return None
        if len(claims) == 1:
            used = claims[0]
            if isinstance(used.value, Unknown):
                self.unknown((id,), json_name(field), used.value.why, used.value.settled_by)
                return None
            self.provenance.setdefault(id, {})[json_name(field)] = used.source.id
            return used.value
        attribute = ATTRIBUTES[f"{kind}.{field}"]
        ordered = sorted(claims, key=lambda claim: _rank(attribute, claim))
        known = [claim for claim in ordered if not isinstance(claim.value, Unknown)]
        if not known:
            why = ordered[0].value
            self.unknown((id,), json_name(field), why.why, why.settled_by)
            return None
        used = known[0]
        self.provenance.setdefault(id, {})[json_name(field)] = used.source.id
        value = used.value
        if isinstance(value, Pcie):
            return self._settle_pcie(id, field, attribute, known)
        against = [
            claim for claim in known[1:]
            if claim.source.format in attribute.order
            and used.source.format in attribute.order
            and not attribute.agree(value, claim.value)
        ]  # fmt: skip
        if against:
            self.conflict((id,), json_name(field), value, [used, *against])
        return value

    def _settle_pcie(self, id: str, field: str, attribute: Attribute, known: Sequence[Claim]) -> Pcie:
        """Field by field. Width counts as a word against width; speed is power-managed and does not."""
        merged = []
        for place, name in enumerate(Pcie._fields):
            said = [claim for claim in known if claim.value[place] is not None]
            merged.append(said[0].value[place] if said else None)
            against = [
                claim for claim in said[1:]
                if name in ("width", "max_width")
                and claim.source.format in attribute.order
                and said[0].source.format in attribute.order
                and claim.value[place] != said[0].value[place]
            ]  # fmt: skip
            if against:
                values = [Claim(claim.value[place], claim.source) for claim in (said[0], *against)]
                label = "pcie.width" if name == "width" else "pcie.maxWidth"
                self.conflict((id,), label, merged[-1], values)
        return Pcie(*merged)

    def conflict(self, subjects: tuple[str, ...], attribute: str, used: Any, claims: Iterable[Claim]) -> None:
        values = tuple(Value(json_value(claim.value), claim.source.id) for claim in claims)
        self.conflicts.append(Conflict(subjects, attribute, json_value(used), values))

    def unknown(self, subjects: tuple[str, ...], attribute: str, reason: str, settled_by: str = "") -> None:
        """Note why something is not known; the same reason for more subjects is one note."""
        key = (attribute, reason)
        found = self._reasons.get(key)
        if found is not None:
            found[0].update(dict.fromkeys(subjects))
        else:
            self._reasons[key] = dict.fromkeys(subjects), NoteUnknown((), attribute, reason, settled_by)

    def gap(self, gap: Gap, rename: dict[str, str]) -> None:
        subjects = tuple(rename.get(subject, subject) for subject in gap.subjects)
        if gap.attribute == "row":  # one note a row: its label is the subject
            for subject in subjects:
                key = ("row", f"{subject}: {gap.reason}")
                self._reasons[key] = {subject: None}, NoteUnknown((), "row", gap.reason, gap.settled_by)
        else:
            self.unknown(subjects, gap.attribute, gap.reason, gap.settled_by)

    def drop_unknown(self, subject: str, attribute: str) -> None:
        """Another source settled it after all."""
        for key, (subjects, note) in list(self._reasons.items()):
            if note.attribute == attribute and subject in subjects:
                del subjects[subject]
                if not subjects:
                    del self._reasons[key]

    def has_reason(self, subject: str, attribute: str) -> bool:
        """Whether a source gave its own reason for not knowing."""
        return any(note.attribute == attribute and subject in subjects for subjects, note in self._reasons.values())

    def unknown_notes(self) -> tuple[NoteUnknown, ...]:
        return tuple(note._replace(subjects=tuple(subjects)) for subjects, note in self._reasons.values())


def _rank(attribute: Attribute, claim: Claim) -> tuple[int, str]:
    order = attribute.order
    name = claim.source.format
    return (order.index(name) if name in order else len(order), claim.source.id)
