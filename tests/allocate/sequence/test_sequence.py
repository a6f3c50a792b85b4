"""A sequence against the same walk without any folding: every set of every request in every state, one by one."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import permutations

import pytest

from gputopo.allocate.answer import Answer
from gputopo.allocate.best import best
from gputopo.allocate.device_plugin.plugin import DevicePlugin
from gputopo.allocate.outcome import Outcome
from gputopo.allocate.sequence.events import End, Event, Start, parse_events, starts
from gputopo.allocate.sequence.fold import Fold
from gputopo.allocate.sequence.forecast import ALWAYS, NEVER, SOMETIMES, forecast
from gputopo.allocate.sequence.goodness import Goodness
from gputopo.allocate.sequence.orders import every_order, suiting_sets
from gputopo.allocate.sequence.repair import repair
from gputopo.allocate.sequence.walk import Answers, walk
from gputopo.allocate.state import State
from gputopo.cli import run
from gputopo.errors import GputopoError
from gputopo.evidence.open import open_sources
from gputopo.inspection import nodes
from gputopo.topology.node import NodeTopology

PLUGIN = DevicePlugin()
MACHINES = ("hgx-h100", "pcie-bridged", "dgx1-v100", "gb200-tray", "mixed-5gpu")


@lru_cache
def node(name: str) -> NodeTopology:
    [found] = nodes(open_sources([f"sample:{name}"]))
    return found


def fresh(name: str) -> tuple[Answers, State]:
    return Answers(PLUGIN, node(name)), PLUGIN.state(node(name))


def every_state(answers: Answers, state: State, events: tuple[Event, ...]) -> list[tuple[list[State], set[object]]]:
    """After each event: all states, told apart by every device and holder; and what the event's pod met."""
    told, states = [], [state]
    for event in events:
        after: list[State] = []
        met: set[object] = set()
        for one in states:
            if isinstance(event, End):
                held = any(holding.owner == event.owner for holding in one.held)
                after.append(one.released(event.owner) if held else one)
                continue
            answer = asked(one.free, event.size, answers, one)
            if answer.admitted is not True:
                after.append(one)
                met.add(answer.reason)
                continue
            for outcome in answer.outcomes:
                after.append(PLUGIN.step(one, answers.request(event), outcome))
                met.add(outcome)
        states = list({(one.free, one.held): one for one in after}.values())
        told.append((states, met))
    return told


_ASKED: dict[object, Answer] = {}


def asked(free: tuple[str, ...], size: int, answers: Answers, state: State) -> Answer:
    """The plugin looks at nothing but what is free."""
    key = (id(state.node), free, size)
    if key not in _ASKED:
        _ASKED[key] = PLUGIN.answer(state, answers.request(Start("", size)))
    return _ASKED[key]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("request_", ["1,1,2", "2,1,-1,2", "1,3,-2,2", "2,2,2,2,1"])
def test_folding_loses_nothing_and_invents_nothing(machine: str, request_: str) -> None:
    answers, state = fresh(machine)
    events = parse_events(request_)
    fold = Fold(state.node)
    goodness = Goodness(state.node, state.units)

    def keys(states: object) -> set[object]:
        return {fold.key(dict.fromkeys(one.free, "free")) for one in states}  # type: ignore[attr-defined]

    def verdicts(met: object) -> set[object]:
        return {
            (len(one.gpus), goodness.is_good(one.gpus)) if isinstance(one, Outcome) else one
            for one in met  # type: ignore[attr-defined]
        }

    for step, (states, met) in zip(walk(answers, state, events), every_state(answers, state, events)):
        assert step.complete
        assert keys(step.states) == keys(states)
        assert verdicts(fate.outcome or fate.reason for fate in step.fates) == verdicts(met)
        assert {frozenset(one.free) for one in step.states} <= {frozenset(one.free) for one in states}


def test_two_single_gpu_pods_can_split_the_four_behind_them() -> None:
    """Two sockets of four: a pod on each leaves 3+3, where the plugin finds 3+1 only (OUTPUT.md's example)."""
    answers, state = fresh("hgx-h100")
    told = forecast(answers, state, parse_events("1,1,4"))
    assert [(one.refused, one.split) for one in told.told] == [
        (NEVER, NEVER), (NEVER, NEVER), (NEVER, SOMETIMES),
    ]  # fmt: skip
    assert told.first is told.told[2]
    assert {len(set(sets) & {"GPU0", "GPU1", "GPU2", "GPU3"}) for sets in told.first.split_sets} == {1, 3}
    assert [[one.size for one in order.starts] for order in told.clean_orders] == [[1, 4, 1], [4, 1, 1]]
    assert told.placement is not None
    assert set(told.placement["pod-3"]) in ({"GPU0", "GPU1", "GPU2", "GPU3"}, {"GPU4", "GPU5", "GPU6", "GPU7"})


