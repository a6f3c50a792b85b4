"""What pruning leaves out never changes the answer: small random clusters, searched with it and whole."""

from __future__ import annotations

import random

import pytest

from gputopo.allocate.dra import features
from gputopo.allocate.dra.allocate import attempt
from gputopo.allocate.dra.amount import amount
from gputopo.allocate.dra.behaviour import of
from gputopo.allocate.dra.objects import (
    ALL,
    EXACT_COUNT,
    Allocated,
    Ask,
    Attribute,
    Capacity,
    Claim,
    ClaimRequest,
    Constraint,
    Counters,
    Device,
    DeviceClass,
    DeviceId,
    KubeNode,
    Selector,
    Slice,
    Taint,
    World,
)
from gputopo.allocate.dra.selectors import Selectors, Verdict

HOWS = (of((1, 36, 3)), of((1, 36, 2)), of((1, 37)), of((1, 35), features.known((1, 35))),
        of((1, 34), features.known((1, 34)) - {features.CAPACITY}), of((1, 33), features.known((1, 33))))  # fmt: skip
_STEPS = 400  # looks at the clock before a whole search is given up


def evaluate(text: str, name: DeviceId, device: Device) -> Verdict:
    if text == "low":
        found = device.attributes.get("a")
        return Verdict(found is not None and found.value < 2)
    if text == "fails":
        return Verdict("b" in device.attributes) if "b" in device.attributes else Verdict(False, "runtime", "no b")
    return Verdict(True)


def made_device(pick: random.Random, name: str, counted: bool) -> Device:
    attributes = {key: Attribute("int", pick.randint(0, 2)) for key in "ab" if pick.random() < 0.85}
    consumes = (Counters("set", {"m": amount(str(pick.randint(1, 3)))}),) if counted and pick.random() < 0.7 else ()
    taints = (Taint("t", "", "NoSchedule"),) if pick.random() < 0.1 else ()
    capacity = {"memory": Capacity(amount("4"))} if pick.random() < 0.2 else {}
    shared = True if pick.random() < 0.06 else None
    return Device(name, attributes, capacity, consumes, taints, allow_multiple=shared)


def made_slices(pick: random.Random) -> list[Slice]:
    found = []
    for number in range(pick.randint(1, 2)):
        pool, counted = f"p{number}", pick.random() < 0.4
        devices = tuple(made_device(pick, f"d{at}", counted) for at in range(pick.randint(1, 5)))
        if counted:
            counters = (Counters("set", {"m": amount(str(pick.randint(2, 6)))}),)
            found.append(Slice(f"c{number}", "drv", pool, 0, 2, "n", shared_counters=counters))
        found.append(Slice(f"s{number}", "drv", pool, 0, 2 if counted else 1, "n", devices=devices))
    return found


def made_claim(pick: random.Random, name: str) -> Claim:
    def ask(own: str, sub: bool) -> Ask:
        mode = ALL if pick.random() < 0.08 else EXACT_COUNT
        text = pick.choice(["low", "any", "any", "fails" if pick.random() < 0.1 else "any"])
        admin = None if sub or pick.random() < 0.93 else True
        return Ask(own, "c", mode, pick.randint(1, 3), (Selector(text),), admin)

    requests = []
    for number in range(pick.randint(1, 3)):
        subs = tuple(ask(f"s{at}", True) for at in range(pick.randint(1, 2))) if pick.random() < 0.3 else ()
        requests.append(ClaimRequest(f"r{number}", ask(f"r{number}", False), subs))
    constraints = []
    for _ in range(pick.randint(0, 3)):
        of_requests = tuple(one.name for one in requests if pick.random() < 0.6) if pick.random() < 0.6 else ()
        attribute = "drv/" + pick.choice("ab")
        match = pick.random() < 0.6
        constraints.append(Constraint(of_requests, attribute if match else None, None if match else attribute))
    return Claim(name, "", tuple(requests), tuple(constraints))


def made_world(seed: int) -> World:
    pick = random.Random(seed)
    slices = made_slices(pick)
    claims = tuple(made_claim(pick, f"c{at}") for at in range(pick.randint(1, 2)))
    held = frozenset(own.id_of(one) for own in slices for one in own.devices if pick.random() < 0.1)
    return World(KubeNode("n"), tuple(slices), {"c": DeviceClass("c")}, claims, Allocated(held))


@pytest.mark.parametrize("how", HOWS, ids=lambda how: f"{how.version}-{how.counters_leak}")
def test_pruning_keeps_the_answer_of_the_whole_search(how: object) -> None:
    answers = {True: 0, False: 0}
    for seed in range(250):
        world = made_world(seed)
        steps = iter(range(10**9))
        whole = attempt(world, Selectors(evaluate), how, out_of_time=lambda: next(steps) > _STEPS, whole=True)  # type: ignore[arg-type]  # noqa: B023
        if whole.satisfied is None:
            continue
        pruned = attempt(world, Selectors(evaluate), how)  # type: ignore[arg-type]
        assert (pruned.satisfied, pruned.devices, str(pruned.failure)) == (
            whole.satisfied, whole.devices, str(whole.failure)
        ), seed  # fmt: skip
        answers[whole.satisfied] += 1
    assert min(answers.values()) > 10


def test_a_distinct_value_is_forgotten_when_a_later_constraint_fails() -> None:
    """Why one value of a distinctAttribute is enough where a matchAttribute stands behind it (up to 1.36)."""
    devices = tuple(Device(f"d{at}", {"x": Attribute("int", value)}) for at, value in enumerate((0, 1, 0)))
    ask = ClaimRequest("r", Ask("r", "c", EXACT_COUNT, 2))
    slices = (Slice("s", "drv", "p", 0, 1, "n", devices=devices),)
    first, second = Constraint((), None, "drv/x"), Constraint((), "drv/x")
    answers = [
        attempt(World(KubeNode("n"), slices, {"c": DeviceClass("c")}, (Claim("c", "", (ask,), order),)),
                Selectors(evaluate), HOWS[0]).satisfied
        for order in ((first, second), (second, first))
    ]  # fmt: skip
    assert answers == [True, False]
