"""`inspect --bandwidth`: the options and the clock around `gputopo.nccl`, which is not loaded without it."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from gputopo.errors import GputopoError

if TYPE_CHECKING:
    from gputopo.inspection import Inspection
    from gputopo.topology.node import NodeTopology


def with_bandwidth(
    inspections: Sequence[Inspection], gpus: str | None, count: int | None, timeout: float
) -> tuple[tuple[Inspection, ...], bool]:  # fmt: skip
    """The nodes with GB/s, and whether the time was up before all was searched. Raises GputopoError."""
    from gputopo.nccl import bandwidth

    if gpus is not None and count is not None:
        raise GputopoError("--gpus and --count exclude one another")
    end = monotonic() + timeout
    made, cut = [], False
    for one in inspections:
        chosen = None if gpus is None else _chosen(one.node, gpus)
        if count is not None:
            _check(one.node, count)
        answer = bandwidth.with_bandwidth(one.node, chosen, count, lambda: monotonic() > end)
        made.append(one._replace(node=answer.node))
        cut |= answer.cut
    return tuple(made), cut


def _chosen(node: NodeTopology, text: str) -> tuple[str, ...]:
    from gputopo.allocate.gpu_set import resolve

    ids = resolve(node, text, "--gpus")
    if len(ids) < 2:
        raise GputopoError(f"--gpus takes two GPUs or more, not {text or 'none'}: one sends to nobody", "--gpus")
    return ids


def _check(node: NodeTopology, count: int) -> None:
    if count < 2:
        raise GputopoError(f"--count takes 2 or more, not {count}: one GPU sends to nobody", "--count")
    if count > len(node.gpus):
        have = f"{len(node.gpus)} GPU{'' if len(node.gpus) == 1 else 's'}"
        raise GputopoError(f"no set of {count}: {node.name or 'the node'} has {have}", "--count")
