"""What a set of a node should reach and what it cannot exceed: two numbers, told apart. Measured is a third.

    >>> from gputopo.topology.node import Gpu, NodeTopology, NvLinks, Pair
    >>> gpus = tuple(Gpu(f"GPU{n}", n, compute_capability="8.0", nvlinks=NvLinks(12, 12, "direct")) for n in (0, 1))
    >>> pair = Pair("GPU0", "GPU1", "NV12", nvlinks=12, via_switch=False)
    >>> found = rates(NodeTopology(gpus=gpus, pairs=(pair,)), ("GPU0", "GPU1"))
    >>> found.expected, found.ceiling
    (208.0, 300.0)
    >>> print(found.basis)
    published for A100 PCIe with three bridges (Ring, measured): https://github.com/NVIDIA/nccl-tests/issues/178; \
NCCL 2.30.7's own model says 240
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from gputopo.nccl.ceiling import ceiling
from gputopo.nccl.chips import capability
from gputopo.nccl.graphs_of import graphs_of
from gputopo.nccl.machines import Machine, Refused, subset
from gputopo.nccl.of_node import machine_of_node
from gputopo.nccl.path_types import Version
from gputopo.nccl.published import published
from gputopo.nccl.set_wiring import wiring_of
from gputopo.nccl.settings import Settings
from gputopo.nccl.tuning import estimates
from gputopo.nccl.versions import VERIFIED
from gputopo.topology.node import NodeTopology


class SetRates(NamedTuple):
    """Bus bandwidth of an all-reduce of large messages, GB/s; a basis says what a number is, or why there is none.

    `cut`: the search ran out of time, and `expected` is a bound, no prediction.
    """

    expected: float | None
    basis: str
    ceiling: float | None
    ceiling_basis: str
    assumptions: tuple[str, ...]
    cut: bool = False


def rates(
    node: NodeTopology, gpus: Sequence[str], version: Version = VERIFIED, *,
    algorithms: Collection[str] | None = None, machine: Machine | Refused | None = None,
    expired: Callable[[], bool] = lambda: False,
) -> SetRates:  # fmt: skip
    """`gpus`: ids of the node; `algorithms`: see `ceiling`; `machine`: of the whole node, where it is at hand already.

    Nothing that an environment may change (P2P switched off) is in it: this is what the set should reach.
    """
    most = ceiling(node, gpus, version, algorithms)
    if len(gpus) < 2:
        return SetRates(None, most.basis, None, most.basis, ())
    whole = machine if machine is not None else machine_of_node(node, Settings(version))
    part = subset(whole, [whole.names[gpu] for gpu in gpus]) if isinstance(whole, Machine) else whole
    if isinstance(part, Refused):
        return SetRates(None, f"not known: {part.reason}", most.gbps, most.basis, ())
    found = graphs_of(part, expired)
    allowed = [one for one in estimates(found) if algorithms is None or one.algorithm in algorithms]
    best = max(allowed, key=lambda one: one.bus_gbps, default=None)
    name = f"NCCL {'.'.join(map(str, version))}'s own model"
    wiring = wiring_of(node, gpus)
    figure = published(wiring, found.field.sm, algorithms)
    assumptions = part.assumptions
    if figure is not None:
        model = f"; {name} says {best.bus_gbps:.0f}" if best is not None and found.complete else ""
        guess = "" if all(map(capability, wiring.gpus)) else ", which this is only supposed to be"
        where = f"{figure.machine}{guess} ({figure.algorithm}, {figure.how}): {figure.source}"
        return SetRates(figure.gbps, f"published for {where}{model}", most.gbps, most.basis, assumptions)
    if not found.complete:
        bound = found.bound.gbps if found.bound is not None else None
        basis = "no more than this by the load of the links: the time was up before NCCL's search was through"
        return SetRates(bound, basis, most.gbps, most.basis, assumptions, cut=True)
    if best is None:
        why = found.ring.why if found.ring is not None and found.ring.why else "no algorithm that it may use"
        return SetRates(None, f"not known: {name}: {why}", most.gbps, most.basis, assumptions)
    value = round(best.bus_gbps, 1)
    return SetRates(value, f"{name}: {best.algorithm} {best.protocol}", most.gbps, most.basis, assumptions)
