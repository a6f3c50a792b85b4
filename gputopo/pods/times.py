"""Facts of one time are joined; those of another are shown with theirs, beside.

A log or a metric says what was (`past`). A GPU that a pod had then and another has now is no disagreement and no
double holding. What names of devices mean does not change with time, nor that the kubelet refused a pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gputopo.holdings import PodRecord
from gputopo.pods.identify import Names
from gputopo.pods.model import Container, Earlier
from gputopo.pods.spoken import Spoken
from gputopo.topology.node import NoteAssumption


class Times(NamedTuple):
    joined: list[Spoken]
    beside: list[Spoken]
    at: str | None  # of `joined`, where one time is said
    notes: list[NoteAssumption]


def by_time(spoken: Sequence[Spoken]) -> Times:
    """What is, where a source says that; else what was at the latest time that one says."""
    now = [one for one in spoken if not one.records.past]
    if now:
        return Times(now, [one for one in spoken if one.records.past], _one(now), _mixed(now))
    latest = max((one.records.at for one in spoken if one.records.at), key=_order, default=None)
    joined = [one for one in spoken if one.records.at == latest]
    return Times(joined, [one for one in spoken if one.records.at != latest], latest, _mixed(joined))


def _order(at: str) -> tuple[bool, str]:
    """A log's time without a year is of no known year, so before those that say one."""
    return at[:4].isdecimal(), at


def _one(spoken: Sequence[Spoken]) -> str | None:
    times = {one.records.at for one in spoken}
    return times.pop() if len(times) == 1 else None


def _mixed(spoken: Sequence[Spoken]) -> list[NoteAssumption]:
    """What is joined though its times differ, or though none says its time."""
    times = dict.fromkeys(one.records.at for one in spoken if one.records.at)
    if len(times) > 1:
        text = f"nothing changed between {min(times)} and {max(times)}, the times of what is joined here"
        return [NoteAssumption((), text, None)]
    if len(spoken) > 1 and not times and all(one.records.past for one in spoken):
        return [NoteAssumption((), f"{', '.join(one.source.id for one in spoken)} are of one time", None)]
    return []


def earlier(beside: Iterable[Spoken], containers: Sequence[Container], names: Names) -> tuple[Earlier, ...]:
    """What containers held at another time, where it is not what they hold in the joined sources."""
    known = [(one, frozenset(one.placed.gpus or ())) for one in containers if one.placed.gpus]
    found: list[Earlier] = []
    for one in beside:
        for held in one.records.containers:
            devices = tuple(dict.fromkeys(names.device(each) for each in held.devices or ()))
            if not devices:
                continue
            gpus = None if any(each.is_gpu and each.gpu is None for each in devices) else tuple(
                dict.fromkeys(each.gpu for each in devices if each.gpu)
            )  # fmt: skip
            was = Earlier(
                held.at or one.records.at, one.source.id, held.namespace, held.pod, held.uid, held.container, devices,
                gpus,
            )  # fmt: skip
            if gpus is None or not any(own == frozenset(gpus) and _same(now, was) for now, own in known):
                found.append(was)
    return tuple(found)


def _same(now: Container, was: Earlier) -> bool:
    """As far as both say."""
    if now.uid and was.uid and now.uid != was.uid:
        return False
    pairs = ((now.namespace, was.namespace), (now.pod, was.pod), (now.name, was.container))
    return bool(was.pod or was.uid) and all(one is None or other is None or one == other for one, other in pairs)


def refused(beside: Iterable[Spoken]) -> Iterator[PodRecord]:
    """Pods that a log says the kubelet refused."""
    for one in beside:
        yield from (pod for pod in one.records.pods or () if pod.rejected is not None)
