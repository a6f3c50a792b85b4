"""Whether sources without a common identity can be one node: one contradiction says no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gputopo.topology.join import Joined
from gputopo.topology.ledger import Spoken
from gputopo.topology.node import Conflict, pair_id

_IDENTITY = ("uuid", "bootId", "name")


class NotOneNode(Exception):
    """These sources are not one node: why, and which sources."""

    def __init__(self, why: str, sources: tuple[str, ...], place: int | None = None) -> None:
        super().__init__(why, sources, place)
        self.why = why
        self.sources = sources
        self.place = place


def contradiction(
    sources: Sequence[Spoken], joined: Mapping[str, Joined], conflicts: Iterable[Conflict]
) -> NotOneNode | None:  # fmt: skip
    """The first conflict between sources that only a weak join ties together, or of identity itself."""
    if len(sources) < 2:
        return None
    tied = _strong_ties(sources, joined)
    place_of = {spoken.source.id: number for number, spoken in enumerate(sources)}
    for conflict in conflicts:
        places = {place_of[value.source] for value in conflict.values if value.source in place_of}
        groups = {tied[place] for place in places}
        identity = conflict.attribute in _IDENTITY and (conflict.attribute != "name" or conflict.subjects == ("node",))
        if len(groups) > 1 or (identity and len(places) > 1):
            names = tuple(sources[place].source.name for place in sorted(places))
            return NotOneNode(_sentence(conflict, sources, place_of), names)
    return None


def _sentence(conflict: Conflict, sources: Sequence[Spoken], place_of: Mapping[str, int]) -> str:
    subject = pair_id(*conflict.subjects) if len(conflict.subjects) == 2 else ", ".join(conflict.subjects)
    said = [
        f"{_show(value.value)} in {sources[place_of[value.source]].source.name}"
        for value in conflict.values
        if value.source in place_of
    ]
    return f"{conflict.attribute} of {subject} is {', '.join(dict.fromkeys(said))}"


def _show(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _strong_ties(sources: Sequence[Spoken], joined: Mapping[str, Joined]) -> list[int]:
    """Sources that share a UUID, a PCI address of a GPU, a boot id, a name or a text, by group."""
    group = list(range(len(sources)))

    def root(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    def tie(first: int, second: int) -> None:
        group[root(second)] = root(first)

    seen: dict[tuple[str, str], int] = {}
    for number, spoken in enumerate(sources):
        system = spoken.records.system
        marks = [("text", spoken.source.name)]
        for space, value in (("boot", system.boot_id), ("name", system.name)):
            if isinstance(value, str):
                marks.append((space, value))
        for gpu in spoken.records.gpus or ():
            marks += [(key.space, key.value) for key in gpu.keys if key.space in ("uuid", "pci")]
        for mark in marks:
            if mark in seen:
                tie(seen[mark], number)
            else:
                seen[mark] = number
    return [root(place) for place in range(len(sources))]
