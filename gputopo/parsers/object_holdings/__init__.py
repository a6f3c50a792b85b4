r"""Kubernetes objects as a source of who holds what: pods, claims, slices, nodes, and what schedulers wrote on them.

    >>> pod = '{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ml","name":"a","uid":"u"},"spec":{"nodeName":'
    >>> pod += '"n1","containers":[{"name":"c"}]},"status":{"phase":"Running","containerStatuses":[{"name":"c",'
    >>> pod += '"allocatedResourcesStatus":[{"name":"nvidia.com/gpu","resources":[{"resourceID":"GPU-a"}]}]}]}}'
    >>> [said] = parse(pod)
    >>> said.node, said.containers[0].container, said.containers[0].devices[0].id
    ('n1', 'c', 'GPU-a')

Read are Pod, Node, Event, ResourceClaim, ResourceSlice, the ConfigMaps of the fake-gpu-operator, NodeResourceTopology
and Koordinator's Device, as `kubectl get -o json` or `-o yaml` prints them: one, a List, several documents. Each node
gets a record of its own (nodes of pods, claims of the pods that they are reserved to), whichever text says it; so
texts of one cluster are read together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gputopo.holdings import HoldingRecords
from gputopo.parsers.kube_objects import looks_like
from gputopo.parsers.object_holdings.bodies import bodies
from gputopo.parsers.object_holdings.claims import claim, resource_slice
from gputopo.parsers.object_holdings.events import event
from gputopo.parsers.object_holdings.fake_gpus import config_map
from gputopo.parsers.object_holdings.nodes import koordinator, node, node_resource_topology
from gputopo.parsers.object_holdings.place import placed
from gputopo.parsers.object_holdings.pods import pod
from gputopo.parsers.object_holdings.said import FakePools, Said
from gputopo.parsers.unreadable import Unreadable
from gputopo.records import Gap
from gputopo.terms.fake_gpu_pools import KEY
from gputopo.terms.kube_object import WrongShape, mapping, text

FORMAT = "kube-objects"
_KINDS = "Pod|Node|Event|ResourceClaim|ResourceSlice|NodeResourceTopology|Device"
_KIND = re.compile(rf"""["']?kind["']?[ \t]*:\s*["']?(?:(?:{_KINDS})(?:List)?\b|(ConfigMap)(?:List)?\b|(List)\b)""")
_GROUPS = {"ResourceClaim": "resource.k8s.io", "ResourceSlice": "resource.k8s.io",
           "NodeResourceTopology": "topology.node.k8s.io", "Device": "scheduling.koordinator.sh"}  # fmt: skip
_OBJECTS_MOST = 1_000_000
_GAPS_MOST = 100


def sniff(text: str) -> bool:
    """Whether a text has an object of a kind that is read here. A List may be empty."""
    if not looks_like(text):
        return False
    return any(found[1] is None or KEY in text for found in _KIND.finditer(text))


def parse(text: str) -> tuple[HoldingRecords, ...]:
    """One for each node that the text speaks of. Raises Unreadable."""
    [found] = parse_together([text])
    return found


def parse_together(texts: Iterable[str], *, every_pod: bool = False) -> tuple[tuple[HoldingRecords, ...], ...]:
    """Of each text its records, a claim in one being placed by the pods in another. Raises Unreadable.

    `every_pod`: these are all pods of each node that is named, which only who asked the API server knows.
    """
    return placed([_read(one) for one in texts], every_pod=every_pod)


def _read(written: str) -> Said:
    kept: dict[str, dict[tuple[str, str], Any]] = {
        name: {} for name in ("pods", "claims", "slices", "nodes", "fake_pools", "fake_nodes", "events")
    }
    gaps: list[Gap] = []
    for count, (line, body) in enumerate(bodies(written)):
        if count >= _OBJECTS_MOST:
            raise Unreadable(f"more than {_OBJECTS_MOST:,} objects in one text", line, "give them in parts")
        try:
            where, found = _object(body, line)
            metadata = mapping(body, "metadata")
            key = (text(metadata, "namespace"), text(metadata, "name") or f"line {line}")
        except WrongShape as error:
            _note(gaps, body, f"{error}", line)
            continue
        except Unreadable as error:
            _note(gaps, body, f"{KEY}: {error.what}", line)
            continue
        if where and found is not None:
            if where == "nodes":
                key = (str(body.get("kind")), key[1])
            kept[where][key] = found
    return Said(**{name: tuple(found.values()) for name, found in kept.items()}, gaps=tuple(gaps))


def _note(gaps: list[Gap], body: dict[str, Any], why: str, line: int) -> None:
    if len(gaps) < _GAPS_MOST:
        name = mapping(body, "metadata").get("name") if isinstance(body.get("metadata"), dict) else None
        subject = f"{body['kind']} {name if isinstance(name, str) else ''}".rstrip()
        gaps.append(Gap((subject,), "devices", why, "the object as kubectl get -o json prints it", line))


def _object(body: dict[str, Any], line: int) -> tuple[str, Any]:
    """(field of Said, what the object says); "" where it is of no kind that is read."""
    kind = body["kind"]
    wanted = _GROUPS.get(kind)
    if wanted is not None and text(body, "apiVersion").partition("/")[0] != wanted:
        return "", None
    if kind == "Pod":
        return "pods", pod(body, line)
    if kind == "ResourceClaim":
        return "claims", claim(body)
    if kind == "ResourceSlice":
        return "slices", resource_slice(body)
    if kind == "Node":
        return "nodes", node(body)
    if kind == "Device":
        return "nodes", koordinator(body)
    if kind == "NodeResourceTopology":
        return "nodes", node_resource_topology(body)
    if kind == "Event":
        return "events", event(body)
    if kind == "ConfigMap":
        found = config_map(body)
        return "fake_pools" if isinstance(found, FakePools) else "fake_nodes", found
    return "", None
