"""Kind `dra-scenarios`: recorded answers of the real structured allocator, each once a node and release.

Agreement is that of the data's README: satisfied, results deeply, errors by kind, claim, request and cause. Where
the real order of pools is random, the recorded answer must be one of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gputopo.allocate.dra import features
from gputopo.allocate.dra.allocate import Attempt
from gputopo.allocate.dra.amount import amount
from gputopo.allocate.dra.behaviour import Behaviour, of
from gputopo.allocate.dra.objects import Allocated, DeviceId, KubeNode, World
from gputopo.allocate.dra.orders import outcomes
from gputopo.allocate.dra.read_claims import claim_of
from gputopo.allocate.dra.read_slices import class_of, slice_of
from gputopo.allocate.dra.selectors import cel
from gputopo.terms.kube_object import KubeObject

COMPARED = frozenset({"node", "satisfied", "results", "error"})
IGNORED = {"allocateOneInvocations": "the search effort of the Go code"}
_RELEASES = {"expected": (1, 36, 3), "expected_1_36_3": (1, 36, 3), "expected_1_36_2": (1, 36, 2),
             "expected_1_34": (1, 34)}  # fmt: skip
_EVERY_GATE_OF_1_34 = features.known((1, 34))
_RANDOM = re.compile(r"share-id", re.IGNORECASE)


class Case(NamedTuple):
    name: str
    expected: dict[str, Any]
    world: World
    how: Behaviour


def cases(path: Path) -> Iterator[Case]:
    document = json.loads(path.read_text(encoding="utf-8"))
    for row in document["cases"] if isinstance(document, dict) else document:
        if "node" in row:
            recorded = {key: row[key] for key in (*COMPARED, *IGNORED) if key in row}
            recorded["node"] = row["node"]["metadata"]["name"]
            yield _case(row, row["node"], recorded, "expected", row["name"])
            continue
        for key in (key for key in _RELEASES if key in row):
            for node, recorded in zip(row["nodes"], row[key]):
                yield _case(row, node, recorded, key, f"{row['name']} on {recorded['node']} ({key})")


def _case(row: dict[str, Any], node: dict[str, Any], recorded: dict[str, Any], key: str, name: str) -> Case:
    gates = frozenset(gate for token in row["features"] for gate in token.split("+"))
    channel = row["channel"]
    if key == "expected_1_34":
        gates, channel = _EVERY_GATE_OF_1_34, "experimental"
    release = tuple(int(part) for part in row["release"].split(".")) if "release" in row else _RELEASES[key]
    return Case(name, recorded, world(row, node), of(release, gates, channel))


def world(row: dict[str, Any], node: dict[str, Any]) -> World:
    metadata = node["metadata"]
    return World(
        KubeNode(metadata["name"], metadata.get("labels", {})),
        tuple(slice_of(_object(one, "ResourceSlice")) for one in row["slices"] or []),
        {one.name: one for one in (class_of(_object(body, "DeviceClass")) for body in row["deviceClasses"] or [])},
        tuple(claim_of(_object(one, "ResourceClaim")) for one in row["claims"] or []),
        Allocated(
            frozenset(DeviceId(one["driver"], one["pool"], one["device"]) for one in row["alreadyAllocated"] or []),
            capacity={
                DeviceId(*id.split("/")): {name: amount(text) for name, text in one.items()}
                for id, one in (row.get("allocatedCapacity") or {}).items()
            },
        ),
    )


def _object(body: dict[str, Any], kind: str) -> KubeObject:
    return KubeObject({"apiVersion": "resource.k8s.io/v1", "kind": kind, **body})


def answer(case: Case) -> tuple[KubeNode, list[Attempt]]:
    lists = case.how.on(features.LIST_TYPES)
    found = outcomes(case.world, cel(case.how.release, lists), case.how)
    return case.world.node, list(found.attempts)


def compare(expected: dict[str, Any], got: tuple[KubeNode, list[Attempt]]) -> list[str]:
    node, attempts = got
    if expected["node"] != node.name:
        return [f"node {node.name}, not {expected['node']}"]
    each = [_differences(expected, one) for one in attempts]
    return min(each, key=len) if each else ["no answer"]


def _differences(expected: dict[str, Any], one: Attempt) -> list[str]:
    found = []
    if expected["satisfied"] != one.satisfied:
        found.append(f"satisfied {one.satisfied}, not {expected['satisfied']}")
    ours = [_plain(each.body) for each in one.results]
    theirs = [_plain(each) for each in expected["results"]]
    if ours != theirs:
        found.append(f"results {json.dumps(ours)[:600]}, not {json.dumps(theirs)[:600]}")
    recorded, own = expected.get("error"), str(one.failure) if one.failure else None
    if (recorded is None) != (own is None) or (recorded is not None and parts(recorded) != parts(own or "")):
        found.append(f"error {own!r}, not {recorded!r}")
    return found


def _plain(result: Any) -> Any:
    """Quantities by value."""
    if isinstance(result, dict):
        return {
            key: _plain(value)
            if key != "consumedCapacity"
            else {name: str(amount(text)) for name, text in value.items()}
            for key, value in result.items()
        }
    return [_plain(one) for one in result] if isinstance(result, list) else result


def parts(error: str) -> tuple[str, ...]:
    """Kind, claim, request and cause of an error: of a missing class without the lister's words, of a compile error the
    first place and, for a type error, its text."""
    missing = re.fullmatch(r"(.* could not retrieve device class [^:]+):.*", error, re.DOTALL)
    if missing:
        return (missing[1],)
    head, compiles, text = error.partition("CEL compile error: ")
    place = re.search(r"ERROR: <input>:(\d+:\d+): (.*)", text)
    if not compiles or place is None:
        return (error,)
    return head, place[1], "Syntax" if place[2].startswith("Syntax") else place[2]
