"""Our results of an admission are those of every run of the slow reading: nothing missing, nothing unreachable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gputopo.allocate.kubelet.admission import NOT_ALIGNED, Result, admit, removed
from gputopo.allocate.kubelet.device_hints import Device
from gputopo.allocate.kubelet.device_manager import Resource
from gputopo.allocate.kubelet.machine import Machine
from gputopo.allocate.kubelet.pod import Container, Pod
from gputopo.allocate.kubelet.releases import Release
from gputopo.allocate.kubelet.startup import Settings, kubelet
from gputopo.terms.quantity import quantity
from tests.allocate.kubelet.slow_device_manager import SlowKubelet, every_run

NUMA = (0, 1)
places = st.sampled_from([None, (), (0,), (1,), (0, 1), (0,), (1,)])
devices = st.lists(st.builds(Device, places, st.sampled_from([True, True, True, False])), min_size=1, max_size=4)


def lowest(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
    return [frozenset([*sorted(must), *sorted(available - must)][:size])]


def two_answers(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
    rest = sorted(available - must)
    count = size - len(must)
    return list({frozenset([*must, *rest[:count]]), frozenset([*must, *rest[len(rest) - count :]])})


def short(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
    return [next(iter(lowest(available, must, size))) - {max(available)}]


def too_many(available: frozenset[str], must: frozenset[str], size: int) -> list[frozenset[str]]:
    return [available]


plugins = st.sampled_from([None, lowest, two_answers, short, too_many])
kinds = st.sampled_from(["init", "sidecar", "app"])


@st.composite
def pods(draw: st.DrawFn) -> list[Any]:
    steps: list[Any] = []
    for number in range(draw(st.integers(1, 3))):
        wanted = draw(st.lists(st.tuples(kinds, st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=2))
        containers = sorted(wanted, key=lambda one: one[0] == "app")
        made = [
            Container.of(f"c{at}", {k: quantity(n) for k, n in (("gpu", gpu), ("nic", nic)) if n}, kind=kind)
            for at, (kind, gpu, nic) in enumerate(containers)
        ]
        steps.append(Pod(f"p{number}", tuple(made)))
        if draw(st.booleans()):
            steps.append(draw(st.sampled_from([f"p{at}" for at in range(number + 1)])))
    return steps


def _tuple(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids))


def seen(result: Result) -> Any:
    calls = tuple(sorted(
        (one.resource, _tuple(one.available), _tuple(one.must_include), one.size, _tuple(one.answer or ()))
        for one in result.calls
    ))  # fmt: skip
    if not result.admit:
        message = result.message or ""
        if message != NOT_ALIGNED:
            message = message.removeprefix("Allocate failed due to ").removesuffix(", which is unexpected")
        return (False, message, (), calls)
    got = tuple(
        (name, tuple(sorted((resource, tuple(sorted(ids))) for resource, ids in given_.devices.items())))
        for name, given_ in result.containers.items()
    )
    return (True, "", got, calls)


@settings(max_examples=100, deadline=None)
@given(
    policy=st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]),
    scope=st.sampled_from(["container", "pod"]),
    gpus=devices,
    nics=devices.map(lambda some: some[:2]),
    plugin=st.tuples(plugins, plugins),
    steps=pods(),
)
def test_our_courses_are_those_of_every_run(
    policy: str, scope: str, gpus: list[Device], nics: list[Device], plugin: tuple[Any, Any], steps: list[Any]
) -> None:
    tables = {
        "gpu": {f"g{at}": one for at, one in enumerate(gpus)},
        "nic": {f"n{at}": one for at, one in enumerate(nics)},
    }
    offers = dict(zip(tables, plugin))

    def run(pick: Any) -> Any:
        slow = SlowKubelet(pick, policy, scope, NUMA, tables, offers, Release(36))
        course = []
        for step in steps:
            if isinstance(step, str):
                slow.active.discard(step)
            else:
                course.append(slow.admit(step))
        return tuple(course)

    resources = {name: Resource(table, offers[name]) for name, table in tables.items()}
    made, state = kubelet(Settings(Release(36), policy, scope), Machine(NUMA, ()), resources)
    courses: set[Any] = {((), state)}
    for step in steps:
        if isinstance(step, str):
            courses = {(course, removed(at, step)) for course, at in courses}
        else:
            courses = {
                ((*course, seen(end.result)), end.state) for course, at in courses for end in admit(made, at, step)
            }
    assert {course for course, _ in courses} == every_run(run)
