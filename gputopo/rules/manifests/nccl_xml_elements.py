"""The elements of an NCCL file as rules read them, with the place of each attribute."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.rules.manifests.problem import Problem
from gputopo.terms.manifest import Manifest, Path

TOPOLOGY, GRAPHS = "NCCL topology file", "NCCL graph file"


class Fault(NamedTuple):
    severity: str
    at: Path
    name: str  # as XPath has it
    message: str
    because: str = ""
    remedy: str = ""

    def problem(self, code: str, manifest: Manifest) -> Problem:
        return Problem(code, self.severity, manifest.at(self.at), self.name, self.message, self.because, self.remedy)


class Element(NamedTuple):
    number: int
    tag: str
    path: str
    above: int
    known: bool  # NCCL reads it
    attributes: dict[str, str]
    children: frozenset[str]  # their tags

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    @property
    def is_gpu(self) -> bool:
        return self.tag == "pci" and ("gpu" in self.children or (self.get("class") or "").startswith("0x03"))

    @property
    def is_nic(self) -> bool:
        return self.tag == "pci" and ("nic" in self.children or (self.get("class") or "").startswith("0x02"))

    def fault(self, severity: str, attribute: str, message: str, because: str = "", remedy: str = "") -> Fault:
        """At the value of the attribute, "" for the element."""
        at: Path = ("elements", self.number, *(("attributes", attribute) if attribute else ()))
        name = f"{self.path}/@{attribute}" if attribute else self.path
        return Fault(severity, at, name, message, because, remedy)


def elements(manifest: Manifest) -> tuple[Element, ...]:
    rows = manifest.object.body["elements"]
    children: dict[int, set[str]] = {}
    for row in rows:
        children.setdefault(row["above"], set()).add(row["tag"])
    return tuple(
        Element(number, row["tag"], row["path"], row["above"], row["known"], row["attributes"],
                frozenset(children.get(number, ())))
        for number, row in enumerate(rows)
    )  # fmt: skip


def text_of(value: str) -> str:
    """For a message: not longer than it can be read."""
    return value if len(value) <= 40 else value[:37] + "..."
