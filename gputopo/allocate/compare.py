"""Every mechanism, in each of its settings, asked the same: what each can give, and which always gives a best set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gputopo.allocate.answer import Answer
from gputopo.allocate.best import Best, best, islands
from gputopo.allocate.protocol import Mechanism
from gputopo.allocate.request import Request
from gputopo.allocate.sequence.goodness import Goodness
from gputopo.allocate.state import State
from gputopo.topology.node import NodeTopology

DRA_RELEASE = (1, 36)
ALWAYS, SOMETIMES, NEVER = "always", "sometimes", "never"


class Setting(NamedTuple):
    """A mechanism as somebody would configure it."""

    name: str  # as on the command line
    setting: str
    mechanism: Mechanism


class Compared(NamedTuple):
    name: str
    setting: str
    answer: Answer
    gives_best: str | None  # how often one of the best sets that are free now; None: the evidence leaves it open
    keeps_islands: bool | None  # no outcome breaks an NVLink island; None: there is none, or it is not known
    left: int | None  # units free afterwards


class Comparison(NamedTuple):
    state: State
    request: Request
    rows: tuple[Compared, ...]
    now: Best | None  # of the units that are free
    empty: Best | None  # of all units

    @property
    def would(self) -> tuple[Compared, ...]:
        """The rows whose every answer is a best set."""
        return tuple(row for row in self.rows if row.gives_best == ALWAYS)


def settings(node: NodeTopology) -> Iterator[Setting]:
    """What `allocate all` asks: each mechanism with its defaults, and with the settings that change its choice."""
    from gputopo.allocate.device_plugin.plugin import DevicePlugin
    from gputopo.allocate.dra import behaviour
    from gputopo.allocate.dra.mechanism import Dra
    from gputopo.allocate.dra.selectors import cel
    from gputopo.allocate.hami import Hami, Pod, Policy
    from gputopo.allocate.hami import from_node as registered
    from gputopo.allocate.hami.pair_scores import of_node
    from gputopo.allocate.koordinator import Koordinator
    from gputopo.allocate.koordinator.from_node import devices_of
    from gputopo.allocate.kubelet.mechanism import KubeletNode
    from gputopo.allocate.kubelet.releases import DEFAULT, Release
    from gputopo.allocate.kubelet.startup import Settings

    plugin = DevicePlugin()
    yield Setting("device-plugin", "policy none", plugin)
    for policy in ("best-effort", "restricted", "single-numa-node"):
        yield Setting("kubelet", policy, KubeletNode(Settings(Release(DEFAULT), policy=policy), plugin))
    yield Setting("dra", "gpu.nvidia.com", Dra(behaviour.of(DRA_RELEASE), cel(DRA_RELEASE, False)))
    seen = devices_of(node, with_nics=False)
    yield Setting(
        "koordinator", "Prefer",
        Koordinator(seen.ways, seen.gpus, seen.nics, assumptions=seen.assumptions, complete=seen.complete),
    )  # fmt: skip
    at_hand, ranges = registered.of_node(node), of_node(node)
    for policy, bind in (("spread", False), ("binpack", False), ("topology-aware", False), ("spread", True)):
        pod = Pod(Policy(policy, bind))
        yield Setting(
            "hami", f"{policy}, numa-bind" if bind else policy,
            Hami(at_hand.gpus, pod, ranges=ranges, assumptions=at_hand.assumptions),
        )  # fmt: skip


def compare(state: State, request: Request, asked: Sequence[Setting]) -> Comparison:
    """The same question to each of them."""
    now = best(state.node, state.free, request.size)
    goodness = Goodness(state.node, state.free)
    rows = tuple(_row(one, state, request, goodness) for one in asked)
    return Comparison(state, request, rows, now, best(state.node, state.units, request.size))


def _row(one: Setting, state: State, request: Request, goodness: Goodness) -> Compared:
    answer = one.mechanism.answer(state, request)
    if not answer.outcomes or answer.admitted is False:
        return Compared(one.name, one.setting, answer, None, None, None)
    verdicts = [goodness.is_good(outcome.gpus) for outcome in answer.outcomes]
    whole = answer.outcomes_complete
    gives: str | None = SOMETIMES
    if None in verdicts:
        gives = None
    elif all(verdicts) and whole:
        gives = ALWAYS
    elif not any(verdicts) and whole:
        gives = NEVER
    broken = any(islands(state.node, outcome.gpus)[1] for outcome in answer.outcomes)
    keeps = False if broken else True if whole and state.node.islands.nvlink else None
    return Compared(one.name, one.setting, answer, gives, keeps, len(state.free) - request.size)
