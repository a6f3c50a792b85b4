"""What is to be seen on a picture of a node, before anybody knows where: boxes in boxes, cards, wires, marks, notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Union

UNDECIDED = "?"  # a level that the evidence leaves open
LEVEL_ORDER = ("PIX", "PXB", "PHB", "NODE", "SYS", UNDECIDED)


class Card(NamedTuple):
    """A device, or alike devices of one box that would only repeat each other (virtual functions)."""

    kind: str  # "gpu" | "nic" | "nvme"
    ids: tuple[str, ...]
    lines: tuple[str, ...]  # the first is its name
    about: str  # what a pointer over it says
    bridges: tuple[str, ...] = ()  # bridges above it that are nobody else's

    @property
    def id(self) -> str:
        return self.ids[0]


class Box(NamedTuple):
    """A place that holds devices. `levels`: the letters of the pairs whose smallest common box it is."""

    kind: str  # "package" | "numa" | "hostBridge" | "switch" | "bridge" | "level" | "unknown" | "idle"
    id: str
    title: str
    details: tuple[str, ...]
    inside: tuple[Union[Box, Card], ...]  # noqa: UP007
    seen: bool = True  # False: told by pair levels, or not known; drawn dashed
    levels: tuple[str, ...] = ()
    bridges: tuple[str, ...] = ()  # bridges it stands for
    about: str = ""


class Bundle(NamedTuple):
    """NVLinks (or xGMI) between two GPUs. `seen` False: cables, or a way through a fabric: not in the evidence."""

    a: str
    b: str
    kind: str  # "nvlink" | "xgmi"
    times: int | None
    seen: bool


class Fabric(NamedTuple):
    """GPUs with links into one thing that is drawn as a bar."""

    kind: str  # "switch" | "unclear" (cables or switches) | "blind" (far ends not in the evidence)
    links: tuple[tuple[str, int | None], ...]  # GPU → its links into it
    switches: tuple[str, ...]
    title: str

    @property
    def seen(self) -> bool:
        return self.kind == "switch"


class ToCpu(NamedTuple):
    """Links of a GPU to the CPUs of its NUMA node: C2C of Grace, NVLink of POWER9."""

    gpu: str
    kind: str  # "c2c" | "nvlink"
    times: int | None


class Between(NamedTuple):
    """What connects the rooms."""

    title: str
    levels: tuple[str, ...]
    rooms: tuple[str, ...]
    seen: bool


class Asked(NamedTuple):
    """A set of GPUs that a person pointed at."""

    letter: str  # "A" | "B"
    gpus: tuple[str, ...]
    weakest: tuple[str, str] | None  # None: not decided, or all pairs are alike
    level: str  # of the weakest pairs; "" where it is not decided
    rooms: tuple[str, ...]  # rooms it has GPUs in
    lines: tuple[str, ...]  # what is to be said of it


class Holder(NamedTuple):
    """A pod: its number on the cards, and what it holds."""

    number: int
    title: str
    devices: tuple[str, ...]
    text: str


class Picture(NamedTuple):
    title: str
    subtitle: str
    rooms: tuple[Box, ...]
    between: Between | None = None
    bundles: tuple[Bundle, ...] = ()
    fabrics: tuple[Fabric, ...] = ()
    to_cpu: tuple[ToCpu, ...] = ()
    asked: tuple[Asked, ...] = ()
    verdict: str = ""
    holders: tuple[Holder, ...] = ()
    notes: tuple[str, ...] = ()
    summary: str = ""  # in words, for who does not see it


def cards(parts: tuple[Box | Card, ...]) -> Iterator[Card]:
    """Every card in these parts, in the order they stand in."""
    for part in parts:
        if isinstance(part, Card):
            yield part
        else:
            yield from cards(part.inside)


def boxes(parts: tuple[Box | Card, ...]) -> Iterator[Box]:
    """Every box in these parts, outer before inner."""
    for part in parts:
        if isinstance(part, Box):
            yield part
            yield from boxes(part.inside)


def paths(rooms: tuple[Box, ...]) -> dict[str, tuple[Box, ...]]:
    """Each device with the boxes around it, outermost first."""
    found: dict[str, tuple[Box, ...]] = {}

    def walk(part: Box | Card, around: tuple[Box, ...]) -> None:
        if isinstance(part, Card):
            for id in part.ids:
                found[id] = around
        else:
            for one in part.inside:
                walk(one, (*around, part))

    for room in rooms:
        walk(room, ())
    return found
