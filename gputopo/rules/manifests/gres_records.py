"""The lines of a gres.conf as rules read them: the records slurmd makes of them, their nodes, their AutoDetect.

Source: SchedMD/slurm 284c3b9, src/interfaces/gres.c (_parse_gres_config, _parse_gres_conf_locked).
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.rules.manifests.problem import Problem
from gputopo.terms.hostlist import expand
from gputopo.terms.manifest import Manifest, Path

CONF, PRINTED = "gres.conf", "slurmd -G"
FIRST = ("AutoDetect", "Name", "NodeName")
KEYS = (
    "AutoDetect", "Count", "CPUs", "Cores", "File", "Files", "Flags", "Link", "Links", "MultipleFiles", "Name", "Type",
)  # fmt: skip
_SAME = {"files": "file", "link": "links", "cpus": "cores"}
DETECTORS = ("full", "nvml", "rsmi", "oneapi", "nrt", "nvidia")  # in the order in which Slurm looks for them


class Pair(NamedTuple):
    name: str  # as it is written
    key: str  # lower case, one spelling of those that mean the same
    value: str
    path: Path

    @property
    def at(self) -> Path:
        return (*self.path, "value")


class Line(NamedTuple):
    """What slurmd reads of a line, up to the key that it does not know."""

    number: int
    pairs: tuple[Pair, ...]
    rest: str | None

    def get(self, key: str) -> Pair | None:
        """Of several the last one counts."""
        return next((pair for pair in reversed(self.pairs) if pair.key == key), None)

    @property
    def first(self) -> Pair | None:
        return self.pairs[0] if self.pairs else None


class Record(NamedTuple):
    line: Line
    name: str
    nodes: frozenset[str] | None  # None: of every node, or of more than are listed
    files: tuple[str, ...] | None  # None: unreadable, or more than are listed
    detects: str | None  # nvml, …, off; "" where nothing says it, None where its nodes differ

    def get(self, key: str) -> Pair | None:
        return self.line.get(key)

    @property
    def is_gpu(self) -> bool:
        return self.name.lower() == "gpu"

    @property
    def has_file(self) -> bool:
        return self.get("file") is not None or self.get("multiplefiles") is not None

    @property
    def by_nvml(self) -> bool:
        return self.detects in ("nvml", "full")

    @property
    def undetected(self) -> bool:
        return self.detects in ("", "off")

    def meets(self, other: Record) -> bool:
        """Whether one node may read both."""
        return self.nodes is None or other.nodes is None or not self.nodes.isdisjoint(other.nodes)


def lines(manifest: Manifest) -> tuple[Line, ...]:
    return tuple(_line(number, row) for number, row in enumerate(manifest.object.body["lines"]))


def _line(number: int, row: dict[str, object]) -> Line:
    found = row["keys"]
    assert isinstance(found, list)
    rest = row.get("rest")
    pairs = tuple(
        Pair(one["key"], _key(one["key"]), one["value"], ("lines", number, "keys", place))
        for place, one in enumerate(found)
    )
    return Line(number, pairs, rest if isinstance(rest, str) else None)


def _key(name: str) -> str:
    lower = name.lower()
    return _SAME.get(lower, lower)


def records(manifest: Manifest) -> tuple[Record, ...]:
    """In the order in which slurmd lists them: those that begin with Name, then those of nodes."""
    found = lines(manifest)
    said = [line.first.value for line in found if line.first is not None and line.first.key == "autodetect"]
    local = [(names, of.value) for line in found for names, of in detections(line)]
    made = [_record(line, said[-1] if said else "", local) for line in found]
    kept = [one for one in made if one is not None]
    if manifest.kind == PRINTED:
        return tuple(one._replace(detects=None) for one in kept)  # what it says is the same either way
    return (*(one for one in kept if not _of_nodes(one.line)), *(one for one in kept if _of_nodes(one.line)))


def _of_nodes(line: Line) -> bool:
    return line.first is not None and line.first.key == "nodename"


def detections(line: Line) -> list[tuple[frozenset[str] | None, Pair]]:
    """The AutoDetect of a line that names nodes, with these nodes."""
    detect = line.get("autodetect")
    if detect is None or line.first is None or not _of_nodes(line):
        return []
    return [(nodes_of(line.first.value), detect)]


def _record(line: Line, everywhere: str, local: list[tuple[frozenset[str] | None, str]]) -> Record | None:
    first, name = line.first, line.get("name")
    if first is None or name is None or first.key not in ("name", "nodename"):
        return None
    nodes = nodes_of(first.value) if first.key == "nodename" else None
    files = line.get("file") or line.get("multiplefiles")
    detects = _detects(nodes, everywhere, local)
    return Record(line, name.value, nodes, listed(files.value) if files else (), detects)


def _detects(
    nodes: frozenset[str] | None, everywhere: str, local: list[tuple[frozenset[str] | None, str]]
) -> str | None:  # fmt: skip
    """A node's own AutoDetect goes before that of all nodes."""
    for names, said in local:
        if names is None or nodes is None or (not nodes <= names and not nodes.isdisjoint(names)):
            return None
        if nodes <= names:
            return detector(said) or detector(everywhere)
    return detector(everywhere)


def detector(text: str) -> str:
    """The word that Slurm finds in a value of AutoDetect; "" for one that it does not know."""
    lower = text.lower()
    return next((word for word in DETECTORS if word in lower), "off" if lower == "off" else "")


def may_stand_elsewhere(manifest: Manifest) -> bool:
    """Whether lines that are not here may belong to the file: it includes another, or is a part of a text."""
    body = manifest.object.body
    return bool(body.get("includes") or body.get("embedded")) or manifest.kind == PRINTED


def nodes_of(text: str) -> frozenset[str] | None:
    found = listed(text)
    return None if found is None else frozenset(found)


def listed(text: str) -> tuple[str, ...] | None:
    try:
        return expand(text)
    except ValueError:
        return None


class Fault(NamedTuple):
    """What a check of a part says; `at` is a path of the manifest, `column` a character of its value."""

    severity: str
    at: Path
    name: str  # of the key
    message: str
    because: str = ""
    remedy: str = ""
    column: int = 1

    def problem(self, code: str, manifest: Manifest) -> Problem:
        place = manifest.inside(self.at, 1, self.column)
        return Problem(code, self.severity, place, self.name, self.message, self.because, self.remedy)


def at_value(
    severity: str, pair: Pair, message: str, because: str = "", remedy: str = "", column: int = 1
) -> Fault:  # fmt: skip
    return Fault(severity, pair.at, pair.name, message, because, remedy, column)


def at_key(severity: str, pair: Pair, message: str, because: str = "", remedy: str = "") -> Fault:
    return Fault(severity, (*pair.path, "key"), pair.name, message, because, remedy)
