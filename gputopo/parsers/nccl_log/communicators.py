"""Parts to communicators: the ranks of one communicator, from all threads that print of it.

`commId` names a communicator since 2.18. Before, parts with one number of ranks are one communicator as long as each
rank stands in it once; where two jobs ran at a time, hosts tell them apart, or nothing does, which is said. What is
printed without a communicator's name (lazy connections since 2.22, a log that is cut) goes to the one communicator of
the process in which it can stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from gputopo.nccl_records import CommunicatorRecord, PeerRecord, RankRecord, RingRecord, Speaker
from gputopo.parsers.nccl_log.gathered import Part
from gputopo.parsers.nccl_log.peers import PeerSeen

_Any = TypeVar("_Any")
_ONLY = "the only communicator in the log that can hold them"


class Communicator:
    """Parts that belong together."""

    __slots__ = ("assumed", "id", "mixed", "nranks", "parts")

    def __init__(self, id: str | None, nranks: int | None) -> None:
        self.id = id
        self.nranks = nranks
        self.parts: list[Part] = []
        self.assumed = ""
        self.mixed = False  # parts of several communicators that cannot be told apart

    @property
    def speakers(self) -> tuple[Speaker, ...]:
        return tuple(dict.fromkeys(part.speaker for part in self.parts))

    def holds(self, ranks: set[int], highest: int, speaker: Speaker | None) -> bool:
        """Whether lines that these ranks print can be of it; `speaker` prints them, where that must fit too."""
        if self.nranks is None or highest >= self.nranks:
            return False
        if speaker is None:
            return True
        own = {part.rank for part in self.parts if part.speaker == speaker}
        taken = {part.rank for part in self.parts if part.speaker != speaker}
        return not ranks & taken and (not own or ranks <= own)


def communicators(parts: Iterable[Part]) -> list[Communicator]:
    """All communicators, in order of appearance; parts without a name last, together in one a process."""
    named: dict[tuple[str, int], Communicator] = {}
    old: dict[int, list[Part]] = {}
    nameless: list[Part] = []
    for part in parts:
        if part.nranks is None or part.rank is None:
            nameless.append(part)
        elif part.comm_id is not None:
            named.setdefault((part.comm_id, part.nranks), Communicator(part.comm_id, part.nranks)).parts.append(part)
        else:
            old.setdefault(part.nranks, []).append(part)
    found = [*named.values()]
    for nranks, some in old.items():
        found += _without_id(nranks, some, [one for one in found if one.nranks == nranks])
    found.sort(key=lambda one: min(part.first for part in one.parts))
    return [*found, *_place(nameless, found)]


def _without_id(nranks: int, parts: list[Part], named: list[Communicator]) -> list[Communicator]:
    """Communicators of one number of ranks whose parts have no commId: `comm … nNodes` lines, and versions to 2.17."""
    left = []
    for part in parts:
        # The line before `Init COMPLETE`, which is cut off: the same process holds the rank in a named one.
        owners = [one for one in named if any(_same(other, part) for other in one.parts)]
        if len(owners) == 1:
            owners[0].parts.append(part)
        else:
            left.append(part)
    if not left:
        return []
    rounds = _rounds(left)
    made = []
    for some in rounds:
        for group, mixed in _apart(some, nranks):
            one = Communicator(None, nranks)
            one.parts, one.mixed = group, mixed
            made.append(one)
    return made


def _same(a: Part, b: Part) -> bool:
    return a.speaker == b.speaker and a.rank == b.rank and (a.pointer == b.pointer or b.pointer is None)


def _rounds(parts: list[Part]) -> list[list[Part]]:
    """The first communicator that each process makes of this size, then the second, …"""
    nth: dict[tuple[Speaker, int | None], int] = {}
    rounds: list[list[Part]] = []
    for part in parts:
        key = (part.speaker, part.rank)
        n = nth.get(key, 0)
        nth[key] = n + 1
        if n == len(rounds):
            rounds.append([])
        rounds[n].append(part)
    return rounds


def _apart(parts: list[Part], nranks: int) -> list[tuple[list[Part], bool]]:
    """(parts of one communicator, whether they may be of several)."""
    if len({part.rank for part in parts}) == len(parts):
        return [(parts, False)]
    hosts: dict[str | None, list[Part]] = {}
    for part in parts:
        hosts.setdefault(part.speaker.host, []).append(part)
    return [(some, len({part.rank for part in some}) != len(some) or len(hosts) == 1) for some in hosts.values()]


def _place(nameless: list[Part], found: list[Communicator]) -> list[Communicator]:
    """Puts parts without a name where they belong; those of which it cannot be told stay nameless."""
    left: dict[Speaker, Communicator] = {}
    # A log may have thousands of communicators and processes: each part looks at those of its process only.
    of_speaker: dict[Speaker, list[Communicator]] = {}
    for one in found:
        for speaker in one.speakers:
            of_speaker.setdefault(speaker, []).append(one)
    for part in nameless:
        home, why = _home(part, of_speaker.get(part.speaker, []), found)
        if home is not None:
            home.parts.append(part)
            own = of_speaker.setdefault(part.speaker, [])
            if home not in own:
                own.append(home)
            home.assumed = home.assumed or why
        else:
            left.setdefault(part.speaker, Communicator(None, None)).parts.append(part)
    return list(left.values())


def _home(part: Part, mine: list[Communicator], found: list[Communicator]) -> tuple[Communicator | None, str]:
    """`mine`: the communicators of the part's process, in the order of `found`."""
    seen = [one for one in part.peers.values() if one is not None]
    ranks = {one.rank for one in seen}
    highest = max((max(one.sender, one.receiver) for one in seen), default=-1)
    highest = max([highest, *(max(order) for order in part.rings)])
    own = [one for one in mine if one.holds(ranks, highest, part.speaker)]
    if len({(one.nranks, _ranks_of(one, part.speaker)) for one in own}) == 1:
        before = [one for one in own if min(two.first for two in one.parts) <= part.first] or own
        why = "" if len(own) == 1 else "the latest of several communicators with the same ranks in this process"
        return before[-1], why
    if not own and len(found) == 1 and found[0].holds(ranks, highest, part.speaker) and not found[0].mixed:
        return found[0], _ONLY
    return None, ""


