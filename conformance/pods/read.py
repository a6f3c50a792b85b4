"""The same as our readers say it: the socket's answers, each file, and all of them joined, in the words of said.py."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.pods.said import Block, Device, Holding
from gputopo.evidence.live import kubelet_root, podresources
from gputopo.evidence.piece import Piece
from gputopo.holdings import ClaimRecord, ContainerHolding, DeviceHeld, HoldingRecords, MemoryHeld
from gputopo.parsers import recognise_holdings
from gputopo.parsers.podresources import GET, parse_bytes
from gputopo.pods.model import Container, Held

PATIENCE = 20.0  # s
_BUSY = 0.02  # s, until a kubelet that lets 100 calls a second through is asked again


def socket_answer(root: Path) -> podresources.Answer:
    return podresources.ask(podresources.socket_path(None, str(root)), PATIENCE)


def files(root: Path) -> tuple[Piece, ...]:
    return kubelet_root.read(str(root)).pieces


def of_list(data: bytes, call: str = podresources.LIST) -> dict[tuple[str, str, str], Holding]:
    """By namespace, pod and container."""
    [records] = parse_bytes(data, call, of_v1=True)
    return {(one.namespace or "", one.pod or "", one.container or ""): holding(one) for one in records.containers}


def of_file(piece: Piece) -> HoldingRecords:
    assert piece.data is not None
    [records] = recognise_holdings.parse(piece.data)
    return records


class Get:
    """The third call, which our client does not make, of one kubelet."""

    def __init__(self, root: Path) -> None:
        import grpc

        self._busy = grpc.StatusCode.RESOURCE_EXHAUSTED
        address = f"unix:{podresources.socket_path(None, str(root))}"
        channel: Any = grpc.insecure_channel(address, [("grpc.default_authority", "localhost")])
        self._call = channel.unary_unary("/v1.PodResourcesLister/Get")
        self.close = channel.close

    def __call__(self, namespace: str, name: str) -> bytes | str:
        """The answer, or the words of the refusal."""
        import grpc

        request = _text(1, name) + _text(2, namespace)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return bytes(self._call(request, timeout=PATIENCE))
            except grpc.RpcError as error:
                if error.code() != self._busy or time.monotonic() > end:
                    return str(error.details())
                time.sleep(_BUSY)

    def of_pod(self, namespace: str, name: str) -> dict[tuple[str, str, str], Holding] | str:
        found = self(namespace, name)
        return found if isinstance(found, str) else of_list(found, GET)


def _text(field: int, text: str) -> bytes:
    """A string field of a protobuf message, shorter than 128 bytes."""
    return bytes((field << 3 | 2, len(text))) + text.encode()


def holding(one: ContainerHolding) -> Holding:
    own = [held for held in one.devices or () if not held.by]
    return Holding(
        devices(held for held in own if held.space != "dra"),
        frozenset(one.cpus or ()),
        blocks(one.memory or ()),
        frozenset(claimed(held) for held in own if held.space == "dra"),
        frozenset(held.id for held in one.devices or () if held.by == "cdi" and held.resource.startswith("claim:")),
    )


def joined(one: Container) -> Holding:
    """Of the node's table, which says whose a device is by its resource."""
    return Holding(
        frozenset((held.resource, held.id, held.numa_nodes) for held in one.devices if not _of_claim(held.resource)),
        frozenset(one.cpus or ()),
        blocks(one.memory or ()),
        frozenset(held.id for held in one.devices if _of_claim(held.resource)),
    )


def table(pieces: tuple[Piece, ...]) -> Held:
    from gputopo.inspection_pods import audits

    [audit] = audits(pieces)
    return audit.held


def _of_claim(resource: str) -> bool:
    return resource.startswith("claim:")


def devices(held: Iterable[DeviceHeld]) -> frozenset[Device]:
    return frozenset((one.resource, one.id, one.numa_nodes) for one in held)


def blocks(held: Iterable[MemoryHeld]) -> tuple[Block, ...]:
    return tuple(sorted((one.kind, tuple(one.numa_nodes), one.size) for one in held))


def claimed(one: DeviceHeld) -> str:
    return f"{one.id}/{one.share}"


def claim(one: ClaimRecord) -> tuple[str | None, frozenset[tuple[str, str]]]:
    """(UID, request and device)"""
    return one.uid, frozenset((request, claimed(held)) for request, held in one.devices or ())
