"""What two looks at one node differ in: containers that came, went, or hold something else now.

    >>> [one.type for one in changes(None, None)]
    []

A container is known again by its pod's UID, or its namespace and name where no source says the UID, and its own name.
Pages and processes come and go all the time and are no change.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from gputopo.pods.model import Container, Held

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"  # the words of a Kubernetes watch
Kind = Literal["ADDED", "MODIFIED", "DELETED"]
_Key = tuple[str, str, str, str]


class Change(NamedTuple):
    """`container` is the last that is known of it."""

    type: Kind
    container: Container


def changes(before: Held | None, after: Held | None) -> tuple[Change, ...]:
    """In the order of the sources, what went at the end. `None`: nothing is known, all is new (or gone)."""
    old = _by_key(before)
    new = _by_key(after)
    found: list[Change] = []
    for key, one in new.items():
        if key not in old:
            found.append(Change("ADDED", one))
        elif _holds(one) != _holds(old[key]):
            found.append(Change("MODIFIED", one))
    found += [Change("DELETED", one) for key, one in old.items() if key not in new]
    return tuple(found)


def _by_key(held: Held | None) -> dict[_Key, Container]:
    return {_key(one): one for one in (held.containers if held is not None else ())}


def _key(one: Container) -> _Key:
    pids = "" if one.name else " ".join(map(str, one.pids))
    return (one.uid or "", one.namespace or "", one.pod or "", one.name or pids)


def _holds(one: Container) -> tuple[object, ...]:
    devices = frozenset((each.resource, each.id, each.health) for each in one.devices)
    return (devices, one.placed.gpus, one.cpus, one.pool, one.memory, one.cpus_allowed, one.mems_allowed, one.uses)
