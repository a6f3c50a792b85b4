"""What a rule over a manifest says, and what it is told of the cluster."""

from __future__ import annotations

from typing import NamedTuple

from gputopo.allocate.dra import published
from gputopo.terms.edits import NO_MEND, Edit, Mend
from gputopo.terms.manifest import Manifest, Path, Place
from gputopo.topology.node import NodeTopology


class Context(NamedTuple):
    """`driver`: the line of versions of NVIDIA's DRA driver; `driver_said`: the user named it."""

    driver: str = "0.4"
    driver_said: bool = False
    minor: int = 36  # of Kubernetes 1.x
    together: tuple[Manifest, ...] = ()  # every manifest that is checked in one go, of all files
    minor_said: bool = False  # the user named the release of Kubernetes
    node: NodeTopology | None = None  # of the evidence that was given beside them

    @property
    def driver_words(self) -> str:
        of = "of NVIDIA's DRA driver"
        return f"version {self.driver} {of}" if self.driver_said else f"the newest release {of}, {published.NEWEST},"


class Problem(NamedTuple):
    """`edits` mend it in the file, all of them or none; `spots` are their begins and ends as places; `why_not`: why
    there are none, where that is not plain."""

    rule: str
    severity: str
    place: Place
    path: str  # as kubectl writes it: spec.devices.requests[0].name
    message: str
    because: str = ""
    remedy: str = ""
    edits: tuple[Edit, ...] = ()
    why_not: str = ""
    spots: tuple[tuple[Place, Place], ...] = ()


def problem(
    rule: str, severity: str, manifest: Manifest, path: Path, message: str, because: str = "", remedy: str = "",
    place: Place | None = None, mend: Mend = NO_MEND,
) -> Problem:  # fmt: skip
    whole = manifest.of_file
    spots = tuple((whole.place(edit.start), whole.place(edit.end)) for edit in mend.edits)
    return Problem(
        rule, severity, place or manifest.at(path), written(path), message, because, remedy, *mend, spots
    )  # fmt: skip


def written(path: Path) -> str:
    """
    >>> written(("spec", "requests", 0, "name"))
    'spec.requests[0].name'
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