def _ranks_of(one: Communicator, speaker: Speaker) -> frozenset[int | None]:
    return frozenset(part.rank for part in one.parts if part.speaker == speaker)


def record(one: Communicator) -> CommunicatorRecord:
    """A communicator's parts as one."""
    parts = one.parts
    counts = {said._replace(line=0): said for part in parts for said in part.counts}
    searches = {said._replace(line=0): said for part in reversed(parts) for said in reversed(part.searches)}
    fallbacks: dict[int, int] = {}
    rings: dict[tuple[int, ...], RingRecord] = {}
    for part in parts:
        for pattern, line in part.fallbacks.items():
            fallbacks.setdefault(pattern, line)
        for order, (channels, line) in part.rings.items():
            rings.setdefault(order, RingRecord(order, channels, line))
    systems = {part.system.speaker.host: part.system for part in reversed(parts) if part.system is not None}
    return CommunicatorRecord(
        one.id,
        one.nranks,
        nodes=_first(part.nodes for part in parts),
        local_ranks=_first(part.local_ranks for part in parts),
        mnnvl=_first(part.mnnvl for part in parts),
        ranks=_ranks(parts),
        peers=_peers(parts),
        rings=tuple(sorted(rings.values(), key=lambda said: said.line)),
        trees=max((part.trees for part in parts if part.trees is not None), default=None),
        neighbours=tuple(
            sorted({(c, a, b, d) for part in parts for (c, b), (a, d) in part.neighbours.items()})
        ),
        counts=tuple(sorted(counts.values(), key=lambda said: said.line)),
        searches=tuple(sorted(searches.values(), key=lambda said: said.line)),
        fallbacks=tuple(sorted(fallbacks.items())),
        systems=tuple(sorted(systems.values(), key=lambda said: said.line)),
        nvls=_first(part.nvls for part in parts),
        nvls_channels=_first(part.nvls_channels for part in parts),
        all_direct_p2p=_first(part.all_direct_p2p for part in parts),
        all_cuda_p2p=_first(part.all_cuda_p2p for part in parts),
        assumed=one.assumed,
        line=min(part.first for part in parts),
    )  # fmt: skip


def _first(values: Iterable[_Any | None]) -> _Any | None:
    return next((value for value in values if value is not None), None)


def _ranks(parts: list[Part]) -> tuple[RankRecord, ...]:
    """The ranks that name themselves, by number; of one that does it twice (START and COMPLETE apart) what is known."""
    made: dict[tuple[int, Speaker], RankRecord] = {}
    for part in parts:
        if part.rank is None:
            continue
        key = (part.rank, part.speaker)
        new = RankRecord(
            part.rank, part.speaker, part.cuda_device, part.nvml_index, part.pci, part.local_rank, bool(part.complete),
            part.started or part.first,
        )  # fmt: skip
        old = made.get(key)
        made[key] = new if old is None else _both(old, new)
    return tuple(sorted(made.values(), key=lambda said: (said.rank, said.line)))


def _both(a: RankRecord, b: RankRecord) -> RankRecord:
    return a._replace(
        cuda_device=b.cuda_device if a.cuda_device is None else a.cuda_device,
        nvml_index=b.nvml_index if a.nvml_index is None else a.nvml_index,
        pci=a.pci or b.pci,
        local_rank=b.local_rank if a.local_rank is None else a.local_rank,
        complete=a.complete or b.complete,
        line=min(a.line, b.line),
    )


def _peers(parts: list[Part]) -> tuple[PeerRecord, ...]:
    made: dict[tuple[object, ...], PeerRecord] = {}
    for part in parts:
        for seen in part.peers.values():
            if seen is None:
                continue
            new = _peer(seen, part.speaker.host)
            key = new._replace(prints=0, host=None, line=0)
            old = made.get(key)
            made[key] = (
                new if old is None else old._replace(prints=old.prints + new.prints, line=min(old.line, new.line))
            )
    return tuple(sorted(made.values(), key=lambda said: said.line))


def _peer(seen: PeerSeen, host: str | None) -> PeerRecord:
    return PeerRecord(
        seen.sender, seen.receiver, seen.kind, seen.transport, seen.direction, seen.sender_device,
        seen.receiver_device, seen.gdr, seen.proxy, seen.prints, seen.whole, host, seen.line,
    )  # fmt: skip
