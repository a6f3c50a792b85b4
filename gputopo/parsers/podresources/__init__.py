r"""What the kubelet answers at its podresources socket, saved: JSON in four spellings, or protobuf.

    >>> [said] = parse('{"podResources": [{"name": "a", "namespace": "ml", "containers": [{"name": "main", "devices": ['
    ...     '{"resourceName": "nvidia.com/gpu", "deviceIds": ["GPU-a"], "topology": {"nodes": [{}]}}]}]}]}')
    >>> [(one.pod, one.container, one.devices) for one in said.containers]
    [('a', 'main', (DeviceHeld(resource='nvidia.com/gpu', id='GPU-a', space='uuid', numa_nodes=(0,), health='', by='',
      share=''),))]

Names are camelCase (grpcurl, protojson) or snake_case (Go's encoding/json, UseProtoNames), int64 are texts or numbers,
and what is zero or empty is left out or written: NUMA node 0 is `{"nodes": [{}]}`, and a device without NUMA node has
no `topology`. Answers are List and Get (`podResources`, a list or one object) and GetAllocatableResources. Of v1alpha1
there is List without NUMA nodes, CPUs and memory; a text in which nobody has any may be one, and then says nothing
of them. Service and messages: k8s.io/kubelet, pkg/apis/podresources/v1/api.proto.

List leaves out init containers that are no sidecars, and names pods, not their UIDs. Until 1.33 it has pods that have
ended, too. A container is shown all devices of its claims, whichever requests of them it uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gputopo.holdings import HoldingRecords
from gputopo.parsers.podresources.wire import ALLOCATABLE, GET, LIST, kind_of, parse_bytes, sniff_bytes
from gputopo.parsers.unreadable import Unreadable
from gputopo.terms.structured_text import json_is_too_large

__all__ = ("ALLOCATABLE", "GET", "LIST", "kind_of", "parse", "parse_bytes", "sniff", "sniff_bytes")

NEEDLES = ('"podResources"', '"pod_resources"', '"deviceIds"', '"device_ids"', '"cpuIds"', '"cpu_ids"')
_PODS = ("podResources", "pod_resources")
_ALLOCATABLE = ("devices", "cpuIds", "cpu_ids", "memory")
# Words of v1 that v1alpha1 does not have.
_OF_V1 = ('"topology"', '"cpuIds"', '"cpu_ids"', '"memory"', '"dynamicResources"', '"dynamic_resources"')


def sniff(text: str) -> bool:
    """Whether a text is an answer: by the keys of its first object, read only where a name of the API is in it."""
    if text.lstrip()[:1] != "{" or not any(needle in text for needle in NEEDLES):
        return False
    try:
        return _call(next(_values(text))) is not None
    except Unreadable:
        return any(needle in text for needle in NEEDLES[:2])  # cut or too large, and still nothing else


def parse(text: str) -> tuple[HoldingRecords, ...]:
    """One for each answer; what is allocatable goes with the List before or after it. Raises Unreadable."""
    of_v1 = any(word in text for word in _OF_V1) or None
    found: list[HoldingRecords] = []
    for value in _values(text):
        call = _call(value)
        if call is None:
            raise Unreadable("not an answer of the kubelet's podresources socket")
        said = _records(value, call, of_v1)
        joined = _joined(found[-1], said) if found else None
        if joined is None:
            found.append(said)
        else:
            found[-1] = joined
    return tuple(found)


def _values(text: str) -> Iterator[Any]:
    """One value after another, as two calls of grpcurl into one file leave them."""
    if json_is_too_large(text):
        raise Unreadable("an answer of the kubelet with more values than are read at once")
    decoder, place = json.JSONDecoder(), 0
    length = len(text.rstrip())
    while True:
        while place < length and text[place] in " \t\r\n":
            place += 1
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", None)
            raise Unreadable("not JSON of the kubelet's podresources; was it cut?", line) from None
        yield value
        if place >= length:
            return


def _call(value: Any) -> str | None:
    """Which call it answers, by its keys."""
    if not isinstance(value, dict):
        return None
    for key in _PODS:
        if key in value:
            return GET if isinstance(value[key], dict) else LIST
    return ALLOCATABLE if value and all(key in _ALLOCATABLE for key in value) else None


def _records(value: Any, call: str, of_v1: bool | None) -> HoldingRecords:
    from google.protobuf.json_format import Error, ParseDict

    from gputopo.parsers.podresources import wire

    message = wire.empty(call)
    try:
        ParseDict(value, message, ignore_unknown_fields=True)
    except (Error, ValueError, TypeError, AttributeError, OverflowError, RecursionError, SystemError) as error:
        # SystemError: what upb makes of half a surrogate pair.
        what = " ".join(str(error).split())[:200]
        raise Unreadable(f"not an answer of the kubelet's podresources: {what}") from None
    return wire.records(message, call, of_v1)


def _joined(first: HoldingRecords, second: HoldingRecords) -> HoldingRecords | None:
    """One node's List and GetAllocatableResources; `None` where they are two of the same."""
    for pods, rest in ((first, second), (second, first)):
        if rest.pods is None and pods.pods is not None and pods.allocatable is None:
            return pods._replace(
                allocatable=rest.allocatable,
                allocatable_cpus=rest.allocatable_cpus,
                allocatable_memory=rest.allocatable_memory,
            )
    return None