def test_the_plan_of_outputs_example_leaves_one_answer() -> None:
    """GPU0 and GPU6 held by two pods, GPU1-GPU4 by a third: the third and the second, and the third first."""
    answers, state = fresh("hgx-h100")
    for owner, devices in (("embed-0", ("GPU0",)), ("embed-1", ("GPU6",)), ("llm", ("GPU1", "GPU2", "GPU3", "GPU4"))):
        state = state.taken(owner, devices)
    goodness = Goodness(state.node, state.units)
    sizes = {"embed-0": 1, "embed-1": 1, "llm": 4}
    plan = repair(answers, state, "llm", sizes, lambda owner, outcome: goodness.is_good(outcome.gpus) is True)
    assert plan is not None
    assert plan.certain
    assert plan.start[0].owner == "llm"
    assert set(plan.delete) in ({"llm", "embed-1"}, {"llm", "embed-0"})
    [only] = plan.sets
    held = "embed-0" if "embed-1" in plan.delete else "embed-1"
    # By hand: with one embed left, only the other socket has four free GPUs.
    assert set(only) == ({"GPU4", "GPU5", "GPU6", "GPU7"} if held == "embed-0" else {"GPU0", "GPU1", "GPU2", "GPU3"})
    alone = repair(answers, state, "llm", sizes, lambda owner, outcome: goodness.is_good(outcome.gpus) is True,
                   movable=lambda owner: False)  # fmt: skip
    assert alone is None  # restarting it alone gives one of the same 3+1 sets


def test_a_plan_moves_no_other_pod_to_a_worse_set() -> None:
    answers, state = fresh("pcie-bridged")
    told = forecast(answers, state, parse_events("1,1,1,1,2"))
    assert told.repair is not None
    goodness = Goodness(state.node, state.units)
    if told.repair.plan is not None:
        for one in told.repair.plan.start:
            assert all(goodness.is_good(sets) for sets in one.sets)


def test_what_is_asked_for_beyond_the_node_is_refused_always() -> None:
    answers, state = fresh("gb200-tray")
    told = forecast(answers, state, parse_events("2,2,1"))
    assert told.told[-1].refused == ALWAYS
    assert told.placement is None
    assert all(order.refused for order in told.orders)


def test_a_pod_that_ends_gives_back_what_it_had_and_a_refused_one_nothing() -> None:
    answers, state = fresh("gb200-tray")
    *_, last = walk(answers, state, parse_events("4,1,-2,-1"))
    assert [one.free for one in last.states] == [state.free]


def test_every_order_once() -> None:
    pods = starts(parse_events("1,1,2,4"))
    orders = [tuple(one.size for one in order) for order in every_order(pods)]
    assert len(orders) == len(set(orders)) == 12
    assert set(orders) == set(permutations((1, 1, 2, 4)))


def test_sets_that_suit_all_are_disjoint_and_good() -> None:
    _, state = fresh("dgx1-v100")
    goodness = Goodness(state.node, state.units)
    pods = starts(parse_events("2,2,2"))
    found = suiting_sets(state, pods, lambda gpus: goodness.is_good(gpus) is True)
    assert found is not None
    taken = [gpu for gpus in found.values() for gpu in gpus]
    assert len(taken) == len(set(taken)) == 6
    wanted = best(state.node, state.units, 2)
    assert wanted is not None
    assert all(gpus in wanted.sets for gpus in found.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one", "takes numbers, not 'one'"),
        ("1,,2", "takes numbers, not ''"),
        ("0", "asks for nothing"),
        ("1,-2", "no pod 2 runs"),
        ("1,-1,-1", "no pod 1 runs"),
    ],
)
def test_requests_that_are_none(text: str, said: str) -> None:
    with pytest.raises(GputopoError) as caught:
        parse_events(text)
    assert said in caught.value.what
    assert "1,1,2,4" in caught.value.hint


def test_events_in_words() -> None:
    assert parse_events("2, 1,-1") == (Start("pod-1", 2), Start("pod-2", 1), End("pod-1"))


def test_what_the_evidence_leaves_open_is_neither_refused_nor_fine(capsys: pytest.CaptureFixture[str]) -> None:
    """The sample's GPU has no NUMA node in its evidence, and the Topology Manager's hints depend on it."""
    arguments = ["allocate", "sequence", "sample:single-gpu", "--request", "1,1"]
    policy = ["--topology-manager-policy", "restricted"]
    assert run([*arguments, *policy, "-o", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    first = document["events"][0]
    assert (first["refused"], first["split"]) == (None, None)
    assert run([*arguments, *policy]) == 3
    assert "not decided from pod-1 on" in capsys.readouterr().out
    assert run(arguments) == 1  # without hints the second is refused, whatever the NUMA node is
